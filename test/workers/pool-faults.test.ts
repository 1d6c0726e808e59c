import { describe, expect, test } from 'bun:test';
import { pauseMs } from '../../workers/pool/crew.ts';
import type { PoolEvent } from '../../workers/pool/pool.ts';
import { FIXTURE, WORD, wordReaches } from './fixtures/kinds.ts';
import { createRig, type Rig } from './fixtures/rig.ts';

const LOOP_DEADLINE_MS = 60;

/** Without CPU times a loop shows by its deadline alone, however busy the machine is; `pool-overdue.test.ts` has the others. */
const NO_CPU_TIMES = { readCpuMs: () => undefined };

const FAULTS = [
  { name: 'throw', kind: FIXTURE.throws, mark: 0, code: 'token_not_found', crashes: false },
  { name: 'exit with 0', kind: FIXTURE.exits, mark: 0, code: 'internal', crashes: true },
  { name: 'exit with 3', kind: FIXTURE.exits, mark: 3, code: 'internal', crashes: true },
  { name: 'unhandled rejection', kind: FIXTURE.leavesRejection, mark: 0, code: 'internal', crashes: true },
  { name: 'error outside the handler', kind: FIXTURE.throwsLater, mark: 0, code: 'internal', crashes: true },
  { name: 'reply that is not a frame', kind: FIXTURE.garbles, mark: 0, code: 'internal', crashes: true },
  { name: 'endless loop', kind: FIXTURE.loops, mark: 0, code: 'internal', crashes: true },
] as const;

/** Once a thread sends what is no frame, nothing it has begun is cleared: its neighbours go with it. */
const ISOLATED_FAULTS = FAULTS.filter(({ kind }) => kind !== FIXTURE.garbles);

/** A loop has a short deadline; while it waits it may run out, and then it has not been injected yet. */
async function inject(rig: Rig, { kind, mark }: (typeof FAULTS)[number]): Promise<string> {
  const limits = kind === FIXTURE.loops ? { deadlineMs: LOOP_DEADLINE_MS } : {};
  for (;;) {
    const outcome = await rig.outcome(kind, { mark, ...limits });
    if (outcome !== 'overloaded') {
      return outcome;
    }
  }
}

/** Collects events and lets a test wait for the next of a type. */
function createEventLog() {
  const waiters: { type: PoolEvent['type']; resolve: () => void }[] = [];
  return {
    onEvent(event: PoolEvent): void {
      for (const waiter of waiters) {
        if (waiter.type === event.type) {
          waiter.resolve();
        }
      }
    },
    next(type: PoolEvent['type']): Promise<void> {
      return new Promise((resolve) => waiters.push({ type, resolve }));
    },
  };
}

