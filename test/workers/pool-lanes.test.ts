import { expect, test } from 'bun:test';
import type { Lane, PendingJob } from '../../workers/pool/job.ts';
import { Lanes, type ThreadLoad } from '../../workers/pool/lanes.ts';
import { FIELDS } from './fixtures/kinds.ts';

const JOB = { kind: 1, input: FIELDS, output: FIELDS };
const DEADLINE_MS = 20_000;
const ONE = { concurrency: 1, queueMax: 1, perAccountMax: 1 };

function jobOf(id: number, lane: Lane, waitedMs: number, account = ''): PendingJob {
  return {
    id,
    job: JOB,
    input: [],
    lane,
    account,
    deadlineMs: DEADLINE_MS,
    queuedAt: 0,
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
    ...{ cold: ONE, guess: ONE },
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
  const bulk = [1, 2, 3].map((id) => jobOf(id, 'bulk', 500));
  const hot = Array.from({ length: 20 }, (_, at) => jobOf(100 + at, 'hot', 500));
  const kinds = framesOf([...bulk, ...hot]).map(([first = 0]) => (first < 100 ? 'bulk' : 'hot'));
  expect(kinds).toEqual(['bulk', 'hot', 'bulk', 'hot', 'bulk']);
});

test('accounts take turns with their bulk jobs, each in its own order', () => {
  const many = Array.from({ length: 6 }, (_, at) => jobOf(at, 'bulk', 0, 'many'));
  const few = [jobOf(100, 'bulk', 0, 'few'), jobOf(101, 'bulk', 0, 'few')];
  expect(framesOf([...many, ...few]).flat()).toEqual([0, 100, 1, 101, 2, 3, 4, 5]);
});

test('accounts take turns with their hot jobs as well, also where one has far more', () => {
  const many = Array.from({ length: 40 }, (_, at) => jobOf(at, 'hot', 0, 'many'));
  const few = [jobOf(100, 'hot', 0, 'few'), jobOf(101, 'hot', 0, 'few')];
  const frames = framesOf([...many, ...few]);
  expect(frames[0]).toEqual([0, 100, 1, 101, ...Array.from({ length: 12 }, (_, at) => at + 2)]);
  expect(frames.flat().filter((id) => id < 100)).toEqual(many.map(({ id }) => id));
});

test.each(['hot', 'bulk'] as const)('a full queue of %s jobs drops the newest of who has most', (lane) => {
  const state = new Lanes({
    threads: 1,
    queueMax: 4,
    ...{ cold: ONE, guess: ONE },
    send: (_thread: ThreadLoad) => undefined,
  });
  const dropped = (id: number, account: string) => state.accept(jobOf(id, lane, 0, account))?.id;
  expect([1, 2, 3, 4].map((id) => dropped(id, 'many'))).toEqual(Array(4).fill(undefined));
  expect(dropped(5, 'many')).toBe(5);
  expect(dropped(100, 'few')).toBe(4);
  expect(dropped(101, 'few')).toBe(3);
  expect(dropped(6, 'many')).toBe(6);
  expect(state.waitingOf(lane)).toBe(4);
});

/** Lanes for passphrases and guesses, whose jobs run until they are released. */
function stretching(concurrency: number, guesses: number, rests = false) {
  const running: PendingJob[] = [];
  const state = new Lanes({
    threads: 1,
    queueMax: 4,
    cold: { concurrency, queueMax: 32, perAccountMax: 2 },
    guess: { concurrency: guesses, queueMax: 3, perAccountMax: 1, rests },
    send: (_thread: ThreadLoad, sent) => running.push(...sent),
  });
  const dispatch = (): readonly number[] => state.dispatch([idleThread()]).map(({ id }) => id);
  const accept = (id: number, lane: Lane, account: string, ranMs = 0): readonly number[] => {
    state.accept(jobOf(id, lane, ranMs, account));
    return dispatch();
  };
  const end = (id: number): void => {
    const at = running.findIndex((job) => job.id === id);
    for (const job of running.splice(at, 1)) {
      state.release(job);
    }
    dispatch();
  };
  return {
    accept,
    end,
    state,
    ids: () => running.map(({ id }) => id),
    waiting: () => state.waitingOf('guess'),
  };
}

test('guesses that wait or run leave a place to passphrases, also where there is one', () => {
  const { accept, end, ids } = stretching(1, 1);
  for (let n = 0; n < 3; n++) {
    accept(n, 'guess', `source ${n}`);
  }
  expect(ids()).toEqual([0]);
  accept(10, 'cold', 'a');
  accept(11, 'cold', 'b');
  expect(ids()).toEqual([0, 10]);
  end(10);
  expect(ids()).toEqual([0, 11]);
  end(0);
  expect(ids()).toEqual([11, 1]);
});

test('guesses get their place while passphrases want all of them', () => {
  const { accept, end, ids } = stretching(3, 1);
  for (let n = 0; n < 6; n++) {
    accept(n, 'cold', `account ${n}`);
  }
  expect(ids()).toEqual([0, 1, 2]);
  accept(10, 'guess', 'source');
  expect(ids()).toEqual([0, 1, 2, 10]);
  end(0);
  expect(ids()).toEqual([1, 2, 10]);
  end(1);
  expect(ids()).toEqual([2, 10, 3]);
  end(10);
  expect(ids()).toEqual([2, 3, 4]);
});

test('sources take turns with their guesses, and a full queue drops those of who has most', () => {
  const { accept, end, ids, waiting } = stretching(1, 1);
  accept(0, 'guess', 'loud');
  accept(1, 'guess', 'loud');
  accept(2, 'guess', 'loud');
  expect(accept(10, 'guess', 'quiet')).toEqual([]);
  expect(accept(11, 'guess', 'other')).toEqual([2]);
  expect(waiting()).toBe(3);
  for (const id of [0, 1, 10]) {
    end(id);
  }
  expect(ids()).toEqual([11]);
});

test('guesses rest for as long as the last one ran, where that is set, and passphrases do not wait for it', () => {
  const { accept, end, ids, state } = stretching(1, 1, true);
  const ranMs = 10_000;
  accept(0, 'guess', 'source', ranMs);
  accept(1, 'guess', 'another');
  end(0);
  expect(ids()).toEqual([]);
  const restMs = state.nextGuessAt() - performance.now();
  expect(restMs).toBeGreaterThan(0);
  expect(restMs).toBeLessThan(2 * ranMs);
  accept(10, 'cold', 'account');
  expect(ids()).toEqual([10]);
  state.guess.restsUntil = 0;
  accept(11, 'cold', 'account');
  expect(ids()).toEqual([10, 1]);
});

test('passphrases go to no thread that is stuck', () => {
  const sentTo: ThreadLoad[] = [];
  const state = new Lanes({
    threads: 2,
    queueMax: 4,
    ...{ cold: { ...ONE, concurrency: 2 }, guess: ONE },
    send: (thread: ThreadLoad) => void sentTo.push(thread),
  });
  const stuck = { jobs: new Map([[1, { ...jobOf(1, 'hot', 0), missed: 1 }]]), held: 1 };
  const busy = { jobs: new Map([2, 3].map((id) => [id, jobOf(id, 'hot', 0)])), held: 2 };
  state.accept(jobOf(4, 'cold', 0));
  expect(state.dispatch([stuck])).toEqual([]);
  expect(state.waitingOf('cold')).toBe(1);
  state.dispatch([stuck, busy]);
  expect(sentTo).toEqual([busy]);
});
