/** Lifetimes, metadata and the logs of expired items through backup, restore and verification. */
import { afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { withoutPauses } from '../helpers/quick-timers.ts';
import { linkWith } from '../helpers/redis.ts';
import type { TestVault } from '../helpers/vault.ts';
import { type Copy, copyOf, putBack } from './copies.ts';
import { masterKeyOf, useRestores } from './restores.ts';

setDefaultTimeout(60_000);

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const RETENTION_MS = 10 * DAY_MS;

const { backup, open, restored } = useRestores();
let vault: TestVault;
let account: AccountClient;
/** The clock of all servers, ms since 1970; the system's while it is 0. That of Redis is always the system's. */
let clock = 0;

beforeAll(async () => {
  const now = () => clock || Date.now();
  vault = await open({ now, masterKey: masterKeyOf(), auditRetentionMs: RETENTION_MS, alone: true });
  account = await vault.account();
  await account.key('u');
});
afterEach(() => {
  clock = 0;
});

let numbers = 0;
interface Stored {
  readonly token: string;
  readonly number: string;
  readonly end: number;
}
async function store(query: Query = {}): Promise<Stored> {
  numbers += 1;
  const number = `${numbers}`;
  const answer = await account.send('POST', '/vault', {
    query: { user: 'u', reference: 'r', ...query },
    passphrase: PASSPHRASE,
    body: { number },
  });
  expect(answer.outcome).toBe('200');
  const { token, expires_at = '' } = answer.as<{ token: string; expires_at?: string }>();
  return { token, number, end: Date.parse(expires_at) };
}
function update(token: string, query: Query): Promise<unknown> {
  const given = { query: { user: 'u', token, reference: 'r', ...query }, passphrase: PASSPHRASE };
  return account.send('POST', '/vault/update', { ...given, body: { name: 'Ada' } });
}
/** An item that has expired so many days ago; only its log is left once it was swept. */
async function storeExpired(days: number, query: Query = {}): Promise<Stored> {
  clock = Date.now() - days * DAY_MS;
  const stored = await store({ ttl: '1h', ...query });
  clock = 0;
  return stored;
}
async function logOf(token: string, client = account): Promise<unknown> {
  const answer = await client.send('GET', '/vault/metadata', { query: { user: 'u', token, reference: 'r' } });
  return answer.status === 200 ? answer.json : answer.outcome;
}
async function tokensOf(client: AccountClient, query: Query): Promise<string[]> {
  const answer = await client.send('GET', '/vault', { query: { user: 'u', limit: -1, ...query } });
  const items = answer.as<Record<string, { token: string }[]>>()['u'] ?? [];
  return items.map(({ token }) => token).sort();
}
/** Members and scores of all indexes, and the fields of all items, but for the recorded lengths of their logs. */
async function indexesOf({ raw }: TestVault, bucket = '{*.*}'): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const name of (await raw.keys(`${bucket}*`)).filter((key) => /\}[tery]$/.test(key)).sort()) {
    const members = await raw.zrangeBuffer(name, 0, '-1', 'WITHSCORES');
    found[name] = members.map((part) => part.toString('latin1'));
  }
  for (const name of (await raw.keys(`${bucket}i*`)).sort()) {
    found[name] = (await raw.hkeys(name)).filter((field) => field !== 'r').sort();
  }
  return found;
}

