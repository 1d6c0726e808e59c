/** Who is signed in. It is kept in the memory of the page alone: to reload or to leave it signs out. */
import { Vault } from '../../sdk/client.ts';
import { VaultApiError } from '../../sdk/transport/errors.ts';
import type { Scope, WhoAmI } from '../../sdk/transport/types.ts';
import type { Route } from './route.ts';

/** A page without any action for so long signs out. */
const IDLE_MS = 15 * 60_000;
/** How often it looks at the time. */
const LOOK_MS = 5_000;

/** A signed-in account or API credential. */
export interface Session {
  readonly client: Vault;
  readonly who: WhoAmI;
  /** Whether it may do at least one of these; a password may do everything. */
  readonly may: (...scopes: readonly Scope[]) => boolean;
}

/** What each screen gets: who looks at it, and the parameters of the place. */
export interface ScreenParts {
  readonly session: Session;
  readonly params: Route['params'];
}

/** What a person types to sign in: a name with a password, or the secret of an API credential alone. */
export interface SignIn {
  readonly name: string;
  readonly secret: string;
}

/** The messages of error replies by request, for `messageOf`: the SDK's errors have codes alone. */
const messages = new Map<string, string>();
const MESSAGES_MAX = 50;

/** Keeps the message of an error reply. */
async function keepMessage(reply: Response): Promise<void> {
  const body: { error?: string; request_id?: string } = await reply.json().catch(() => ({}));
  if (body.error !== undefined && body.request_id !== undefined) {
    messages.set(body.request_id, body.error);
    for (const oldest of [...messages.keys()].slice(0, -MESSAGES_MAX)) {
      messages.delete(oldest);
    }
  }
}

/**
 * No credentials of the browser's own, and no prompt of the browser for a wrong password. What is deleted when the page
 * is left is deleted all the same.
 */
async function fetchPlainly(url: string, init: RequestInit): Promise<Response> {
  const keepalive = init.method === 'DELETE';
  const reply = await fetch(url, { ...init, keepalive, credentials: 'omit', cache: 'no-store' });
  if (!reply.ok) {
    await keepMessage(reply.clone());
  }
  return reply;
}

/** Signs in. Throws what the SDK throws, with `unauthenticated` for wrong credentials. */
export async function signIn({ name, secret }: SignIn): Promise<Session> {
  const base = { baseUrl: location.origin, fetch: fetchPlainly };
  const client = new Vault(
    name === '' ? { ...base, credential: secret } : { ...base, username: name, password: secret },
  );
  const who = await client.admin.whoami();
  const scopes = who.credential && new Set(who.credential.scopes);
  return {
    client,
    who,
    may: (...wanted) => scopes === undefined || wanted.some((scope) => scopes.has(scope)),
  };
}

/**
 * Calls `end` once nothing was typed or clicked for a quarter of an hour, also one in which the machine slept. Returns
 * what stops that.
 */
export function watchIdle(end: () => void): () => void {
  const now = () => ({ clock: Date.now(), awake: performance.now() });
  let last = now();
  const look = (): void => {
    const { clock, awake } = now();
    // What counts the time awake stands still while the machine sleeps; a clock may be put back.
    if (Math.max(clock - last.clock, awake - last.awake) >= IDLE_MS) {
      end();
    }
  };
  const act = (): void => {
    look();
    last = now();
  };
  const timer = setInterval(look, LOOK_MS);
  const watching = new AbortController();
  const options = { capture: true, signal: watching.signal };
  document.addEventListener('pointerdown', act, options);
  document.addEventListener('keydown', act, options);
  return () => {
    clearInterval(timer);
    watching.abort();
  };
}

/** A failure as a person reads it, with what the operator needs to find it in the log. */
export function messageOf(error: unknown): string {
  if (error instanceof VaultApiError) {
    const { requestId = '', code, message } = error;
    const told = messages.get(requestId);
    return told === undefined ? message : `${told} (${code}, ${requestId})`;
  }
  return error instanceof Error ? error.message : String(error);
}
