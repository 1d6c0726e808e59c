import { expect, test } from 'bun:test';
import type { PendingJob } from '../../workers/pool/job.ts';
import * as lanes from '../../workers/pool/lanes.ts';

const DEADLINE_MS = 20_000;

function jobOf(id: number, lane: 'hot' | 'bulk', waitedMs: number, account = ''): PendingJob {
  return {
    id,
    kind: 1,
    fields: [],
    lane,
    account,
    deadlineMs: DEADLINE_MS,
    queuedAt: 0,
    dueAt: performance.now() + DEADLINE_MS - waitedMs,
    requeues: 0,
    abandoned: false,
    resolve: () => undefined,
    reject: () => undefined,
  };
}

function idleThread(): lanes.ThreadLoad {
  return { jobs: new Map(), held: 0 };
}

/** The jobs that one thread gets, frame by frame, when it is done with each at once. */
function framesOf(jobs: readonly PendingJob[]): readonly (readonly number[])[] {
  const frames: number[][] = [];
  const state = lanes.createLanes({
    threads: 1,
    queueMax: 50,
    cold: { concurrency: 1, queueMax: 1, perAccountMax: 1 },
    send: (_thread: lanes.ThreadLoad, sent) => {
      frames.push(sent.map(({ id }) => id));
      for (const job of sent) {
        lanes.release(state, job);
      }
    },
  });
  for (const job of jobs) {
    lanes.accept(state, job);
  }
  while (lanes.waitingOf(state, 'hot') + lanes.waitingOf(state, 'bulk') > 0) {
    lanes.dispatch(state, [idleThread()]);
  }
  return frames;
}

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

test('accounts take turns with their hot jobs as well, also where one has far more', () => {
  const many = Array.from({ length: 40 }, (_, at) => jobOf(at, 'hot', 0, 'many'));
  const few = [jobOf(100, 'hot', 0, 'few'), jobOf(101, 'hot', 0, 'few')];
  const frames = framesOf([...many, ...few]);
  expect(frames[0]).toEqual([0, 100, 1, 101, ...Array.from({ length: 12 }, (_, at) => at + 2)]);
  expect(frames.flat().filter((id) => id < 100)).toEqual(many.map(({ id }) => id));
});

test.each(['hot', 'bulk'] as const)('a full queue of %s jobs drops the newest of who has most', (lane) => {
  const state = lanes.createLanes({
    threads: 1,
    queueMax: 4,
    cold: { concurrency: 1, queueMax: 1, perAccountMax: 1 },
    send: (_thread: lanes.ThreadLoad) => undefined,
  });
  const dropped = (id: number, account: string) => lanes.accept(state, jobOf(id, lane, 0, account))?.id;
  expect([1, 2, 3, 4].map((id) => dropped(id, 'many'))).toEqual(Array(4).fill(undefined));
  expect(dropped(5, 'many')).toBe(5);
  expect(dropped(100, 'few')).toBe(4);
  expect(dropped(101, 'few')).toBe(3);
  expect(dropped(6, 'many')).toBe(6);
  expect(lanes.waitingOf(state, lane)).toBe(4);
});
