import type { MeterOperation } from '../core/operations.ts';

/**
 * What is counted without a log line, and its possible results. A new counter needs a row here, a row in
 * `server/telemetry/counters.ts`, and a call of `count`. A log event needs none: every event is counted by its name.
 */
export interface Counts {
  /** `cached`: verified without the password hash; `verified`: with it. */
  readonly sign_in: 'cached' | 'verified' | 'unauthenticated' | 'too_many_failures' | 'failed';
  /** `warm`: without Argon2id; `cold`: with Argon2id; one of the others follows each `warm_miss`. */
  readonly unlock: 'warm' | 'warm_miss' | 'cold' | 'passphrase_wrong' | 'too_many_failures' | 'failed';
  /** The billable operations, as often as they are billed. */
  readonly operation: MeterOperation;
}

/** The parts of a request that have spans of their own. */
export type Step = 'sign_in' | 'unlock';

/** Receives reports of what the vault does. No method fails, waits, or receives data of a caller. */
export interface Observer {
  /** Adds `times`, 1 by default. */
  readonly count: <Name extends keyof Counts>(name: Name, result: Counts[Name], times?: number) => void;
  /** Runs `work` as a step of the current request. */
  readonly step: <T>(name: Step, work: () => Promise<T>) => Promise<T>;
  /** A Redis command or script has finished. `startedAt` is a time of `performance.now()`. */
  readonly redisCall: (name: string, startedAt: number, hasFailed: boolean) => void;
  /** A job has finished, with the name of its kind. Absent where jobs have no spans. */
  readonly threadCall?: (kind: string, startedAt: number, hasFailed: boolean) => void;
  /** A job has left the worker threads or was rejected; times in ms, `code` undefined for a result. */
  readonly threadJob: (lane: string, waitedMs: number, ranMs: number, code: string | undefined) => void;
}

/** An observer that ignores every report. */
export const NOOP_OBSERVER: Observer = {
  count: () => undefined,
  step: (_name, work) => work(),
  redisCall: () => undefined,
  threadJob: () => undefined,
};

/** How a request ended, for its span: constants of the code, and the request id. */
export interface RequestEnd {
  /** The route template, never a path. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** The error code; undefined for a successful reply. */
  readonly code: string | undefined;
  readonly requestId: string;
}

/** The span of a traced request. Ids in hex (W3C Trace Context), times in milliseconds since 1970. */
export interface RequestSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** The span of the caller that `traceparent` names. */
  readonly parentId: string | undefined;
  readonly startMs: number;
}

/** Traces of requests. */
export interface Tracing {
  /** Begins the span of a request, in the trace that its `traceparent` names; undefined when it is not to be traced. */
  readonly start: (traceparent: string | null) => RequestSpan | undefined;
  /** Does work of a request; the spans of its steps and calls are children of `span`. */
  readonly within: <T>(span: RequestSpan, work: () => Promise<T>) => Promise<T>;
  /** Ends the span; it is then exported. Call it once per span. */
  readonly end: (span: RequestSpan, end: RequestEnd) => void;
}
