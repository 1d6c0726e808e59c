/** The signed-in account, in the memory of the page alone: reloading or leaving the page signs out. */
import { Vault } from '../../sdk/client.ts';
import { VaultApiError } from '../../sdk/transport/errors.ts';
import type { Scope, WhoAmI } from '../../sdk/transport/types.ts';
import type { Route } from './route.ts';

/** Idle time after which a page signs out. */
const IDLE_MS = 15 * 60_000;
const IDLE_CHECK_MS = 5_000;

/** A signed-in account or API credential. */
export interface Session {
  readonly client: Vault;
  readonly who: WhoAmI;
  /** True if it has at least one of these scopes; a password has all. */
  readonly may: (...scopes: readonly Scope[]) => boolean;
  readonly origins: Origins;
}

/** The origins that other people's browsers reach, which may be others than that of the console. */
interface Origins {
  /** Serves scripts and takes data. */
  readonly api: string;
  /** Serves forms. */
  readonly forms: string;
}

async function readOrigins(): Promise<Origins> {
  const { origin } = location;
  const reply = await fetch('/console/origins', { credentials: 'omit', cache: 'no-store' });
  const { api, forms }: Partial<Origins> = reply.ok ? await reply.json() : {};
  return { api: api ?? origin, forms: forms ?? api ?? origin };
}

export interface ScreenProps {
  readonly session: Session;
  readonly params: Route['params'];
}

/** The name and password of an account, or the secret of an API credential with an empty name. */
export interface SignIn {
  readonly name: string;
  readonly secret: string;
}

/** The messages of error replies by request, for `messageOf`: errors of the SDK contain codes alone. */
const messages = new Map<string, string>();
const MESSAGES_MAX = 50;

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
 * `fetch` without stored credentials of the browser and without its prompt for a wrong password. Deletions continue
 * after the page is left.
 */
async function fetchPlainly(url: string, init: RequestInit): Promise<Response> {
  const keepalive = init.method === 'DELETE';
  const reply = await fetch(url, { ...init, keepalive, credentials: 'omit', cache: 'no-store' });
  if (!reply.ok) {
    await keepMessage(reply.clone());
  }
  return reply;
}

/** Signs in. Throws errors of the SDK, with `unauthenticated` for wrong credentials. */
export async function signIn({ name, secret }: SignIn): Promise<Session> {
  const base = { baseUrl: location.origin, fetch: fetchPlainly };
  const client = new Vault(
    name === '' ? { ...base, credential: secret } : { ...base, username: name, password: secret },
  );
  const [who, origins] = await Promise.all([client.admin.whoami(), readOrigins()]);
  const scopes = who.credential && new Set(who.credential.scopes);
  return {
    client,
    who,
    origins,
    may: (...wanted) => scopes === undefined || wanted.some((scope) => scopes.has(scope)),
  };
}

/**
 * Calls `end` after a quarter of an hour without a key or click, even if the machine slept meanwhile. The returned
 * function stops the watch.
 */
export function watchIdle(end: () => void): () => void {
  const now = () => ({ clock: Date.now(), awake: performance.now() });
  let last = now();
  const look = (): void => {
    const { clock, awake } = now();
    // `performance.now` stands still while the machine sleeps; the clock can be set back.
    if (Math.max(clock - last.clock, awake - last.awake) >= IDLE_MS) {
      end();
    }
  };
  const act = (): void => {
    look();
    last = now();
  };
  const timer = setInterval(look, IDLE_CHECK_MS);
  const watching = new AbortController();
  const options = { capture: true, signal: watching.signal };
  document.addEventListener('pointerdown', act, options);
  document.addEventListener('keydown', act, options);
  return () => {
    clearInterval(timer);
    watching.abort();
  };
}

/** The message of an error, with the request id by which the operator finds it in the log. */
export function messageOf(error: unknown): string {
  if (error instanceof VaultApiError) {
    const { requestId = '', code, message } = error;
    const text = messages.get(requestId);
    return text === undefined ? message : `${text} (${code}, ${requestId})`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** The message of an error about a field of a form, by its label in place of its name in the API. */
export function fieldMessageOf(error: unknown, label: string): string {
  return messageOf(error).replace(/^`[^`]*`/, label);
}
