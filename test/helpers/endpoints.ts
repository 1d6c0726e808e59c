import { type AccountClient, type Answer, answerOf, type Handle, PASSPHRASE, type Query } from './clients.ts';

/** An endpoint that a test has created. */
export interface MadeEndpoint {
  /** The path of the endpoint on the server, `/v1` included. */
  readonly url: string;
  readonly unique_id: string;
  readonly secret: string;
  readonly expires_at: string | null;
}

/** Options of a request to an endpoint. Account and passphrase are never sent. */
export interface Use {
  /** In the header of the endpoint's kind; none is sent when it is left out. */
  readonly secret?: string | undefined;
  readonly query?: Query;
  /** A text or bytes go as they are; anything else becomes JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}

/** A vault of the tests, or what answers its requests. */
export type Reached = Handle | { readonly handle: Handle };

function handleOf(reached: Reached): Handle {
  return typeof reached === 'function' ? reached : reached.handle;
}

function urlOf(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) {
      parameters.set(name, String(value));
    }
  }
  const search = parameters.toString();
  return `http://localhost${path}${search === '' ? '' : `${path.includes('?') ? '&' : '?'}${search}`}`;
}

function secretHeader(path: string): string {
  return path.startsWith('/v1/retrieve') ? 'x-vault-retrieve-secret' : 'x-vault-capture-secret';
}

/** Sends a request to a path of the server without any account, with the secret in the header of the path's kind. */
export async function useEndpoint(
  reached: Reached,
  method: string,
  path: string,
  { secret, query, body, headers, idempotencyKey }: Use = {},
): Promise<Answer> {
  const all = new Headers({ 'user-agent': 'visitor/1.0', ...headers });
  if (secret !== undefined) {
    all.set(secretHeader(path), secret);
  }
  if (idempotencyKey !== undefined) {
    all.set('idempotency-key', idempotencyKey);
  }
  const init: RequestInit = { method, headers: all };
  if (body !== undefined) {
    init.body =
      typeof body === 'string' || body instanceof Uint8Array
        ? (body as string | Uint8Array<ArrayBuffer>)
        : JSON.stringify(body);
  }
  return answerOf(await handleOf(reached)(new Request(urlOf(path, query), init)));
}

async function create(
  account: AccountClient,
  kind: 'capture' | 'retrieve',
  query: Query,
  passphrase: string,
): Promise<MadeEndpoint> {
  const answer = await account.send('POST', `/${kind}`, { query, passphrase });
  if (answer.status !== 200) {
    throw new Error(`The vault answered ${answer.status} ${answer.text}`);
  }
  return answer.as<MadeEndpoint>();
}

/** Makes a capture endpoint of a key; throws unless the answer is 200. */
export function createCapture(
  account: AccountClient,
  user: string,
  query: Query = {},
  passphrase = PASSPHRASE,
): Promise<MadeEndpoint> {
  return create(account, 'capture', { user, ...query }, passphrase);
}

/** Makes a retrieval endpoint of a key; throws unless the answer is 200. */
export function createRetrieve(
  account: AccountClient,
  user: string,
  query: Query = {},
  passphrase = PASSPHRASE,
): Promise<MadeEndpoint> {
  return create(account, 'retrieve', { user, ...query }, passphrase);
}

/** Posts to a capture endpoint with its own secret, unless `sending` brings another; `secret: undefined` sends none. */
export function capture(
  reached: Reached,
  { url, secret }: Pick<MadeEndpoint, 'url' | 'secret'>,
  sending: Use = {},
): Promise<Answer> {
  return useEndpoint(reached, 'POST', url, { secret, ...sending });
}

/** Reads through a retrieval endpoint, with its own secret as {@link capture} does. */
export function retrieve(
  reached: Reached,
  { url, secret }: Pick<MadeEndpoint, 'url' | 'secret'>,
  sending: Use = {},
): Promise<Answer> {
  return useEndpoint(reached, 'GET', url, { secret, ...sending });
}
