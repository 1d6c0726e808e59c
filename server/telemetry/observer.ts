import type { MeterOperation } from '../core/operations.ts';

/** The counters without a log line, and the possible results. Log events are counted by their names. */
export interface Counts {
  /**
   * `cached`: verified without the password hash; `verified`: with it; `session`: by the cookie of a person, who has signed in with a
   * `passkey` or by `oidc`.
   */
  readonly sign_in:
    | ('cached' | 'verified' | 'session' | 'passkey' | 'oidc')
    | ('unauthenticated' | 'too_many_failures' | 'failed');
  /** `warm`: without Argon2id; `cold`: with Argon2id; one of the others follows each `warm_miss`. */
  readonly unlock: 'warm' | 'warm_miss' | 'cold' | 'passphrase_wrong' | 'too_many_failures' | 'failed';
  /** The billable operations, as often as they are billed. */
  readonly operation: MeterOperation;
}

/** The parts of a request that have a span. */
export type Step = 'sign_in' | 'unlock';

/** Receives reports of what the vault does. No method fails, waits, or receives data of a caller. */
export interface Observer {
  readonly count: <Name extends keyof Counts>(name: Name, result: Counts[Name], times?: number) => void;
  readonly step: <T>(name: Step, work: () => Promise<T>) => Promise<T>;
  /** A Redis command or script has finished. `startedAt` is a time of `performance.now()`. */
  readonly redisCall: (name: string, startedAt: number, hasFailed: boolean) => void;
  /** A job has finished, with the name of its kind. Absent where jobs have no spans. */
  readonly threadCall?: (kind: string, startedAt: number, hasFailed: boolean) => void;
  /** A job has left the worker threads or was rejected; times in ms, `code` undefined for a result. */
  readonly threadJob: (lane: string, waitedMs: number, ranMs: number, code: string | undefined) => void;
}

export const NOOP_OBSERVER: Observer = {
  count: () => undefined,
  step: (_name, work) => work(),
  redisCall: () => undefined,
  threadJob: () => undefined,
};
