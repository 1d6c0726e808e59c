/** Pages of many jobs, those that go on among those that have ended. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type Redis from 'ioredis';
import type { JobPosition, JobState } from '../../server/job/store/jobs.ts';
import { JobStore } from '../../server/job/store/jobs.ts';
import type { RedisLink } from '../../server/redis/client.ts';
import { openRedis } from '../../server/redis/open.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { linkWith, openRaw, type TestRedis, takeTestRedis } from '../helpers/redis.ts';

const JOBS = 20_000;
const STEP = 256;

let redis: TestRedis;
let link: RedisLink;
let raw: Redis;
let store: JobStore;
let commands = 0;

beforeAll(async () => {
  redis = await takeTestRedis();
  raw = openRaw(redis);
  link = await openRedis(redis.target, { replicas: 0 });
  const counting = linkWith(link, {
    command: (name, args) => {
      commands += 1;
      return link.command(name, args);
    },
  });
  store = new JobStore(counting);
});
afterAll(async () => {
  raw.disconnect();
  await link.close();
  await redis.stop();
});

/** Makes jobs of an account, each third of them still open; ten have the same time. */
async function fill(aid: string, from: number, to: number): Promise<void> {
  let pipeline = raw.pipeline();
  for (let n = from; n < to; n++) {
    const [id, at] = [`x${String(n).padStart(21, '0')}`, Math.floor(n / 10)];
    const isOpen = n % 3 === 0;
    const key = isOpen ? redisKeys.job(aid, id) : redisKeys.endedJob(aid, id);
    pipeline.hset(key, {
      p: 'tell',
      w: 'post',
      n: '1',
      f: '',
      i: 'kid',
      c: String(at),
      ...(isOpen ? {} : { z: '7' }),
    });
    pipeline.zadd(isOpen ? redisKeys.jobDirectory(aid) : redisKeys.endedJobDirectory(aid), at, id);
    if (n % 1_000 === 999) {
      await pipeline.exec();
      pipeline = raw.pipeline();
    }
  }
  await pipeline.exec();
}

async function all(aid: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let from: JobPosition | undefined;
  for (;;) {
    const page = await store.page(aid, from, Number.MAX_SAFE_INTEGER, STEP);
    ids.push(...page.map(({ id }) => id));
    from = page.at(-1);
    if (page.length < STEP) {
      return ids;
    }
  }
}

describe('the pages of jobs', () => {
  test('have each job once, newest first, and cost the same among many as among few', async () => {
    await fill('few', 0, 600);
    await fill('many', 0, JOBS);
    const costOf = async (aid: string, from?: JobPosition): Promise<number> => {
      const before = commands;
      expect(await store.page(aid, from, Number.MAX_SAFE_INTEGER, STEP)).toHaveLength(STEP);
      return commands - before;
    };
    const few = await costOf('few');
    const middle = { createdMs: JOBS / 20, id: 'x' };
    expect(await costOf('many')).toBe(few);
    // One that shares its time with the place looks a little further.
    expect(await costOf('many', middle)).toBeLessThanOrEqual(few + 2);
    expect(few).toBeLessThanOrEqual(STEP + 4);
    const ids = await all('many');
    expect(ids).toHaveLength(JOBS);
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
  });

  test('begin before a time, and are cut by a time that jobs share', async () => {
    const [first] = await store.page('few', undefined, 30, 1);
    expect(first).toMatchObject({ createdMs: 29, id: `x${String(299).padStart(21, '0')}` });
    const page = await store.page('few', { createdMs: 29, id: `x${String(295).padStart(21, '0')}` }, 30, 7);
    expect(page.map(({ id }) => Number(id.slice(1)))).toEqual([294, 293, 292, 291, 290, 289, 288]);
  });

  test('show what a writer to Redis has put there as far as it is what a server writes', async () => {
    const id = `x${String(599).padStart(21, '0')}`;
    await raw.hset(redisKeys.endedJob('few', id), {
      ...{ w: 'theft', n: '-1', v: 'rich', z: 'never', x: '1e400', u: '0' },
      h: '1,2,200,;x;9999999999999999,1,,;;1,2,,no such\ncode;3,4,,target_timeout;',
      r: 'record',
    });
    const [state] = await store.page('few', undefined, Number.MAX_SAFE_INTEGER, 1);
    expect(state).toMatchObject({
      id,
      kind: undefined,
      outcome: undefined,
      endedMs: undefined,
      nextMs: undefined,
    });
    const [details] = await store.details('few', state === undefined ? [] : [state]);
    expect(details?.sent).toEqual([
      { atMs: 1, ms: 2, status: 200, code: undefined },
      { atMs: 3, ms: 4, status: undefined, code: 'target_timeout' },
    ]);
  });
});

