import { beforeAll, describe, expect, test } from 'bun:test';
import { JOBS_MAX, JobStore } from '../../server/job/store/jobs.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { useRedis } from '../redis/redis.ts';

const RECORD = Buffer.from('sealed request');
const REPORT = Buffer.from([0, 255, 10, 13]);
const FRESH = {
  phase: 'send',
  attempts: 0,
  flight: '',
  sent: false,
  last: undefined,
  kid: 'kid',
  nextMs: undefined,
  outcome: undefined,
  subscription: undefined,
} as const;
const ENDED = { entry: undefined, nextMs: 0 } as const;
const BILL = { month: '2031-05', operation: 'proxy_attempt' } as const;

const redis = useRedis();
let store: JobStore;
beforeAll(() => {
  store = new JobStore(redis.link);
});

/** A job that may be created by one request alone. */
function jobOf(id = 'job') {
  return { id, record: RECORD, again: false, kid: 'kid', phase: 'send', kind: 'post' } as const;
}
async function create(id = 'job', at = 5): Promise<string> {
  return (await store.create('aid', jobOf(id), at)).kind;
}
/** Ends an attempt of the job with a report. */
function report(nonce: string, record = REPORT, id = 'job'): Promise<boolean> {
  return store.startReport('aid', id, nonce, { record, outcome: 'done', entry: undefined });
}
/** Ends an attempt of the job without one, before anything was sent. */
function end(nonce: string, id = 'job'): Promise<boolean> {
  return store.endAttempt('aid', id, nonce, { sent: false, ...ENDED });
}
function begin(seen: Parameters<JobStore['startAttempt']>[2], nonce: string, bill?: typeof BILL) {
  return store.startAttempt('aid', 'job', seen, nonce, { nowMs: 7 }, bill);
}
function read() {
  return store.read('aid', 'job');
}
function billed() {
  return redis.raw.hgetall(redisKeys.usage('aid', BILL.month));
}
async function ids(): Promise<string[]> {
  return (await Array.fromAsync(store.list('aid'))).flat();
}
async function fill(scores: readonly number[], from = 0): Promise<string[]> {
  const names = scores.map((_, i) => `x${String(from + i).padStart(6, '0')}`);
  for (let i = 0; i < names.length; i += 10_000) {
    const part = names.slice(i, i + 10_000).flatMap((name, j) => [String(scores[i + j]), name]);
    await redis.raw.zadd(redisKeys.jobDirectory('aid'), ...part);
  }
  return names;
}