describe('a restored vault', () => {
  test('has the logs of what has expired, expires what is left when it would have, and finds by metadata', async () => {
    const metadata = '{"tier":"gold"}';
    const gone = await storeExpired(5, { metadata });
    await vault.opened.services.expiry.sweep(account.aid);
    const over = await storeExpired(3, { metadata });
    const soon = await store({ ttl: '1h', metadata });
    const kept = await store({ metadata });
    const logs = await Promise.all([gone, over, soon, kept].map(({ token }) => logOf(token)));
    await restored((await backup()).file, async (copy) => {
      const there = account.via(copy.handle);
      expect(await indexesOf(copy)).toEqual(await indexesOf(vault));
      expect(await commandJson<object>(copy, 'verify')).toMatchObject({ ok: true, faults: [] });
      const logsThere = await Promise.all([gone, over, soon, kept].map(({ token }) => logOf(token, there)));
      expect(logsThere).toEqual(logs);
      expect(await tokensOf(there, { metadata: 'tier:gold' })).toEqual([soon.token, kept.token].sort());
      expect(await tokensOf(there, { reference: 'r' })).toEqual([soon.token, kept.token].sort());
      const before = new Date(soon.end + 1_000).toISOString();
      expect(await tokensOf(there, { expires_before: before })).toEqual([soon.token]);
      clock = soon.end - 1;
      expect(await there.open('u', soon.token, { reference: 'r' })).toContain('number');
      clock = soon.end;
      expect(await tokensOf(there, { metadata: 'tier:gold' })).toEqual([kept.token]);
      clock = over.end + RETENTION_MS;
      await copy.opened.services.expiry.sweep(account.aid);
      expect(await logOf(gone.token, there)).toBeArray();
      // What has expired since 10 days by the clock of Redis, too, goes there as it would have here.
      await copy.raw.zadd(
        redisKeys.expiries(copy.opened.stores.itemStore.bucketOf(await copy.kidOf(there, 'u'), gone.token)),
        -(gone.end - RETENTION_MS),
        gone.token,
      );
      await copy.opened.services.expiry.sweep(account.aid);
      expect(await logOf(gone.token, there)).toBe('404 token_not_found');
    });
  });

  test('has of an item that changes while it is copied only what the item was at last', async () => {
    const metadata = '{"moving":"1"}';
    const { itemStore } = vault.opened.stores;
    const kid = await vault.kidOf(account, 'u');
    const changed = await store({ ttl: '1h', metadata });
    const { number } = itemStore.bucketOf(kid, changed.token);
    /** An expired item of the same bucket. */
    const neighbour = async (): Promise<Stored> => {
      const stored = await storeExpired(5, { metadata });
      return itemStore.bucketOf(kid, stored.token).number === number ? stored : neighbour();
    };
    const [gone, back] = [await neighbour(), await neighbour()];
    await vault.opened.services.expiry.sweep(account.aid);
    const over = await neighbour();
    const times = redisKeys.times({ kid, number });
    const changes = [
      // The bucket was walked, and what was added since is read next.
      async () => {
        await update(changed.token, { ttl: '0', metadata: '{}' });
        await vault.opened.services.expiry.sweep(account.aid);
      },
      // So were the logs of what has expired.
      async () => {
        const given = { query: { user: 'u', reference: 'r' }, passphrase: PASSPHRASE };
        const again = await account.send('POST', '/vault', { ...given, body: { number: back.number } });
        expect(again.json).toMatchObject({ token: back.token, created: true });
      },
    ];
    const { redis } = vault.opened;
    const between: TestVault = {
      ...vault,
      opened: {
        ...vault.opened,
        redis: linkWith(redis, {
          async command(name, args) {
            if (name === 'ZRANGE' && args[0] === times && args[2] === '+inf') {
              await changes.shift()?.();
            }
            return redis.command(name, args);
          },
        }),
      },
    };
    const { file } = await backup(between);
    expect(changes).toEqual([]);
    await restored(file, async (copy) => {
      const there = account.via(copy.handle);
      expect(await commandJson<object>(copy, 'verify')).toMatchObject({ ok: true, faults: [] });
      const bucket = `{${kid}.${number}}`;
      expect(await indexesOf(copy, bucket)).toEqual(await indexesOf(vault, bucket));
      expect(await tokensOf(there, { metadata: 'moving:1' })).toEqual([]);
      expect(await logOf(gone.token, there)).toEqual(await logOf(gone.token));
      expect(await logOf(over.token, there)).toEqual(await logOf(over.token));
      expect(await there.open('u', back.token, { reference: 'r' })).toContain('number');
      clock = changed.end + HOUR_MS;
      expect(await there.open('u', changed.token, { reference: 'r' })).toContain('Ada');
    });
  });
});

