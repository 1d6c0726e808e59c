import { expect, test } from 'bun:test';
import type { Lane, PendingJob } from '../../workers/pool/job.ts';
import { Lanes, type ThreadLoad } from '../../workers/pool/lanes.ts';
import { FIELDS } from './fixtures/kinds.ts';

const JOB = { kind: 1, input: FIELDS, output: FIELDS };
const DEADLINE_MS = 20_000;
const ONE = { coldConcurrency: 1, guessConcurrency: 1 };

function jobOf(id: number, lane: Lane, waitedMs: number): PendingJob {
  return {
    id,
    job: JOB,
    input: [],
    lane,
    deadlineMs: DEADLINE_MS,
    queuedAt: performance.now(),
    dueAt: performance.now() + DEADLINE_MS - waitedMs,
    requeues: 0,
    missed: 0,
    resolve: () => undefined,
    reject: () => undefined,
  };
}

function idleThread(): ThreadLoad {
  return { jobs: new Map(), held: 0 };
}

/** The jobs that one thread gets, frame by frame, when it is done with each at once. */
function framesOf(jobs: readonly PendingJob[]): readonly (readonly number[])[] {
  const frames: number[][] = [];
  const state = new Lanes({
    threads: 1,
    queueMax: 50,
    ...ONE,
    send: (_thread: ThreadLoad, sent) => {
      frames.push(sent.map(({ id }) => id));
      for (const job of sent) {
        state.release(job);
      }
    },
  });
  for (const job of jobs) {
    state.accept(job);
  }
  while (state.waitingOf('hot') + state.waitingOf('bulk') > 0) {
    state.dispatch([idleThread()]);
  }
  return frames;
}

test('bulk jobs that have stood back for long take turns with hot ones', () => {
  // They waited for the limiter, not in the pool.
  const bulk = [1, 2, 3].map((id) => ({ ...jobOf(id, 'bulk', 0), queuedAt: performance.now() - 500 }));
  const hot = Array.from({ length: 20 }, (_, at) => jobOf(100 + at, 'hot', 500));
  const kinds = framesOf([...bulk, ...hot]).map(([first = 0]) => (first < 100 ? 'bulk' : 'hot'));
  expect(kinds).toEqual(['bulk', 'hot', 'bulk', 'hot', 'bulk']);
});

/** Lanes for passphrases and guesses, whose jobs run until they are released. */
function stretching(coldConcurrency: number, guessConcurrency: number) {
  const running: PendingJob[] = [];
  const state = new Lanes({
    ...{ threads: 1, queueMax: 50, coldConcurrency, guessConcurrency },
    send: (_thread: ThreadLoad, sent) => running.push(...sent),
  });
  return {
    accept(id: number, lane: Lane, ranMs = 0): void {
      state.accept(jobOf(id, lane, ranMs));
      state.dispatch([idleThread()]);
    },
    end(id: number): void {
      const at = running.findIndex((job) => job.id === id);
      for (const job of running.splice(at, 1)) {
        state.release(job);
      }
      state.dispatch([idleThread()]);
    },
    state,
    ids: () => running.map(({ id }) => id),
  };
}

test('guesses that wait or run leave a place to passphrases', () => {
  const { accept, end, ids } = stretching(2, 1);
  for (let n = 0; n < 3; n++) {
    accept(n, 'guess');
  }
  expect(ids()).toEqual([0]);
  accept(10, 'cold');
  accept(11, 'cold');
  expect(ids()).toEqual([0, 10]);
  end(10);
  expect(ids()).toEqual([0, 11]);
  end(0);
  expect(ids()).toEqual([11, 1]);
});

test('guesses get their place while passphrases want all of them', () => {
  const { accept, end, ids } = stretching(3, 1);
  for (let n = 0; n < 6; n++) {
    accept(n, 'cold');
  }
  expect(ids()).toEqual([0, 1, 2]);
  accept(10, 'guess');
  expect(ids()).toEqual([0, 1, 2, 10]);
  end(0);
  expect(ids()).toEqual([1, 2, 10]);
  end(1);
  expect(ids()).toEqual([2, 10, 3]);
  end(10);
  expect(ids()).toEqual([2, 3, 4]);
});

test('guesses rest for as long as the last one ran, where there is one place, and passphrases do not wait for it', () => {
  const { accept, end, ids, state } = stretching(1, 1);
  const ranMs = 10_000;
  accept(0, 'guess', ranMs);
  accept(1, 'guess');
  end(0);
  expect(ids()).toEqual([]);
  const restMs = state.nextGuessAt() - performance.now();
  expect(restMs).toBeGreaterThan(0);
  expect(restMs).toBeLessThan(2 * ranMs);
  accept(10, 'cold');
  expect(ids()).toEqual([10]);
  state.guessesRestUntil = 0;
  accept(11, 'cold');
  expect(ids()).toEqual([10, 1]);
});

test('passphrases go to no thread that is stuck', () => {
  const sentTo: ThreadLoad[] = [];
  const state = new Lanes({
    threads: 2,
    queueMax: 4,
    ...{ coldConcurrency: 2, guessConcurrency: 1 },
    send: (thread: ThreadLoad) => void sentTo.push(thread),
  });
  const stuck = { jobs: new Map([[1, { ...jobOf(1, 'hot', 0), missed: 1 }]]), held: 1 };
  const busy = { jobs: new Map([2, 3].map((id) => [id, jobOf(id, 'hot', 0)])), held: 2 };
  state.accept(jobOf(4, 'cold', 0));
  state.dispatch([stuck]);
  expect(state.waitingOf('cold')).toBe(1);
  state.dispatch([stuck, busy]);
  expect(sentTo).toEqual([busy]);
});