describe('a job', () => {
  test('is created once and reads back as it was', async () => {
    expect(await read()).toBeUndefined();
    expect(await create()).toBe('ok');
    expect(await read()).toEqual({ ...FRESH, record: RECORD });
    expect(await store.create('aid', { ...jobOf(), record: REPORT }, 9)).toMatchObject({
      kind: 'exists',
    });
    expect(await read()).toEqual({ ...FRESH, record: RECORD });
    expect(await ids()).toEqual(['job']);
    expect(await store.read('other', 'job')).toBeUndefined();
    expect(await redis.raw.ttl(redisKeys.job('aid', 'job'))).toBe(-1);
  });

  test('that may be created again keeps its id for a day after its end', async () => {
    const again = { ...jobOf(), again: true };
    expect(await store.create('aid', again, 5)).toMatchObject({ kind: 'ok' });
    expect(await store.create('aid', again, 5)).toMatchObject({ kind: 'exists' });
    expect(await redis.raw.ttl(redisKeys.job('aid', 'job'))).toBe(-1);
    expect(await store.remove('aid', 'job', '')).toBe(true);
    expect([await read(), await ids()]).toEqual([undefined, []]);
    expect(await store.create('aid', again, 6)).toMatchObject({ kind: 'exists' });
    expect([await begin(FRESH, 'n'), await report('')]).toEqual([false, false]);
    expect(await store.remove('aid', 'job', '')).toBe(false);
    const ttl = await redis.raw.ttl(redisKeys.job('aid', 'job'));
    expect(ttl).toBeWithin(86_000, 86_401);
  });

  test('tells what its attempts have come to: the last reply, until something is sent behind it', async () => {
    await create();
    const over = async (nonce: string, how: Parameters<JobStore['endAttempt']>[3]) => {
      const stored = await read();
      await begin(stored ?? FRESH, nonce);
      expect(await store.endAttempt('aid', 'job', nonce, how)).toBe(true);
      const { sent, last } = (await read()) ?? FRESH;
      return [sent, last?.toString()];
    };
    expect(await over('a', { sent: false, ...ENDED })).toEqual([false, undefined]);
    expect(await over('b', { sent: true, report: Buffer.from('503'), ...ENDED })).toEqual([true, '503']);
    expect(await over('c', { sent: false, ...ENDED })).toEqual([true, '503']);
    expect(await over('d', { sent: true, ...ENDED })).toEqual([true, undefined]);
    expect(await over('e', { sent: true, report: Buffer.from('500'), ...ENDED })).toEqual([true, '500']);
    expect(await report('')).toBe(true);
    expect(await read()).toEqual({ ...FRESH, phase: 'tell', record: REPORT, outcome: 'done' });
  });

  test('may begin the same attempt again, when the reply to the first call was lost', async () => {
    await create();
    expect([await begin(FRESH, 'one', BILL), await begin(FRESH, 'one', BILL)]).toEqual([true, true]);
    expect(await read()).toMatchObject({ attempts: 1, flight: 'one' });
    expect(await billed()).toEqual({ proxy_attempt: '1' });
  });

  test('finds no place where the account has the most that it may have', async () => {
    await fill(Array.from({ length: JOBS_MAX - 1 }, (_, i) => i));
    expect(await create('last')).toBe('ok');
    expect(await create('one more')).toBe('full');
    expect(await create('last')).toBe('exists');
    expect(await store.read('aid', 'one more')).toBeUndefined();
    expect(await store.create('other', jobOf(), 5)).toMatchObject({
      kind: 'ok',
    });
    expect(await store.remove('aid', 'last', '')).toBe(true);
    expect(await create('one more')).toBe('ok');
  });

  test.each([
    ['another phase', { p: 'gone' }],
    ['no number of attempts', { n: 'many' }],
    ['less than no attempts', { n: '-1' }],
  ])('with %s was tampered with', async (_name, fields) => {
    await create();
    await redis.raw.hset(redisKeys.job('aid', 'job'), fields);
    await expect(read()).rejects.toMatchObject({ code: 'integrity_failed' });
  });

  test('that lacks a part was tampered with', async () => {
    await create();
    await redis.raw.hdel(redisKeys.job('aid', 'job'), 'r');
    await expect(read()).rejects.toMatchObject({ code: 'integrity_failed' });
  });
});

describe('an attempt', () => {
  test('is noted, counted and billed in one', async () => {
    await create();
    expect(await begin(FRESH, 'one', BILL)).toBe(true);
    expect(await read()).toMatchObject({ phase: 'send', attempts: 1, flight: 'one' });
    expect(await billed()).toEqual({ proxy_attempt: '1' });
    expect(await end('one')).toBe(true);
    expect(await begin({ phase: 'send', attempts: 1, flight: '' }, 'two', BILL)).toBe(true);
    expect(await read()).toMatchObject({ attempts: 2, flight: 'two' });
    expect(await billed()).toEqual({ proxy_attempt: '2' });
  });

  test('that is not billed leaves the usage alone', async () => {
    await create();
    expect(await begin(FRESH, 'one')).toBe(true);
    expect(await billed()).toEqual({});
  });

  test('is begun by one of many that saw the same, and billed once', async () => {
    await create();
    const nonces = Array.from({ length: 40 }, (_, i) => `n${i}`);
    const won = await Promise.all(nonces.map((nonce) => begin(FRESH, nonce, BILL)));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await read()).toMatchObject({ attempts: 1, flight: nonces[won.indexOf(true)] });
    expect(await billed()).toEqual({ proxy_attempt: '1' });
  });

  test.each([
    ['phase', { ...FRESH, phase: 'tell' }],
    ['number of attempts', { ...FRESH, attempts: 1 }],
    ['flight', { ...FRESH, flight: 'one' }],
  ] as const)('is not begun on another %s than the job has', async (_name, seen) => {
    await create();
    expect(await begin(seen, 'two', BILL)).toBe(false);
    expect(await read()).toMatchObject(FRESH);
    expect(await billed()).toEqual({});
  });

  test('is not begun where there is no job, which it does not bring back', async () => {
    expect(await begin(FRESH, 'one', BILL)).toBe(false);
    expect(await redis.raw.keys('*')).toEqual([]);
  });

  test('is taken over by one alone, and the one before then ends nothing', async () => {
    await create();
    await begin(FRESH, 'dead');
    const seen = { phase: 'send', attempts: 1, flight: 'dead' } as const;
    const won = await Promise.all(['a', 'b', 'c'].map((nonce) => begin(seen, nonce)));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await end('dead')).toBe(false);
    expect(await report('dead')).toBe(false);
    expect(await store.remove('aid', 'job', 'dead')).toBe(false);
    expect(await read()).toMatchObject({
      attempts: 2,
      record: RECORD,
      flight: expect.stringMatching(/^[abc]$/),
    });
  });

  test('ends once', async () => {
    await create();
    await begin(FRESH, 'one');
    expect(await end('other')).toBe(false);
    expect(await end('one')).toBe(true);
    expect(await end('one')).toBe(false);
    expect(await end('one', 'none')).toBe(false);
    expect(await read()).toMatchObject({ attempts: 1, flight: '' });
  });
});