describe('a fault', () => {
  test.each(FAULTS)('$name costs its own job, and the thread is replaced', async (fault) => {
    const rig = createRig(NO_CPU_TIMES);
    expect(await inject(rig, fault)).toBe(fault.code);
    expect(await rig.outcome(FIXTURE.echo)).toBe('ok');
    expect(rig.pool.stats()).toMatchObject({ restarts: fault.crashes ? 1 : 0, threadsAlive: 1 });
    await rig.pool.drain();
  });

  test('in the middle of a frame spares the neighbours before and behind it', async () => {
    const rig = createRig();
    await rig.pool.ready();
    const before = [1, 2, 3].map((mark) => rig.outcome(FIXTURE.logs, { mark }));
    const poison = rig.outcome(FIXTURE.exits);
    const behind = [4, 5, 6].map((mark) => rig.outcome(FIXTURE.logs, { mark }));
    expect(await Promise.all([...before, poison, ...behind])).toEqual([
      'ok',
      'ok',
      'ok',
      'internal',
      'ok',
      'ok',
      'ok',
    ]);
    expect(rig.events).toContainEqual({ type: 'thread_down', cause: 'exit', lost: 1, requeued: 6 });
    await rig.pool.drain();
  });

  test('is never run again', async () => {
    const rig = createRig({ threads: 2, ...NO_CPU_TIMES });
    await rig.pool.ready();
    expect(await inject(rig, FAULTS[6])).toBe('internal');
    expect(await rig.outcome(FIXTURE.echo)).toBe('ok');
    await rig.pool.drain();
    expect(Atomics.load(rig.words, WORD.started)).toBe(1);
  });

  test('of a hot job lets the cold jobs of its thread run again, and frees their places', async () => {
    const rig = createRig({ coldConcurrency: 1 });
    const cold = [1, 2].map((mark) => rig.outcome(FIXTURE.holds, { lane: 'cold', mark }));
    await wordReaches(rig.words, WORD.held, 1);
    expect(await rig.outcome(FIXTURE.exits)).toBe('internal');
    await wordReaches(rig.words, WORD.held, 2);
    expect(rig.pool.stats()).toMatchObject({ coldRunning: 1, queued: { cold: 1 } });
    rig.openGate();
    expect(await Promise.all(cold)).toEqual(['ok', 'ok']);
    await rig.pool.drain();
  });

  test('injected 24 times fails no other job', async () => {
    const rig = createRig({ threads: 2, ...NO_CPU_TIMES });
    await rig.pool.ready();
    let running = true;
    const tally = new Map<string, number>();
    const traffic = Array.from({ length: 8 }, async () => {
      while (running) {
        const outcome = await rig.outcome(FIXTURE.echo);
        tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
      }
    });
    for (let round = 0; round < 24; round += 1) {
      const fault = ISOLATED_FAULTS[round % ISOLATED_FAULTS.length] ?? FAULTS[0];
      expect(await inject(rig, fault)).toBe(fault.code);
    }
    running = false;
    await Promise.all(traffic);
    expect([...tally.keys()]).toEqual(['ok']);
    expect(tally.get('ok')).toBeGreaterThan(24);
    await rig.pool.drain();
  }, 60_000);
});

describe('replacement', () => {
  test('slows down while threads die before they have answered anything', async () => {
    const log = createEventLog();
    const rig = createRig({ onEvent: log.onEvent });
    await rig.pool.ready();
    const pauses: number[] = [];
    for (let round = 0; round < 2; round += 1) {
      const ready = log.next('thread_ready');
      expect(await rig.outcome(FIXTURE.exits)).toBe('internal');
      const start = performance.now();
      await ready;
      pauses.push(performance.now() - start);
    }
    expect(pauses[1]).toBeGreaterThanOrEqual(95);
    await rig.pool.drain();
  });

  test('is at once for the first loss, and waits for two seconds at most', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 7, 1_000].map(pauseMs)).toEqual([
      0, 0, 100, 200, 400, 800, 1_600, 2_000, 2_000,
    ]);
  });

  test('takes the place of a thread that hangs while it loads, and a drain does not wait for it', async () => {
    const entry = new URL('./fixtures/hanging-thread.ts', import.meta.url);
    const rig = createRig({ entry, loadMsMax: 1_000 });
    await expect(rig.pool.ready()).rejects.toMatchObject({ code: 'internal' });
    expect(rig.events).toEqual([{ type: 'thread_down', cause: 'hung', lost: 0, requeued: 0 }]);
    expect(await rig.outcome(FIXTURE.echo)).toBe('ok');
    await rig.pool.drain();
    const drained = createRig({ entry, loadMsMax: 1_000 });
    await drained.pool.drain();
    expect(drained.pool.stats().threadsAlive).toBe(0);
  });

  test('ready rejects and jobs are refused in time when the entry cannot be loaded', async () => {
    const rig = createRig({ entry: new URL('./fixtures/missing.ts', import.meta.url) });
    await expect(rig.pool.ready()).rejects.toMatchObject({ code: 'internal' });
    expect(await rig.outcome(FIXTURE.echo, { deadlineMs: 30 })).toBe('overloaded');
    await rig.pool.drain();
  });
});