describe('vault verify finds', () => {
  let left: Stored;
  let live: Stored;
  let item = '';
  let expiries = '';
  let whole: Copy;
  beforeEach(async () => {
    left = await storeExpired(5, { metadata: '{"a":"1"}' });
    live = await store({ metadata: '{"a":"1"}', ttl: '1h' });
    await vault.opened.services.expiry.sweep(account.aid);
    await vault.opened.services.logHeads.catchUp();
    const bucket = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), left.token);
    [item, expiries] = [redisKeys.item(bucket, left.token), redisKeys.expiries(bucket)];
    whole = await copyOf(vault.raw, '{*.*}*');
  });
  afterEach(async () => {
    const added = (await vault.raw.keys('{*.*}*')).filter((name) => !whole.has(name));
    await Promise.all(added.map((name) => vault.raw.del(name)));
    await putBack(vault.raw, whole);
    expect(await faults()).toEqual([]);
  });
  /** Kinds of what is wrong, each once. */
  async function faults(): Promise<string[]> {
    const { out } = await withoutPauses(() => runCommand(['verify', '--json'], { vault }));
    const found = (JSON.parse(out) as { faults: { kind: string }[] }).faults;
    return [...new Set(found.map(({ kind }) => kind))].sort();
  }

  test.each([
    ['whose log is gone', () => vault.raw.del(item), ['expiries', 'log heads']],
    ['that has no place any more', () => vault.raw.zrem(expiries, left.token), ['key name', 'log heads']],
    [
      'that is gone without a trace',
      async () => {
        await vault.raw.del(item);
        await vault.raw.zrem(expiries, left.token);
      },
      ['log heads'],
    ],
    ['that would go sooner', () => vault.raw.zadd(expiries, 1 - left.end, left.token), ['expiries']],
    ['that would go later', () => vault.raw.zadd(expiries, -1 - left.end, left.token), ['expiries']],
    ['that is to expire again', () => vault.raw.zadd(expiries, left.end, left.token), ['expiries']],
    ['whose log was cut', () => vault.raw.hdel(item, '1'), ['item', 'log heads']],
    ['that was never stored', () => vault.raw.zadd(expiries, -left.end, 'forged'), ['expiries']],
  ])('what has expired %s', async (_, forge, expected) => {
    await forge();
    const found = await faults();
    expect(found).toEqual(expect.arrayContaining(expected));
  });

  test('an item that was made to look as if it had expired', async () => {
    const bucket = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), live.token);
    await vault.raw.hdel(redisKeys.item(bucket, live.token), 'c', 'y');
    await vault.raw.zrem(redisKeys.times(bucket), live.token);
    await vault.raw.zadd(redisKeys.expiries(bucket), -live.end, live.token);
    expect(await faults()).toContain('item');
  });

  test('entries of what has expired in the indexes of references and metadata', async () => {
    const bucket = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), left.token);
    const { crypto } = vault.opened;
    const metas = [(await vault.raw.hgetBuffer(item, 'm')) ?? Buffer.of()];
    const params = { aid: account.aid, kid: bucket.kid, tokens: [left.token] };
    const [reference = ''] = (await crypto.referenceMembers({ params, metas })).map(Buffer.from);
    const [metadata = ''] = (await crypto.metadataMembers({ params, metas })).map(Buffer.from);
    await vault.raw.zadd(redisKeys.references(bucket), 0, reference);
    await vault.raw.zadd(redisKeys.metadata(bucket), 0, metadata);
    expect(await faults()).toEqual(['metadata index', 'reference index']);
  });
});
