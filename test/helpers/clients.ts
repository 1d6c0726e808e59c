import { Vault, type VaultOptions } from '../../sdk/index.ts';

/** The passphrase of every key that a test does not give another; long enough to be kept warm. */
export const PASSPHRASE = 'a passphrase for tests, äöü & 100% +';

/** A reply as tests look at it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JavaScript sees it; undefined where it is not JSON. */
  readonly json: unknown;
  /** Status and code of a refusal, such as `404 token_not_found`; `200` for a success. */
  readonly outcome: string;
  /** The place that a refusal names. */
  readonly field: string | undefined;
  /** The body as the type that the test expects of it. */
  readonly as: <T>() => T;
}

/** Query parameters; an undefined one is left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Options of a request, in addition to method and path. */
export interface Sending {
  readonly query?: Query;
  /** A text or bytes go as they are; anything else becomes JSON. */
  readonly body?: unknown;
  /** Sent in the header, percent-encoded. */
  readonly passphrase?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}

/** A request handler: an application in this process, or a server at a socket. */
export type Handle = (request: Request) => Promise<Response> | Response;

/** One account's way to the vault: plain requests, and the SDK over the same application. */
export interface AccountClient {
  readonly name: string;
  readonly password: string;
  /** The account's internal id. */
  readonly aid: string;
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
  /** The same account through another server. */
  readonly via: (handle: Handle) => AccountClient;
}

/** Credentials of an account. */
export interface Credentials {
  readonly name: string;
  readonly password: string;
  readonly aid: string;
}

/** Basic Auth as RFC 7617 has it, in UTF-8. */
export function basicAuth(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function memberOf(json: unknown, name: string): string | undefined {
  const value: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Reads a reply whole. */
export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const json = parsed(text);
  const { status, headers } = response;
  return {
    status,
    headers,
    text,
    json,
    outcome: response.ok ? String(status) : `${status} ${memberOf(json, 'code')}`,
    field: response.ok ? undefined : memberOf(json, 'field'),
    as: <T>() => json as T,
  };
}

/** A refusal without its request id, for comparing one with another. */
export function refusalOf({ status, json }: Answer): unknown {
  return { status, ...Object(json), request_id: '' };
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array
    ? (body as string | Uint8Array<ArrayBuffer>)
    : JSON.stringify(body);
}

function urlOf(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) {
      parameters.set(name, String(value));
    }
  }
  const search = parameters.toString();
  return `http://localhost/v1${path}${search === '' ? '' : `${path.includes('?') ? '&' : '?'}${search}`}`;
}

function succeeded(answer: Answer): Answer {
  if (answer.status !== 200) {
    throw new Error(`The vault answered ${answer.status} ${answer.text}`);
  }
  return answer;
}

/** A client of one account over whatever answers requests. */
export function createAccountClient(handle: Handle, credentials: Credentials): AccountClient {
  const { name, password } = credentials;
  const authorization = basicAuth(name, password);

  const send: AccountClient['send'] = async (method, path, sending = {}) => {
    const headers = new Headers({ authorization, 'user-agent': 'tests/1.0' });
    if (sending.passphrase !== undefined) {
      headers.set('x-vault-passphrase', encodeURIComponent(sending.passphrase));
    }
    if (sending.idempotencyKey !== undefined) {
      headers.set('idempotency-key', sending.idempotencyKey);
    }
    for (const [header, value] of Object.entries(sending.headers ?? {})) {
      headers.set(header, value);
    }
    const init: RequestInit = { method, headers };
    if (sending.body !== undefined) {
      init.body = bodyOf(sending.body);
    }
    return answerOf(await handle(new Request(urlOf(path, sending.query), init)));
  };

  const sdkWith = (options: Partial<VaultOptions>): Vault =>
    new Vault({
      baseUrl: 'http://localhost',
      username: name,
      password,
      passphrase: PASSPHRASE,
      fetch: async (url, init) => handle(new Request(url, init)),
      ...options,
    } as VaultOptions);

  return {
    ...credentials,
    send,
    sdk: sdkWith({}),
    sdkWith,
    key: async (user, passphrase = PASSPHRASE) => {
      succeeded(await send('POST', '/key/', { body: { user, passphrase } }));
    },
    store: async (user, body, query = {}) => {
      const answer = await send('POST', '/vault/', {
        query: { user, ...query },
        passphrase: PASSPHRASE,
        body,
      });
      return succeeded(answer).as<{ token: string }>().token;
    },
    open: async (user, token, query = {}) => {
      const answer = await send('GET', '/vault/', {
        query: { user, token, ...query },
        passphrase: PASSPHRASE,
      });
      return succeeded(answer).text;
    },
    via: (other) => createAccountClient(other, credentials),
  };
}