describe('a report', () => {
  test('takes the place of the request, and is told from the first attempt on', async () => {
    await create();
    await begin(FRESH, 'one');
    expect(await report('one')).toBe(true);
    expect(await read()).toEqual({ ...FRESH, phase: 'tell', record: REPORT, outcome: 'done' });
    expect(await begin({ phase: 'tell', attempts: 0, flight: '' }, 'two')).toBe(true);
    expect(await read()).toMatchObject({ phase: 'tell', attempts: 1, flight: 'two' });
  });

  test('comes once, and not in the place of another attempt', async () => {
    await create();
    expect(await report('one')).toBe(false);
    expect(await report('', REPORT, 'none')).toBe(false);
    const told = ['first', 'second'].map((text) => report('', Buffer.from(text)));
    expect((await Promise.all(told)).filter(Boolean)).toHaveLength(1);
    expect(await report('')).toBe(false);
    expect(await redis.raw.keys('*none*')).toEqual([]);
  });

  test('loses against an attempt that was begun meanwhile', async () => {
    await create();
    const [begun, told] = await Promise.all([begin(FRESH, 'one'), report('')]);
    expect([begun, told]).toEqual([true, false]);
  });
});

describe('jobs', () => {
  test('are removed with their entry, by whoever knows how they stand', async () => {
    await create();
    await begin(FRESH, 'one');
    expect(await store.remove('aid', 'job', '')).toBe(false);
    expect(await store.remove('aid', 'job', 'one')).toBe(true);
    expect(await store.remove('aid', 'job', 'one')).toBe(false);
    expect(await redis.raw.keys('*')).toEqual([]);
    expect(await create()).toBe('ok');
  });

  test('are listed oldest first', async () => {
    await create('c', 3);
    await create('a', 2);
    await create('b', 1);
    expect(await ids()).toEqual(['b', 'a', 'c']);
    expect(await Array.fromAsync(store.list('other'))).toEqual([]);
  });

  test('are all listed once, however many came in one moment', async () => {
    const names = [
      ...(await fill(Array.from({ length: 1_500 }, () => 1_900_000_000_000))),
      ...(await fill(
        Array.from({ length: 2_600 }, () => 1_900_000_000_001),
        1_500,
      )),
      ...(await fill(
        Array.from({ length: 1_200 }, (_, i) => 1_900_000_000_002 + i),
        4_100,
      )),
    ];
    expect(await ids()).toEqual(names);
  });

  test('that stay are listed while others go', async () => {
    const names = await fill(Array.from({ length: 3_000 }, (_, i) => i));
    const seen: string[] = [];
    for await (const chunk of store.list('aid')) {
      seen.push(...chunk);
      await redis.raw.zrem(redisKeys.jobDirectory('aid'), ...chunk);
    }
    expect(seen).toEqual(names);
  });

  test('of an account all go at once, those of another stay', async () => {
    for (let i = 0; i < 1_100; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => create(`job${i + j}`, i)));
    }
    await store.create('other', jobOf(), 5);
    await store.removeAll('aid');
    expect((await redis.raw.keys('*')).sort()).toEqual(['{a:other}j', '{a:other}j:job']);
    await store.removeAll('aid');
  });
});
