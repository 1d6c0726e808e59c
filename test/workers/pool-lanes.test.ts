import { expect, test } from 'bun:test';
import type { PendingJob } from '../../workers/pool-job.ts';
import { createLanes } from '../../workers/pool-lanes.ts';
import type { Thread } from '../../workers/pool-thread.ts';

const DEADLINE_MS = 20_000;

const jobOf = (id: number, lane: 'hot' | 'bulk', waitedMs: number): PendingJob => ({
  id,
  kind: 1,
  fields: [],
  lane,
  account: '',
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

/** The jobs that one idle thread gets first. */
const firstFrame = (jobs: readonly PendingJob[]): readonly number[] => {
  const frames: number[][] = [];
  const lanes = createLanes({
    threads: 1,
    queueMax: 10,
    cold: { concurrency: 1, queueMax: 1, perAccountMax: 1 },
    send: (_thread, sent) => frames.push(sent.map(({ id }) => id)),
  });
  for (const job of jobs) {
    lanes.accept(job);
  }
  lanes.dispatch([idleThread()]);
  return frames[0] ?? [];
};

test('bulk jobs stand back for hot ones, but not for long', () => {
  expect(firstFrame([jobOf(1, 'bulk', 0), jobOf(2, 'hot', 0), jobOf(3, 'hot', 0)])).toEqual([2, 3]);
  expect(firstFrame([jobOf(1, 'bulk', 500), jobOf(2, 'hot', 500), jobOf(3, 'hot', 0)])).toEqual([1]);
  expect(firstFrame([jobOf(1, 'bulk', 500)])).toEqual([1]);
});
