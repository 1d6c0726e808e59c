/**
 * The only connection to the service: credentials, retries, time limits and replies.
 * Requires nothing from its runtime except fetch, URL, TextEncoder, TextDecoder, AbortController, timers, btoa and
 * crypto.getRandomValues.
 */
import type { ApiCall, ApiReply, ConnectionOptions, StreamReply } from './call.ts';
import { VaultError } from './errors.ts';
import { headersOf } from './headers.ts';
import { createLimit, type RetryClock, systemClock, type TimeLimit } from './limit.ts';
import { checkNames } from './needed.ts';
import { baseOf, urlOf } from './path.ts';
import { type RetriedCall, repeated } from './retry.ts';

/** Sends calls. */
export interface Transport {
  /** Resolves with the complete reply. Rejects with a VaultError, or with the reason of an aborted signal. */
  readonly send: (call: ApiCall) => Promise<ApiReply>;
  /** Like `send`, for a reply that is a file. */
  readonly bytes: (call: ApiCall) => Promise<Uint8Array>;
  /** Like `send`, but the body is read while it arrives; only the part before the body is ever retried. */
  readonly stream: (call: ApiCall) => Promise<StreamReply>;
}

const TIMEOUT_MS = 60_000;
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
/** With their pauses they last 15 s at least, as long as a restart of the service. */
const RETRIES = 8;

/** Options of a transport. `authorization` is that of the account, for calls without an endpoint. */
export interface TransportOptions extends ConnectionOptions {
  readonly baseUrl: string;
  readonly authorization?: string | undefined;
}

/** Checks the options once; each call is checked when it is sent. */
export function createTransport(options: TransportOptions, clock: RetryClock = systemClock): Transport {
  const base = baseOf(options.baseUrl);
  const ownRetries = checkedRetries(options.retries ?? RETRIES);
  const timeoutMs = checkedTimeout(options.timeoutMs ?? TIMEOUT_MS);
  const fetchOnce = options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init));

  const open = (call: ApiCall): RetriedCall => {
    checkNames(call.options ?? {});
    const retries = checkedRetries(call.options?.retries ?? ownRetries);
    const limitMs = checkedTimeout(call.options?.timeoutMs ?? timeoutMs);
    const url = urlOf(base, call.path, call.query);
    const headers = headersOf(call, options.authorization, retries);
    const init: RequestInit = { method: call.method, headers, redirect: 'manual' };
    if (call.body !== undefined) {
      init.body = call.body;
    }
    if (call.secret !== undefined && knowsCredentials()) {
      init.credentials = 'omit';
    }
    const limit = createLimit(limitMs, call.options?.signal, clock);
    init.signal = limit.signal;
    const report = reporterOf(call, options.onAttempt);
    return { base, attempt: () => fetchOnce(url, init), limit, repeat: call.repeat, retries, clock, report };
  };

  const whole = async <T>(call: ApiCall, read: (response: Response) => Promise<T>): Promise<T> => {
    const exchange = open(call);
    try {
      return await repeated(exchange, read);
    } finally {
      exchange.limit.end();
    }
  };

  return {
    send: (call) =>
      whole(call, async (response) => ({
        text: await response.text(),
        nextToken: nextTokenOf(response),
        version: versionOf(response),
      })),
    bytes: (call) => whole(call, async (response) => new Uint8Array(await response.arrayBuffer())),
    stream: async (call) => {
      const exchange = open(call);
      try {
        const response = await repeated(exchange, async (accepted) => accepted);
        return { pieces: piecesOf(response, exchange.limit), nextToken: nextTokenOf(response) };
      } catch (error) {
        exchange.limit.end();
        throw error;
      }
    },
  };
}

/** Edge runtimes have no stored credentials, and some reject a request that mentions them. */
function knowsCredentials(): boolean {
  return typeof Request === 'function' && 'credentials' in Request.prototype;
}

async function* piecesOf(response: Response, limit: TimeLimit): StreamReply['pieces'] {
  const reader = response.body?.getReader();
  try {
    while (reader !== undefined) {
      limit.restart();
      const { done, value } = await reader.read();
      limit.hold();
      limit.signal.throwIfAborted();
      if (done) {
        break;
      }
      yield value;
    }
  } catch (thrown) {
    throw limit.errorOf(thrown);
  } finally {
    limit.end();
    await reader?.cancel().catch(() => {});
  }
}

function nextTokenOf(response: Response): string | undefined {
  return response.headers.get('x-vault-next-token') ?? undefined;
}

/** The text of an ETag, which a proxy may have made a weak one. */
function versionOf(response: Response): string | undefined {
  return /^(?:W\/)?"(.*)"$/.exec(response.headers.get('etag') ?? '')?.[1];
}

function reporterOf(
  { method, path }: ApiCall,
  onAttempt: ConnectionOptions['onAttempt'],
): RetriedCall['report'] {
  return (attempt) => {
    try {
      const result: unknown = onAttempt?.({ method, path: `/${path.join('/')}`, ...attempt });
      // An async observer fails later without a handler, which would end the program in Node.
      Promise.resolve(result).catch(() => {});
    } catch {
      // A failing observer must not lose the reply of a successful call.
    }
  };
}

function checkedRetries(retries: number): number {
  if (!Number.isInteger(retries) || retries < 0) {
    throw new VaultError('retries must be 0 or a positive integer.');
  }
  return retries;
}

function checkedTimeout(timeoutMs: number): number {
  if (!(timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX)) {
    throw new VaultError(`timeoutMs must be over 0 and at most ${TIMEOUT_MS_MAX}.`);
  }
  return timeoutMs;
}
