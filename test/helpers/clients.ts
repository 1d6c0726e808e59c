import type { VaultOptions } from '../../sdk/index.ts';
import { Vault } from '../../sdk/index.ts';

/** The passphrase of every key that a test does not give another; long enough to be kept warm. */
export const PASSPHRASE = 'a passphrase for tests, äöü & 100% +';

/** A reply as tests look at it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JavaScript sees it; undefined where it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into replies of every shape and check what they find
  readonly json: any;
}

/** A query parameter's value, or undefined to leave it out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** What may be said of a request beside its method and path. */
export interface Sending {
  readonly query?: Query;
  /** A text or bytes as they are; anything else becomes JSON. */
  readonly body?: unknown;
  /** Sent in the header, percent-encoded. */
  readonly passphrase?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}

/** One account's way to the vault: plain requests, and the SDK over the same application. */
export interface AccountClient {
  readonly name: string;
  readonly password: string;
  readonly aid: string;
  readonly authorization: string;
  /** Sends a request under `/v1` with the account's credentials, unless `headers` say otherwise. */
  readonly send: (method: string, path: string, sending?: Sending) => Promise<Answer>;
  readonly sdk: Vault;
  readonly sdkWith: (options: Partial<VaultOptions>) => Vault;
  /** Makes a key under {@link PASSPHRASE} or another passphrase. */
  readonly key: (user: string, passphrase?: string) => Promise<void>;
  /** Stores an object under {@link PASSPHRASE} and gives its token; throws unless the answer is 200. */
  readonly store: (user: string, body: unknown, query?: Query) => Promise<string>;
  /** The exact text of an item opened with {@link PASSPHRASE}; throws unless the answer is 200. */
  readonly open: (user: string, token: string, query?: Query) => Promise<string>;
}

/** Percent-encodes as the header X-Vault-Passphrase wants it. */
export const encodePassphrase = (passphrase: string): string => encodeURIComponent(passphrase);

/** RFC 7617 with UTF-8. */
export const basicAuth = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

/** Reads a reply whole. */
export const answerOf = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: response.headers, text, json };
};

const bodyOf = (body: unknown): string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array
    ? (body as string | Uint8Array<ArrayBuffer>)
    : JSON.stringify(body);

const urlOf = (path: string, query: Query = {}): string => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const search = parameters.toString();
  const mark = path.includes('?') ? '&' : '?';
  return `http://localhost/v1${path}${search === '' ? '' : `${mark}${search}`}`;
};

/** The body of a refusal without its request id, for comparing one refusal with another. */
export const refusalOf = ({ status, json }: Answer): unknown => {
  const { request_id: _, ...rest } = json ?? {};
  return { status, ...rest };
};

/** What a refusal's status and code are, for `expect(…).toEqual`. */
export const codeOf = ({ status, json }: Answer): string => `${status} ${json?.code ?? ''}`.trimEnd();

/** A client of one account over whatever answers requests: an application in process, or a socket. */
export const createAccountClient = (
  handle: (request: Request) => Promise<Response> | Response,
  { name, password, aid }: { readonly name: string; readonly password: string; readonly aid: string },
): AccountClient => {
  const authorization = basicAuth(name, password);

  const send: AccountClient['send'] = async (method, path, sending = {}) => {
    const headers = new Headers({ authorization, 'user-agent': 'tests/1.0' });
    if (sending.passphrase !== undefined) {
      headers.set('x-vault-passphrase', encodePassphrase(sending.passphrase));
    }
    if (sending.idempotencyKey !== undefined) headers.set('idempotency-key', sending.idempotencyKey);
    for (const [header, value] of Object.entries(sending.headers ?? {})) headers.set(header, value);
    const init: RequestInit = { method, headers };
    if (sending.body !== undefined) init.body = bodyOf(sending.body);
    return answerOf(await handle(new Request(urlOf(path, sending.query), init)));
  };

  const needed = ({ status, text, json }: Answer): Answer => {
    if (status !== 200) throw new Error(`The vault answered ${status} ${text}`);
    return { status, text, json, headers: new Headers() };
  };
  const sdkWith = (options: Partial<VaultOptions>): Vault =>
    new Vault({
      baseUrl: 'http://localhost',
      username: name,
      password,
      passphrase: PASSPHRASE,
      fetch: async (url, init) => handle(new Request(url, init)),
      ...options,
    });

  return {
    name,
    password,
    aid,
    authorization,
    send,
    sdk: sdkWith({}),
    sdkWith,
    key: async (user, passphrase = PASSPHRASE) => {
      needed(await send('POST', '/key/', { body: { user, passphrase } }));
    },
    store: async (user, body, query = {}) =>
      needed(await send('POST', '/vault/', { query: { user, ...query }, passphrase: PASSPHRASE, body })).json
        .token,
    open: async (user, token, query = {}) =>
      needed(await send('GET', '/vault/', { query: { user, token, ...query }, passphrase: PASSPHRASE })).text,
  };
};
