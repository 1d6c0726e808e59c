/** The request of a form: it stores the typed values, or reads an item. */
import { members } from '../base/config.ts';
import { newKey } from '../fields/random.ts';

/** Why nothing was stored or read. `status` is 0 when no reply came; `error` is the service's own message. */
export interface CallFailure {
  readonly status: number;
  readonly code: string;
  readonly error: string;
  readonly field?: string;
}

/** An endpoint, and where it is. */
export interface EndpointAddress {
  readonly api: string;
  readonly unique_id: string;
  readonly secret: string;
}

/** The result of a request: the parsed reply, or the failure. */
export type Outcome = { readonly reply: unknown } | { readonly failure: CallFailure };

/** The environment of a request. */
export interface CallDeps {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly wait: (seconds: number) => Promise<void>;
}

/** The environment of a page: its own functions, as they are at the time of each call. */
export const BROWSER: CallDeps = {
  fetch: (url, init) => fetch(url, init),
  wait: (seconds) => new Promise((end) => setTimeout(end, 1000 * seconds)),
};

/** Retries of a request while the service is busy, and the longest pause before one. */
const RETRIES_MAX = 3;
const WAIT_SECONDS_MAX = 10;
/** The time limit of one attempt. */
const TIMEOUT_MS = 30_000;
/** Statuses after which a retry is safe; 409 says when only while the same request is still in progress. */
const BUSY = [409, 429, 503];
/** Statuses of rejected requests. After all others the values may have been stored. */
const FINAL = [400, 401, 403, 404, 405, 410, 413, 415, 422];

/** The URL of a request: `https://host/v1/capture/shop?form_type=pcd`. Parameters without a value are omitted. */
export function callUrl(
  api: string,
  kind: 'capture' | 'retrieve',
  id: string,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) {
      parameters.set(name, value);
    }
  }
  return `${api}/v1/${kind}/${encodeURIComponent(id)}?${parameters}`;
}

/**
 * The object to store: the extra texts of the page, replaced by fields of the same name; empty members are omitted.
 */
export function bodyOf(
  extra: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, string>>,
): string {
  const filled = Object.entries(fields).filter(([, value]) => value !== '');
  return JSON.stringify({ ...extra, ...Object.fromEntries(filled) });
}

/**
 * Parses JSON with each number as the text of its literal: JavaScript numbers lose digits of long ones, and trailing
 * zeros.
 */
export function parseExact(json: string): unknown {
  let inText = false;
  const quoted = json.replace(/\\.|"|-?\d[\d.eE+-]*/g, (part) => {
    inText = inText !== (part === '"');
    return inText || part === '"' ? part : `"${part}"`;
  });
  return JSON.parse(quoted);
}

/**
 * Sends a request, and retries it if the service is busy and says for how long. Never rejects. The request contains
 * no cookies and no referrer, and its reply is not cached.
 */
export async function call(url: string, init: RequestInit, deps: CallDeps): Promise<Outcome> {
  for (let tries = 0; ; tries++) {
    try {
      const response = await deps.fetch(url, {
        ...init,
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
        cache: init.cache ?? 'no-store',
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      // NaN without the header, so that there is no retry.
      const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
      if (BUSY.includes(response.status) && tries < RETRIES_MAX && seconds <= WAIT_SECONDS_MAX) {
        await deps.wait(seconds);
        continue;
      }
      const body = await response
        .text()
        .then(parseExact)
        .catch(() => undefined);
      return response.ok && body !== undefined
        ? { reply: body }
        : { failure: failureOf(response.status, body) };
    } catch {
      return { failure: { status: 0, code: 'network', error: 'The service could not be reached.' } };
    }
  }
}

/** True if the service has accepted or rejected the request: sending it again is a new attempt. */
function isSettled(outcome: Outcome): boolean {
  return 'reply' in outcome || FINAL.includes(outcome.failure.status);
}

/** The failure that an error reply describes. */
function failureOf(status: number, body: unknown): CallFailure {
  const { code, error, field } = members(body);
  return {
    status,
    code: typeof code === 'string' ? code : 'unknown',
    error: typeof error === 'string' ? error : '',
    ...(typeof field === 'string' ? { field } : {}),
  };
}

/** The keys of a form's attempts. */
export interface AttemptKeys {
  keyFor(body: string): string;
  /** The sealed body of the open attempt, which its repeats send unchanged. */
  sealed: string | undefined;
  /** Receives the outcome of each attempt. */
  settle(outcome: Outcome): void;
  /** Discards the body, which contains the typed values. */
  forget(): void;
}

/** A body and its idempotency key. */
export interface Attempt {
  readonly body: string;
  readonly key: string;
  /** The sealed body, which was sent in its place. */
  readonly sealed?: string | undefined;
}

/** Attempts that several frames share. */
interface Shared {
  readonly find: (body: string) => Attempt | undefined;
  readonly keep: (attempt: Attempt | undefined) => void;
}

/** Assigns idempotency keys: the same one for the same body, until the service has accepted or rejected it. */
export function createAttemptKeys(makeKey: () => string = newKey, shared?: Shared): AttemptKeys {
  let open: Attempt | undefined;
  const keep = (attempt: Attempt | undefined): void => {
    open = attempt;
    shared?.keep(attempt);
  };
  return {
    keyFor: (body) => {
      const found = shared?.find(body) ?? (open?.body === body ? open : undefined);
      const attempt = found ?? { body, key: makeKey() };
      keep(attempt);
      return attempt.key;
    },
    get sealed() {
      return open?.sealed;
    },
    set sealed(sealed) {
      keep(open && { ...open, sealed });
    },
    settle: (outcome) => {
      if (isSettled(outcome)) {
        keep(undefined);
      }
    },
    forget: () => keep(undefined),
  };
}
