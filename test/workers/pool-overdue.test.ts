import { describe, expect, test } from 'bun:test';
import { cpuMsOf, ownThreadNumber } from '../../workers/pool/cpu-time.ts';
import { TRACE_BEGUN, TRACE_WORDS } from '../../workers/pool/frame.ts';
import type { Lane, PendingJob } from '../../workers/pool/job.ts';
import { checkDeadlines, nextCheckAt } from '../../workers/pool/overdue.ts';
import { FIELDS, FIXTURE, WORD, wordReaches } from './fixtures/kinds.ts';
import { createRig } from './fixtures/rig.ts';

const hasCpuTimes = process.platform === 'linux';

type CpuClock = (now: number) => number | undefined;

/**
 * The events of a job of 1,000 ms that is sent at 0 and never answered, in a thread with this CPU clock. `begunAt` is the
 * id of the job that the thread has begun last.
 */
function lifeOf(lane: Lane, cpuAt: CpuClock, begunAt: (now: number) => number = () => 1): readonly string[] {
  const job: PendingJob = {
    id: 1,
    job: { kind: 1, input: FIELDS, output: FIELDS },
    input: [],
    lane,
    deadlineMs: 1_000,
    queuedAt: 0,
    dueAt: 1_000,
    requeues: 0,
    missed: 0,
    resolve: () => undefined,
    reject: () => undefined,
  };
  const trace = new Int32Array(TRACE_WORDS);
  const thread = { jobs: new Map([[job.id, job]]), trace, cpuMs: undefined, cpuJobId: 0 };
  const life: string[] = [];
  let now = 0;
  for (let hangs = false; !hangs; ) {
    now = nextCheckAt(job, now);
    trace[TRACE_BEGUN] = begunAt(now);
    const seen = checkDeadlines(thread, now, () => cpuAt(now));
    hangs = seen.hangs;
    life.push(...seen.late.map(() => `answered at ${now}`), ...(hangs ? [`thread ended at ${now}`] : []));
  }
  return life;
}

function unread(): never {
  throw new Error('the CPU time was read');
}

test.each<[string, Lane, CpuClock, readonly string[]]>([
  ['computes all the time', 'hot', (now) => now, ['thread ended at 1000']],
  ['computes for most of it', 'bulk', (now) => 0.7 * now, ['thread ended at 1000']],
  ['computes where nobody can tell', 'hot', () => undefined, ['thread ended at 1000']],
  ['gets a third of a core', 'hot', (now) => now / 3, ['answered at 1000', 'thread ended at 2000']],
  ['is not run', 'bulk', () => 0, ['answered at 1000', 'thread ended at 4000']],
  ['has only computed before', 'hot', () => 1e9, ['answered at 1000', 'thread ended at 4000']],
  ['stretches a secret elsewhere', 'cold', unread, ['answered at 1000', 'thread ended at 4000']],
  ['stretches a guess elsewhere', 'guess', unread, ['answered at 1000', 'thread ended at 4000']],
])('a silent thread that %s, with a %s job', (_name, lane, cpuAt, life) => {
  expect(lifeOf(lane, cpuAt)).toEqual(life);
});

test('a thread that computes all the time is kept while it begins one job of its frame after another', () => {
  const life = lifeOf(
    'hot',
    (now) => now,
    (now) => 1 + Math.min(2, Math.floor(now / 1_000)),
  );
  expect(life).toEqual(['answered at 1000', 'thread ended at 3000']);
});

test.skipIf(!hasCpuTimes)(
  'the CPU time of a thread grows while it computes, and that of no thread is unknown',
  () => {
    const number = ownThreadNumber();
    const before = cpuMsOf(number) ?? Number.NaN;
    while ((cpuMsOf(number) ?? Number.NaN) < before + 30) {}
    expect(cpuMsOf(number)).toBeGreaterThanOrEqual(before + 30);
    expect(cpuMsOf(0)).toBeUndefined();
  },
);

describe.skipIf(!hasCpuTimes)('a thread that misses a deadline', () => {
  test('without computing is kept: its callers may retry, its late replies are dropped, and others are served', async () => {
    const codes: (string | undefined)[] = [];
    const rig = createRig({ onJob: (_lane, _waitedMs, _ranMs, code) => codes.push(code) });
    await rig.pool.ready();
    const frame = [FIXTURE.blocks, FIXTURE.throws, FIXTURE.logs].map((kind) =>
      rig.outcome(kind, { deadlineMs: 500, mark: 1 }),
    );
    await wordReaches(rig.words, WORD.blocked, 1);
    const waiting = (['hot', 'bulk'] as const).map((lane) =>
      rig.outcome(FIXTURE.logs, { lane, mark: 2, deadlineMs: 60_000 }),
    );
    expect(await Promise.all(frame)).toEqual(['overloaded', 'overloaded', 'overloaded']);
    expect(rig.pool.stats()).toMatchObject({ running: 3, threadsAlive: 1 });
    rig.openGate();
    expect(await Promise.all(waiting)).toEqual(['ok', 'ok']);
    expect(rig.pool.stats()).toMatchObject({ restarts: 0, running: 0 });
    expect(codes).toEqual(['overloaded', 'overloaded', 'overloaded', undefined, undefined]);
    await rig.pool.drain();
  });

  test('and never replies is replaced in the end, and its jobs are not run again', async () => {
    const down = Promise.withResolvers<void>();
    const rig = createRig({ onEvent: (event) => event.type === 'thread_down' && down.resolve() });
    await rig.pool.ready();
    expect(await rig.outcome(FIXTURE.blocks, { deadlineMs: 40 })).toBe('overloaded');
    const waiting = rig.outcome(FIXTURE.echo);
    await down.promise;
    expect(await waiting).toBe('ok');
    expect(rig.events).toContainEqual({ type: 'thread_down', cause: 'hung', lost: 0, requeued: 0 });
    expect(Atomics.load(rig.words, WORD.blocked)).toBeLessThanOrEqual(1);
    await rig.pool.drain();
  });

  test('does not delay a drain', async () => {
    const rig = createRig();
    await rig.pool.ready();
    const late = rig.outcome(FIXTURE.blocks, { deadlineMs: 200 });
    await rig.pool.drain();
    expect(await late).toBe('overloaded');
    expect(rig.pool.stats()).toMatchObject({ threadsAlive: 0, restarts: 0 });
  });

  test('in an endless loop is replaced; its job fails, and others of the frame are run again', async () => {
    // Any progress counts for much: a busy machine may give the loop little of a core.
    const rig = createRig({ readCpuMs: (number) => 1_000 * (cpuMsOf(number) ?? 0) });
    await rig.pool.ready();
    const outcomes: string[] = [];
    for (let outcome = 'overloaded'; outcome === 'overloaded'; ) {
      const loop = rig.outcome(FIXTURE.loops, { deadlineMs: 400 });
      const behind = rig.outcome(FIXTURE.echo, { deadlineMs: 60_000 });
      outcome = await loop;
      outcomes.push(outcome);
      expect(await behind).toBe('ok');
    }
    expect(outcomes.at(-1)).toBe('internal');
    expect(rig.pool.stats()).toMatchObject({ restarts: outcomes.length, threadsAlive: 1 });
    await rig.pool.drain();
  });
});
