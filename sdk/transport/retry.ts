/** Retries of failed attempts. */
import type { Attempt, Repeat } from './call.ts';
import { apiErrorOf, requestIdOf, VaultApiError, VaultConnectionError } from './errors.ts';
import type { RetryClock, TimeLimit } from './limit.ts';

/** The first and the longest step of the exponential backoff. */
const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 8_000;
/** Longer error replies are not from the service. */
const ERROR_BODY_LENGTH_MAX = 65_536;

/** One call in flight: how to attempt it, and its limits. */
export interface RetriedCall {
  /** The URL of the service, which ends in `/v1`. */
  readonly base: string;
  readonly attempt: () => Promise<Response>;
  readonly limit: TimeLimit;
  readonly repeat: Repeat;
  readonly retries: number;
  readonly clock: RetryClock;
  /** Reports an ended attempt to the caller's observer; never throws. */
  readonly report: (attempt: Omit<Attempt, 'method' | 'path'>) => void;
}

/** Attempts a call until it succeeds, cannot be repeated, or would have to wait beyond its limit. */
export async function repeated<T>(
  exchange: RetriedCall,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const { limit } = exchange;
  for (let failures = 0; ; failures += 1) {
    try {
      limit.signal.throwIfAborted();
      return await attemptOnce(exchange, failures + 1, read);
    } catch (thrown) {
      const error = limit.errorOf(thrown);
      if (failures >= exchange.retries || !mayRepeat(error, exchange.repeat)) {
        throw error;
      }
      const waitMs = backoffMs(error, failures, exchange.clock);
      if (waitMs >= limit.remainingMs()) {
        throw error;
      }
      await limit.pause(waitMs);
    }
  }
}

/** One attempt, which is reported with its result. */
async function attemptOnce<T>(
  { base, attempt, limit, clock, report }: RetriedCall,
  number: number,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const startedMs = clock.nowMs();
  let response: Response | undefined;
  const end = (error: unknown): void =>
    report({
      number,
      elapsedMs: clock.nowMs() - startedMs,
      status: response?.status,
      requestId: response && requestIdOf(response.headers),
      error,
    });
  try {
    response = await attempt();
    if (!response.ok) {
      throw apiErrorOf(response.status, response.headers, await errorBody(response), base);
    }
    const result = await read(response);
    end(undefined);
    return result;
  } catch (thrown) {
    const error = limit.errorOf(thrown);
    end(error);
    throw error;
  }
}

/** The body of an error reply. A longer body, which may be endless, is discarded. */
async function errorBody({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (done) {
      break;
    }
    if (text.length > ERROR_BODY_LENGTH_MAX) {
      reader.cancel().catch(() => {});
      return '';
    }
  }
  return text;
}

function mayRepeat(error: unknown, repeat: Repeat): boolean {
  if (error instanceof VaultConnectionError) {
    return repeat !== 'when_rejected';
  }
  if (!(error instanceof VaultApiError)) {
    return false;
  }
  if (error.status === 429 || error.status === 503) {
    return repeat !== 'when_rejected' || didNothing(error);
  }
  // The same request, sent before by this client or by a stopped one, is still in flight.
  return error.code === 'idempotency_conflict' && error.retryAfterSeconds !== undefined;
}

/** True if the service has rejected the request without any effect. */
function didNothing(error: unknown): boolean {
  return error instanceof VaultApiError && (error.status === 429 || error.code === 'overloaded');
}

/** Exponential, randomised between half of the step and the whole step, in addition to `Retry-After`. */
function backoffMs(error: unknown, failures: number, clock: RetryClock): number {
  const asked = error instanceof VaultApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  const step = Math.min(BACKOFF_FIRST_MS * 2 ** failures, BACKOFF_MAX_MS);
  return asked + step * (0.5 + clock.random() / 2);
}
