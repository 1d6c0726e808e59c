import { beforeAll, describe, expect, test } from 'bun:test';
import { IdempotencyStore } from '../../server/request/idempotency-store.ts';
import { useRedis } from '../redis/redis.ts';

const PRINT = Buffer.from('fingerprint');
const SENT = Buffer.from('fingerprint of what was sent');
const LOST = { code: 'idempotency_conflict' };

const redis = useRedis();
let store: IdempotencyStore;
beforeAll(() => {
  store = new IdempotencyStore(redis.link);
});

function claim() {
  return store.claim('d', PRINT, 'seed', 'aid');
}
/** What a repeat is told after the request gave up its place. */
async function claimAgain() {
  await store.yield('d', 'seed');
  return claim();
}

test('a claim ends by whoever has it, and by nobody else', async () => {
  await claim();
  await store.release('d', 'other');
  expect((await claim()).kind).toBe('busy');
  await store.release('d', 'seed');
  expect((await claim()).kind).toBe('mine');
});

describe('the mark of what may have been sent', () => {
  test('is told to whoever takes over', async () => {
    expect(await claim()).toEqual({ kind: 'mine', seed: 'seed', sent: undefined });
    expect(await claimAgain()).toMatchObject({ sent: undefined });
    await store.mark('d', 'seed', SENT);
    expect(await claimAgain()).toEqual({ kind: 'mine', seed: 'seed', sent: SENT });
    expect(await claimAgain()).toMatchObject({ sent: SENT });
  });

  test('is taken back where nothing was sent', async () => {
    await claim();
    await store.mark('d', 'seed', SENT);
    await store.unmark('d', 'seed');
    expect(await claimAgain()).toMatchObject({ sent: undefined });
    await store.mark('d', 'seed', SENT);
  });

  test('is set by one of many', async () => {
    await claim();
    const all = Array.from({ length: 20 }, () => store.mark('d', 'seed', SENT));
    const marks = await Promise.allSettled(all);
    expect(marks.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('ends with the record when that is released', async () => {
    await claim();
    await store.mark('d', 'seed', SENT);
    await store.release('d', 'seed');
    expect(await claim()).toMatchObject({ sent: undefined });
  });

  test('cannot be set where the claim is lost: never made, ended, of another or answered', async () => {
    await expect(store.mark('d', 'seed', SENT)).rejects.toMatchObject(LOST);
    await claim();
    await expect(store.mark('d', 'other', SENT)).rejects.toMatchObject(LOST);
    await store.release('d', 'seed');
    await expect(store.mark('d', 'seed', SENT)).rejects.toMatchObject(LOST);
    await claim();
    await store.keep('d', 'seed', Buffer.from('reply'));
    await expect(store.mark('d', 'seed', SENT)).rejects.toMatchObject(LOST);
  });

  test('is not taken back by somebody else, nor once there is a reply', async () => {
    await claim();
    await store.mark('d', 'seed', SENT);
    await store.unmark('d', 'other');
    expect(await claimAgain()).toMatchObject({ sent: SENT });
    await store.keep('d', 'seed', Buffer.from('reply'));
    await store.unmark('d', 'seed');
    expect(await redis.raw.hgetBuffer('{d:d}', 'o')).toEqual(SENT);
    expect(await claim()).toEqual({ kind: 'done', reply: Buffer.from('reply'), seed: 'seed' });
  });

  test('leaves nothing behind that a claim did not make', async () => {
    await store.unmark('d', 'seed');
    await store.mark('d', 'seed', SENT).catch(() => undefined);
    expect(await redis.raw.exists('{d:d}')).toBe(0);
  });
});
