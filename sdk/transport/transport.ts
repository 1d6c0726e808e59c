/**
 * The one way out to the service: credentials, retries, time limits, and what a reply becomes.
 * Asks nothing of its runtime but fetch, URL, TextEncoder, TextDecoder, AbortController, timers, btoa and
 * crypto.getRandomValues.
 */
import type { ApiCall, ApiReply, ConnectionOptions, StreamReply } from './call.ts';
import { VaultError } from './errors.ts';
import { headersOf } from './headers.ts';
import { createLimit, type RetryClock, systemClock, type TimeLimit } from './limit.ts';
import { checkNames } from './needed.ts';
import { baseOf, urlOf } from './path.ts';
import { type RetriedCall, repeated } from './retry.ts';

export interface Transport {
  readonly send: (call: ApiCall) => Promise<ApiReply>;
  /** As `send`, of a reply that is a file. */
  readonly bytes: (call: ApiCall) => Promise<Uint8Array>;
  /** As `send`, but the body is read while it arrives; only what comes before the body is ever repeated. */
  readonly stream: (call: ApiCall) => Promise<StreamReply>;
}

const TIMEOUT_MS = 60_000;
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const RETRIES = 3;

/** What a transport is made of: `authorization` is the account's, for calls that go to no endpoint. */
export interface TransportOptions extends ConnectionOptions {
  readonly baseUrl: string;
  readonly authorization?: string | undefined;
}

/** Checks the options once; everything about a single call is checked when it is made. */
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
    const tell = tellerOf(call, options.onAttempt);
    return { attempt: () => fetchOnce(url, init), limit, repeat: call.repeat, retries, clock, report: tell };
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
      whole(call, async (response) => ({ text: await response.text(), nextToken: nextTokenOf(response) })),
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

/** Runtimes at the edge of a network keep no credentials, and some refuse a request that mentions them. */
function knowsCredentials(): boolean {
  return typeof Request === 'function' && 'credentials' in Request.prototype;
}

async function* piecesOf(response: Response, limit: TimeLimit): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
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
      yield decoder.decode(value, { stream: true });
    }
    yield decoder.decode();
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

function tellerOf(
  { method, path }: ApiCall,
  onAttempt: ConnectionOptions['onAttempt'],
): RetriedCall['report'] {
  return (attempt) => {
    try {
      const told: unknown = onAttempt?.({ method, path: `/${path.join('/')}`, ...attempt });
      // One that is async fails later, when nobody waits for it, and in Node that ends the program.
      Promise.resolve(told).catch(() => {});
    } catch {
      // A log that fails must not lose the reply of a call that did not.
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
