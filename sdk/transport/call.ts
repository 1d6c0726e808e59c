import type { QueryValue } from './path.ts';

/** Options of a connection to the vault. */
export interface ConnectionOptions {
  /** Replaces the runtime's fetch, for a proxy agent or a test. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** The longest that a call may take with all its retries, in milliseconds (60,000). */
  readonly timeoutMs?: number | undefined;
  /** Most repeats of a failed attempt (8, which last at least 15 s); 0 for none. */
  readonly retries?: number | undefined;
  /** Receives every attempt after its end, for logs and traces; its errors are ignored. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
}

/** One attempt of a call, without its query, headers and body, so that it can be logged as it is. */
export interface Attempt {
  /** The HTTP method. */
  readonly method: string;
  /** The path after `/v1`, such as `/vault`. */
  readonly path: string;
  /** 1 for the first of a call, 2 for its first repeat. */
  readonly number: number;
  /** From sending it to the end of its reply, in milliseconds; of a stream, to its beginning. */
  readonly elapsedMs: number;
  /** The HTTP status; undefined where no reply came. */
  readonly status: number | undefined;
  /** The id under which the service logged the request; give it to the operator. */
  readonly requestId: string | undefined;
  /** A `VaultError`, or the reason of the aborted `signal`; undefined if the attempt succeeded. */
  readonly error: unknown;
}

/** Options of a client, without its credentials. */
interface ClientOptions extends ConnectionOptions {
  /** The service's URL, with or without `/v1`. */
  readonly baseUrl: string;
  /** The default passphrase of calls that need one; never used for new keys. */
  readonly passphrase?: string | undefined;
}

/** The name and password of an account, or a credential of it. */
export type Signing =
  | {
      /** The account's name; without a colon. */
      readonly username: string;
      /** The account's password. */
      readonly password: string;
      /** Stands in place of name and password. */
      readonly credential?: undefined;
    }
  | {
      /** The secret of an API credential, in place of name and password. */
      readonly credential: string;
      /** Needed where there is no credential. */
      readonly username?: undefined;
      /** Needed where there is no credential. */
      readonly password?: undefined;
    };

/** Options of a client. */
export type VaultOptions = ClientOptions & Signing;

/** The two kinds of endpoint, by the first segment of their paths. */
export type EndpointSegment = 'capture' | 'retrieve';

/** Options of a single call. */
export interface CallOptions {
  /** Cancels the call; it then throws the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's `timeoutMs`; on a stream, the longest wait for its next piece. */
  readonly timeoutMs?: number | undefined;
  /** Overrides the client's `retries`. */
  readonly retries?: number | undefined;
}

/** Options of a call whose repetition the service recognises and answers with its first reply. */
export interface KeyedCallOptions extends CallOptions {
  /** 1 to 255 printable characters, valid for 24 hours; made by the SDK where retries are on. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * When a failed attempt may be repeated. `always`: reads and deletions; `keyed`: as `always`, with an idempotency
 * key; `when_rejected`: only if the service has rejected the request without any effect.
 */
export type Repeat = 'always' | 'keyed' | 'when_rejected';

/** A single call. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: readonly string[];
  readonly repeat: Repeat;
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  /** JSON text, or a text of `type`. */
  readonly body?: string | undefined;
  /** The content type of a body that is not JSON. */
  readonly type?: string;
  /** Sent in a header; a URL would be logged. */
  readonly passphrase?: string;
  /** The secret of an endpoint. A call with one contains neither the account's credentials nor those of a browser. */
  readonly secret?: { readonly kind: EndpointSegment; readonly text: string };
  /** The version that the data of the item must have. */
  readonly version?: string | undefined;
  /** The point that the reply is to be sealed to. */
  readonly sealTo?: string | undefined;
  readonly options?: KeyedCallOptions | undefined;
}

/** A complete reply. */
export interface ApiReply {
  readonly text: string;
  readonly nextToken: string | undefined;
  /** The version of the data of the item that the reply is about. */
  readonly version: string | undefined;
}

/** A reply whose body is still arriving. */
export interface StreamReply {
  readonly pieces: AsyncGenerator<Uint8Array, void, undefined>;
  readonly nextToken: string | undefined;
}