describe('a job that moves while it is read', () => {
  const REPORT = Buffer.from('report');
  const ENTRY = { ms: 3, status: 200 };
  let aid = '';
  let accounts = 0;
  beforeEach(() => {
    accounts += 1;
    aid = `moving-${accounts}`;
  });
  const make = (kind: 'capture' | 'post', at = 5) => {
    const phase = kind === 'capture' ? 'tell' : 'send';
    const record = Buffer.from('request');
    return store.create(aid, { id: 'job', record, again: false, kid: 'kid', phase, kind }, at);
  };
  const found = async (): Promise<JobState> => {
    const state = await store.find(aid, 'job');
    if (state === undefined) {
      throw new Error('there is no job');
    }
    return state;
  };

  test('a delivered capture that is redelivered cannot be cancelled', async () => {
    await make('capture');
    await store.startAttempt(aid, 'job', { phase: 'tell', attempts: 0, flight: '' }, 'n1', { nowMs: 7 });
    await store.finish(aid, 'job', 'n1', { nowMs: 9, isDelivered: true, entry: ENTRY });
    expect((await store.repeat(aid, await found(), 10)).kind).toBe('ok');
    expect(await store.cancel(aid, 'job', REPORT, 11)).toBe('started');
  });
  test('a report that another request has delivered again since it was read is not repeated', async () => {
    await make('capture');
    const deliver = async (flight: string, nowMs: number): Promise<void> => {
      const { attempts } = await found();
      await store.startAttempt(aid, 'job', { phase: 'tell', attempts, flight: '' }, flight, { nowMs });
      await store.finish(aid, 'job', flight, { nowMs: nowMs + 2, isDelivered: true, entry: ENTRY });
    };
    await deliver('n1', 7);
    const state = await found();
    expect((await store.repeat(aid, state, 10)).kind).toBe('ok');
    expect((await store.repeat(aid, state, 10)).kind).toBe('gone');
    await deliver('n2', 20);
    expect((await found()).hasEnded).toBe(true);
    expect((await store.repeat(aid, state, 30)).kind).toBe('gone');
    expect((await store.repeat(aid, { id: 'job', endedMs: undefined }, 30)).kind).toBe('ok');
  });
  test('a job of an earlier version has its creation time when it is read alone', async () => {
    await make('post', 1_900_000_000_000);
    await raw.hdel(redisKeys.job(aid, 'job'), 'w', 'c');
    expect((await store.find(aid, 'job'))?.createdMs).toBe(1_900_000_000_000);
  });
  test('state and record belong together when the report starts in between', async () => {
    await make('post');
    await store.startAttempt(aid, 'job', { phase: 'send', attempts: 0, flight: '' }, 'n1', { nowMs: 7 });
    const state = await found();
    await store.startReport(aid, 'job', 'n1', { record: REPORT, outcome: 'done', entry: ENTRY });
    const [detail] = await store.details(aid, [state]);
    expect([detail?.phase as string, String(detail?.record)]).toEqual(['tell', 'report']);
  });
  test('a job that ends between state and details is still shown', async () => {
    await make('capture');
    const state = await found();
    await store.startAttempt(aid, 'job', { phase: 'tell', attempts: 0, flight: '' }, 'n1', { nowMs: 7 });
    await store.finish(aid, 'job', 'n1', { nowMs: 9, isDelivered: true, entry: ENTRY });
    expect((await store.details(aid, [state]))[0]).toBeDefined();
  });
  test('a job that ends while a page is read is on it once', async () => {
    await make('capture');
    // As a reader sees it whose two directories were read before and after the move.
    await raw.zadd(redisKeys.endedJobDirectory(aid), 5, 'job');
    expect((await store.page(aid, undefined, 1e15, 10)).map(({ id }) => id)).toEqual(['job']);
  });
});
