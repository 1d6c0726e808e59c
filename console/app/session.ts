/** Who is signed in: a password or credential in the memory of the page alone, or a person by a cookie that lasts over a reload. */
import { Vault } from '../../sdk/client.ts';
import { VaultApiError } from '../../sdk/transport/errors.ts';
import { authorizationOf } from '../../sdk/transport/headers.ts';
import { remove } from '../../sdk/transport/pages.ts';
import { createTransport, type Transport } from '../../sdk/transport/transport.ts';
import type { Scope, WhoAmI } from '../../sdk/transport/types.ts';
import type { Route } from './route.ts';

/** Idle time after which a page signs out. */
const IDLE_MS = 15 * 60_000;
const IDLE_CHECK_MS = 5_000;

/** A signed-in account, API credential or person. */
export interface Session {
  readonly client: Vault;
  /** Sends the calls that are the console's alone. */
  readonly transport: Transport;
  readonly who: WhoAmI;
  /** True if it has at least one of these scopes; a password has all. */
  readonly may: (...scopes: readonly Scope[]) => boolean;
  /** The rights of a person or credential; a password has all. */
  readonly rights: WhoAmI['person'] | WhoAmI['credential'];
  readonly origins: Origins;
  /** The passkey that signed in on this page, if it has PRF: passphrases can be kept under it. */
  readonly keeper?: string | undefined;
}

/** The origins that other people's browsers reach, which may be others than that of the console, and the ways to sign in. */
export interface Origins {
  /** Serves scripts and takes data. */
  readonly api: string;
  /** Serves forms. */
  readonly forms: string;
  readonly sign_in: { readonly passkey: boolean; readonly oidc: boolean; readonly password: boolean };
  /** True if the browser has the cookie of a person's session. */
  readonly session: boolean;
}

export async function readOrigins(): Promise<Origins> {
  const { origin } = location;
  const reply = await fetch('/console/origins', { credentials: 'same-origin', cache: 'no-store' });
  const { api, forms, sign_in, session = false }: Partial<Origins> = reply.ok ? await reply.json() : {};
  return {
    api: api ?? origin,
    forms: forms ?? api ?? origin,
    session,
    sign_in: sign_in ?? { passkey: false, oidc: false, password: true },
  };
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

/** Keeps the message of an error reply, and returns its code. */
async function keepMessage(reply: Response): Promise<string | undefined> {
  const body: { error?: string; code?: string; request_id?: string } = await reply.json().catch(() => ({}));
  if (body.error !== undefined && body.request_id !== undefined) {
    messages.set(body.request_id, body.error);
    for (const oldest of [...messages.keys()].slice(0, -MESSAGES_MAX)) {
      messages.delete(oldest);
    }
  }
  return body.code;
}

/** A request without a key or click in the time before it does not count as a use of the session. */
const USED_MS = 10_000;
let usedAt = performance.now();
for (const event of ['pointerdown', 'keydown']) {
  document.addEventListener(event, () => (usedAt = performance.now()), { capture: true, passive: true });
}

/**
 * A `fetch` without the browser's cache and its prompt for a wrong password. Deletions continue after the page is left. For a person
 * it sends the cookie of the session, which counts only without other credentials; `ended` is called when the session has ended.
 */
function fetchOf(ended?: () => void) {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (ended !== undefined) {
      headers.delete('Authorization');
      if (performance.now() - usedAt > USED_MS) {
        headers.set('X-Vault-Poll', '1');
      }
    }
    const reply = await fetch(url, {
      ...{ ...init, headers, keepalive: init.method === 'DELETE', cache: 'no-store' },
      credentials: ended === undefined ? 'omit' : 'same-origin',
    });
    const code = reply.ok ? undefined : await keepMessage(reply.clone());
    if (code === 'unauthenticated') {
      ended?.();
    }
    return reply;
  };
}

async function open(
  signing: { readonly credential: string } | { readonly username: string; readonly password: string },
  origins: Origins,
  ended?: () => void,
): Promise<Session> {
  const connection = { baseUrl: location.origin, fetch: fetchOf(ended) };
  const client = new Vault({ ...connection, ...signing });
  const who = await client.admin.whoami();
  const rights = who.person ?? who.credential;
  const scopes = rights && new Set(rights.scopes);
  return {
    ...{ client, who, rights, origins },
    transport: createTransport({ ...connection, authorization: authorizationOf(signing) }),
    may: (...wanted) => scopes === undefined || wanted.some((scope) => scopes.has(scope)),
  };
}

/** Signs in. Throws errors of the SDK, with `unauthenticated` for wrong credentials. */
export function signIn({ name, secret }: SignIn, origins: Origins): Promise<Session> {
  return open(name === '' ? { credential: secret } : { username: name, password: secret }, origins);
}

/** The session of a person who is signed in by the browser's cookie; `ended` is called at its end. */
export function resume(origins: Origins, ended: () => void): Promise<Session> {
  // The client signs each request; what it signs with is not sent.
  return open({ username: 'person', password: 'none' }, origins, ended);
}

/** Sends what nobody has to be signed in for; the reply may set the cookie of a session. */
export const visitor = createTransport({
  baseUrl: location.origin,
  fetch: fetchOf(() => undefined),
  retries: 0,
});

/** The other pages of this browser, which have the same cookie. */
const pages = new BroadcastChannel('cardvault console');

/**
 * Tells the other pages which person is signed in here, and calls `otherwise` when another one signs in there: the cookie is that
 * person's from then on. The returned function stops the watch.
 */
export function watchPages({ who: { person } }: Session, otherwise: () => void): () => void {
  if (person === undefined) {
    return () => undefined;
  }
  pages.postMessage(person.id);
  const hear = ({ data }: MessageEvent<unknown>): void => {
    if (data !== person.id) {
      otherwise();
    }
  };
  pages.addEventListener('message', hear);
  return () => pages.removeEventListener('message', hear);
}

/** Ends the session of a person in this browser, or all of its sessions. Returns the URL at which the provider of a single sign-on ends its own. */
export async function signOut({ transport }: Session, all = false): Promise<string | undefined> {
  const path = ['person', 'self', 'session'];
  return (await remove<{ readonly sign_out_url?: string }>(transport, path, all ? { all } : {})).sign_out_url;
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
