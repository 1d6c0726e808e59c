import { afterEach, describe, expect, test } from 'bun:test';
import { text } from '../../workers/jobs/codec.ts';
import { FIELDS, FIXTURE, WORD, wordReaches } from './fixtures/kinds.ts';
import { createRig, type Rig } from './fixtures/rig.ts';

const rigs: Rig[] = [];
function rigOf(...options: Parameters<typeof createRig>): Rig {
  const rig = createRig(...options);
  rigs.push(rig);
  return rig;
}
afterEach(async () => {
  for (const rig of rigs.splice(0)) {
    rig.openGate();
    await rig.pool.drain();
  }
});

describe('a job', () => {
  test('comes back with its own fields among many others', async () => {
    const { run } = rigOf({ threads: 2 });
    const sent = Array.from({ length: 500 }, (_, index) => [
      Buffer.from(`job ${index}`),
      new Uint8Array(index),
    ]);
    const got = await Promise.all(sent.map((fields) => run(FIXTURE.echo, fields)));
    expect(got).toEqual(sent.map((fields) => fields.map((field) => new Uint8Array(field))));
  });

  test.each([
    ['throws', FIXTURE.throws, 'token_not_found'],
    ['rejects', FIXTURE.rejects, 'token_not_found'],
    ['returns what its codec does not write', FIXTURE.misbehaves, 'internal'],
    ['has no handler', 250, 'internal'],
  ])('that %s fails alone and keeps the thread', async (_name, kind, code) => {
    const { pool, outcome } = rigOf();
    expect(await Promise.all([outcome(FIXTURE.echo), outcome(kind), outcome(FIXTURE.echo)])).toEqual([
      'ok',
      code,
      'ok',
    ]);
    expect(pool.stats().restarts).toBe(0);
  });

  test.each([FIXTURE.echo, FIXTURE.throws, FIXTURE.misbehaves, 250])(
    'of kind %d ends with its frame, whatever became of it',
    async (kind) => {
      const { words, outcome } = rigOf();
      await Promise.all([outcome(kind), outcome(FIXTURE.echo), outcome(kind)]);
      const frames = Atomics.load(words, WORD.frames);
      expect(frames).toBeGreaterThan(0);
      await outcome(kind);
      expect(Atomics.load(words, WORD.frames)).toBe(frames + 1);
    },
  );

  test('whose input cannot be written rejects without its neighbours', async () => {
    const { pool, run, outcome } = rigOf();
    const bad = run(FIXTURE.echo, [new Uint8Array(8), undefined as never]);
    const outcomes = await Promise.allSettled([bad, outcome(FIXTURE.echo)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(pool.stats()).toMatchObject({ running: 0, restarts: 0 });
  });

  test('whose result its codec does not read rejects without its neighbours', async () => {
    const { pool, outcome } = rigOf();
    const job = { kind: FIXTURE.echo, input: FIELDS, output: text };
    const bad = pool.run({ job, input: [new Uint8Array(8)], lane: 'hot', deadlineMs: 10_000 });
    const outcomes = await Promise.allSettled([bad, outcome(FIXTURE.echo)]);
    expect(outcomes).toMatchObject([{ status: 'rejected', reason: { code: 'internal' } }, { value: 'ok' }]);
    expect(pool.stats()).toMatchObject({ running: 0, restarts: 0 });
  });

  test('leaves nothing in the frame that its thread received', async () => {
    const { run } = rigOf();
    await run(FIXTURE.keeps, [Buffer.from('passphrase')]);
    expect((await run(FIXTURE.recalls, []))[0]).toEqual(new Uint8Array('passphrase'.length));
  });
});

describe('lanes', () => {
  test('hot jobs overtake queued bulk jobs', async () => {
    const rig = rigOf();
    const blocked = rig.outcome(FIXTURE.blocks);
    await wordReaches(rig.words, WORD.blocked, 1);
    const bulk = [1, 2, 3].map((mark) => rig.outcome(FIXTURE.logs, { lane: 'bulk', mark }));
    const hot = [11, 12, 13].map((mark) => rig.outcome(FIXTURE.logs, { mark }));
    expect(rig.pool.stats().queued).toEqual({ hot: 3, bulk: 3, cold: 0, guess: 0 });
    rig.openGate();
    await Promise.all([blocked, ...bulk, ...hot]);
    expect(rig.log()).toEqual([11, 12, 13, 1, 2, 3]);
  });

  test('bulk jobs leave one thread to the hot ones', async () => {
    const rig = rigOf({ threads: 2 });
    await rig.pool.ready();
    const bulk = [1, 2].map(() => rig.outcome(FIXTURE.blocks, { lane: 'bulk' }));
    await wordReaches(rig.words, WORD.blocked, 1);
    expect(await rig.outcome(FIXTURE.echo)).toBe('ok');
    expect(rig.pool.stats()).toMatchObject({ queued: { bulk: 1 }, running: 1 });
    rig.openGate();
    expect(await Promise.all(bulk)).toEqual(['ok', 'ok']);
  });

  test('a full queue refuses its own lane only', async () => {
    const rig = rigOf({ queueMax: 2 });
    const blocked = rig.outcome(FIXTURE.blocks);
    await wordReaches(rig.words, WORD.blocked, 1);
    const bulk = [1, 2, 3].map(() => rig.outcome(FIXTURE.echo, { lane: 'bulk' }));
    expect(await bulk[2]).toBe('overloaded');
    const hot = [1, 2, 3].map(() => rig.outcome(FIXTURE.echo));
    expect(await hot[2]).toBe('overloaded');
    rig.openGate();
    expect(await Promise.all([blocked, ...bulk, ...hot])).toEqual([
      'ok',
      'ok',
      'ok',
      'overloaded',
      'ok',
      'ok',
      'overloaded',
    ]);
  });

  test('a job that waits past its deadline is refused without touching a thread', async () => {
    const rig = rigOf();
    const blocked = rig.outcome(FIXTURE.blocks);
    await wordReaches(rig.words, WORD.blocked, 1);
    expect(await rig.outcome(FIXTURE.logs, { deadlineMs: 20 })).toBe('overloaded');
    rig.openGate();
    expect(await blocked).toBe('ok');
    expect(rig.log()).toEqual([]);
    expect(rig.pool.stats().restarts).toBe(0);
  });
});

describe('the cold lane', () => {
  test('keeps its thread free for hot jobs', async () => {
    const rig = rigOf();
    const cold = rig.outcome(FIXTURE.holds, { lane: 'cold' });
    await wordReaches(rig.words, WORD.held, 1);
    expect(await rig.outcome(FIXTURE.echo)).toBe('ok');
    rig.openGate();
    expect(await cold).toBe('ok');
  });

  test('runs at most coldConcurrency at once over all threads', async () => {
    const rig = rigOf({ threads: 2, coldConcurrency: 3 });
    await rig.pool.ready();
    const cold = Array.from({ length: 12 }, () => rig.outcome(FIXTURE.holds, { lane: 'cold' }));
    await wordReaches(rig.words, WORD.held, 3);
    expect(rig.pool.stats()).toMatchObject({ coldRunning: 3, running: 3, queued: { cold: 9 } });
    rig.openGate();
    expect(await Promise.all(cold)).toEqual(Array<string>(12).fill('ok'));
    expect(Atomics.load(rig.words, WORD.peak)).toBe(3);
  });

  test('a deadline gives up the job, and only several the thread', async () => {
    const down = Promise.withResolvers<void>();
    const rig = rigOf({ onEvent: (event) => event.type === 'thread_down' && down.resolve() });
    await rig.pool.ready();
    expect(await rig.outcome(FIXTURE.holds, { lane: 'cold', deadlineMs: 40 })).toBe('overloaded');
    expect(rig.pool.stats()).toMatchObject({ restarts: 0, coldRunning: 1 });
    await down.promise;
    expect(rig.pool.stats()).toMatchObject({ restarts: 1, coldRunning: 0 });
    expect(await rig.outcome(FIXTURE.echo)).toBe('ok');
  });
});

describe('drain', () => {
  test('finishes what was accepted and refuses what comes after', async () => {
    const rig = rigOf({ threads: 2 });
    const jobs = [
      rig.outcome(FIXTURE.holds, { lane: 'cold' }),
      ...Array.from({ length: 50 }, () => rig.outcome(FIXTURE.echo)),
      ...Array.from({ length: 5 }, () => rig.outcome(FIXTURE.echo, { lane: 'bulk' })),
    ];
    await wordReaches(rig.words, WORD.held, 1);
    const drained = rig.pool.drain();
    expect(await rig.outcome(FIXTURE.echo)).toBe('overloaded');
    rig.openGate();
    await drained;
    expect(await Promise.all(jobs)).toEqual(Array<string>(56).fill('ok'));
    expect(rig.pool.stats()).toMatchObject({ running: 0, threadsAlive: 0 });
  });

  test('may follow the start at once, 12 times in a row', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { pool, outcome } = createRig({ threads: 2 });
      const job = round % 3 === 0 ? undefined : outcome(FIXTURE.echo);
      if (round % 3 === 2) {
        await pool.ready();
      }
      await pool.drain();
      expect(await (job ?? 'ok')).toBe('ok');
      expect(pool.stats().threadsAlive).toBe(0);
    }
  });
});
