import type { MeterOperation } from '../http/schema/admin.ts';

/**
 * Everything that is counted without being a line of the log, and what each can come to. A new counter is a row
 * here, a row of `server/telemetry/counts.ts`, and a call of `count` where it happens. Whatever has a line of its own
 * needs none: every event is counted by its name.
 */
export interface Counts {
  /** How a sign-in ended: `remembered` without the cost of the password hash, `checked` with it. */
  readonly sign_in: 'remembered' | 'checked' | 'unauthenticated' | 'too_many_failures' | 'failed';
  /** How a key was opened: `warm` without Argon2id, `cold` with it; `warm_miss` leads to one of the others. */
  readonly unlock: 'warm' | 'warm_miss' | 'cold' | 'passphrase_wrong' | 'too_many_failures' | 'failed';
  /** The billable operations, as many as are billed. */
  readonly operation: MeterOperation;
}

/** The steps of a request that are worth a span of their own. */
export type Step = 'sign_in' | 'unlock';

/** Whoever watches the vault work. No call of it fails or takes time, and none is ever given data of a caller. */
export interface Observer {
  /** Adds `times`, one when left out; below zero for what came to nothing after all. */
  readonly count: <Name extends keyof Counts>(name: Name, what: Counts[Name], times?: number) => void;
  /** Does `work` as a step of the request that is under way. */
  readonly step: <T>(name: Step, work: () => Promise<T>) => Promise<T>;
  /** A command or script of Redis was answered, or failed. `startedAt` is on `performance.now()`. */
  readonly redisCall: (name: string, startedAt: number, hasFailed: boolean) => void;
  /** A job of the threads came back, or failed, by the name of its kind. Left out: nobody wants to know. */
  readonly threadCall?: (kind: string, startedAt: number, hasFailed: boolean) => void;
  /** A job left the threads or was refused; milliseconds, `code` undefined for a result. */
  readonly threadJob: (lane: string, waitedMs: number, ranMs: number, code: string | undefined) => void;
}

/** An observer that ignores every report. */
export const NOOP_OBSERVER: Observer = {
  count: () => undefined,
  step: (_name, work) => work(),
  redisCall: () => undefined,
  threadJob: () => undefined,
};

/** What is told of a request when its reply is known: constants of the code, and its id. */
export interface RequestEnd {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly code: string | undefined;
  readonly requestId: string;
}

/** Traces of requests. */
export interface Tracing {
  /** Does `work` as a request of its own, or as a part of the trace that its `traceparent` names. */
  readonly begin: <T>(traceparent: string | null, work: () => Promise<T>) => Promise<T>;
  /** Ends the request that is under way here, if there is one. */
  readonly end: (end: RequestEnd) => void;
}
