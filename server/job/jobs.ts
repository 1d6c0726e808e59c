import { createHash } from 'node:crypto';
import { createJobSlots, type JobSlots } from '../call/bounds.ts';
import { recordFault } from '../call/send.ts';
import { bindParts } from '../core/bind.ts';
import type { RandomFraction } from '../core/clock.ts';
import { pause } from '../core/concurrency.ts';
import { failureFields } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import { ELSEWHERE_MS, type StepParts, sendStep, tellStep } from './steps.ts';
import type { JobStore } from './store/jobs.ts';

const WAKE_PAUSE_MS = 1_000;
/** The clocks of servers differ, and the queue wakes a job a little early. */
const EARLY_MS = 500;

interface JobDependencies extends Omit<StepParts, 'unsent'> {
  readonly jobStore: JobStore;
  readonly random: RandomFraction;
  /** Puts a name into the queue, which calls `run` with it; behind those with a smaller place. */
  readonly enqueue: (name: string, place: number) => Promise<void>;
}

interface Parts extends JobDependencies, StepParts {
  readonly jobStore: JobStore;
  readonly slots: JobSlots;
  readonly state: { closed: boolean };
}

/** Asynchronous requests, from acceptance to the last call of the webhook. */
export type ProxyJobs = ReturnType<typeof createProxyJobs>;

/** The id of the job of an idempotent request: a repeat of the request finds the job of an interrupted one. */
export function jobIdOf(kind: 'capture' | 'proxy', seed: string): string {
  return createHash('sha256').update(`${kind} ${seed}`).digest('base64url').slice(0, 22);
}

/** Makes the jobs of a server. They are stored; the queue says which server takes the next step of which job. */
export function createProxyJobs(dependencies: JobDependencies) {
  const slots = createJobSlots(dependencies);
  const parts: Parts = { ...dependencies, slots, unsent: new Set<string>(), state: { closed: false } };
  return bindParts(parts, { run, wake, resume, inFlight, close });
}

/**
 * Takes the next steps of the job `aid.id`. Gives the ms until the one after them, undefined when there is none. Throws what
 * the queue should retry.
 */
async function run(parts: Parts, name: string): Promise<number | undefined> {
  const { jobStore, slots, state, recordEvent, now } = parts;
  const [aid = '', id = ''] = name.split('.');
  if (state.closed) {
    return ELSEWHERE_MS;
  }
  const waitMs = slots.take(aid, name);
  if (waitMs !== undefined) {
    return waitMs;
  }
  try {
    for (;;) {
      const stored = await jobStore.read(aid, id);
      const earlyMs = (stored?.nextMs ?? 0) - now();
      if (earlyMs > EARLY_MS) {
        // The queue may have two names of a job.
        return earlyMs;
      }
      const step = stored?.phase === 'send' ? sendStep : tellStep;
      const nextMs = stored && (await step(parts, { aid, id }, stored));
      if (nextMs !== 0 || state.closed) {
        return nextMs;
      }
    }
  } catch (error) {
    if (error instanceof VaultError && error.code === 'integrity_failed') {
      // A retry cannot help. The job stays in its directory, where the sweep finds it again.
      recordEvent('job_integrity_failed', { job: id, ...failureFields(error) });
      return undefined;
    }
    recordFault(parts, { job: id }, error);
    throw error;
  } finally {
    slots.give(aid);
  }
}

/** Puts a stored job into the queue, now or as soon as the queue can be reached. Never fails. */
function wake({ enqueue, state }: Parts, aid: string, id: string, place: number): void {
  const retry = async (): Promise<void> => {
    do {
      try {
        return await enqueue(`${aid}.${id}`, place);
      } catch {
        await pause(WAKE_PAUSE_MS);
      }
    } while (!state.closed);
  };
  void retry();
}

/** Puts every job of an account into the queue; those that are in it stay as they are. */
async function resume({ jobStore, enqueue }: Parts, aid: string): Promise<void> {
  let place = 0;
  for await (const ids of jobStore.list(aid)) {
    for (const id of ids) {
      place += 1;
      await enqueue(`${aid}.${id}`, place);
    }
  }
}

/** How many jobs this server works on. */
function inFlight({ slots }: Parts): number {
  return slots.running();
}

/** Takes no further step. The queue waits for the steps in flight. */
function close({ state }: Parts): void {
  state.closed = true;
}
