import { expect, test } from 'bun:test';
import type { PendingJob } from '../../workers/pool-job.ts';
import { createLanes } from '../../workers/pool-lanes.ts';
import type { Thread } from '../../workers/pool-thread.ts';

const DEADLINE_MS = 20_000;

const jobOf = (id: number, lane: 'hot' | 'bulk', waitedMs: number, account = ''): PendingJob => ({
  id,
  kind: 1,
  fields: [],
  lane,
  account,
  deadlineMs: DEADLINE_MS,
  dueAt: performance.now() + DEADLINE_MS - waitedMs,
  requeues: 0,
  abandoned: false,
  resolve: () => undefined,
  reject: () => undefined,
});

const idleThread = (): Thread => ({
  jobs: new Map(),
  busy: () => 0,
  hasAnswered: () => true,
  isSuspect: () => false,
  send: () => undefined,
  fail: () => undefined,
  close: async () => undefined,
});

/** The jobs that one thread gets, frame by frame, when it is done with each at once. */
const framesOf = (jobs: readonly PendingJob[]): readonly (readonly number[])[] => {
  const frames: number[][] = [];
  const lanes = createLanes({
    threads: 1,
    queueMax: 50,
    cold: { concurrency: 1, queueMax: 1, perAccountMax: 1 },
    send: (_thread, sent) => {
      frames.push(sent.map(({ id }) => id));
      for (const job of sent) {
        lanes.release(job);
      }
    },
  });
  for (const job of jobs) {
    lanes.accept(job);
  }
  while (lanes.waiting().hot + lanes.waiting().bulk > 0) {
    lanes.dispatch([idleThread()]);
  }
  return frames;
};

test('bulk jobs stand back for hot ones', () => {
  expect(framesOf([jobOf(1, 'bulk', 0), jobOf(2, 'hot', 0), jobOf(3, 'hot', 0)])).toEqual([[2, 3], [1]]);
});

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
