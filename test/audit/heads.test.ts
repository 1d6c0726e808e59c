import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogHeads } from '../../server/log-heads/heads.ts';
import { HeadsStore } from '../../server/log-heads/store.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { overriding } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { copyOf, putBack } from '../maintenance/copies.ts';

const KIND = 'log heads';

let vault: TestVault;
let account: AccountClient;
let kid: string;

beforeEach(async () => {
  vault = await openTestVault({ jobs: false, alone: true });
  account = await vault.account();
  await account.key('user');
  kid = await vault.kidOf(account, 'user');
});
afterEach(() => vault.close());

let stored = 0;
/** Stores an item that no other one equals. */
function storeOne(through = account): Promise<string> {
  stored += 1;
  return through.store('user', { number: `40000000${String(stored).padStart(8, '0')}` });
}

/** Stores an item and opens it three times, so that its log has four entries. */
async function storeAndRead(): Promise<string> {
  const token = await storeOne();
  for (let n = 0; n < 3; n++) {
    await account.open('user', token);
  }
  return token;
}

/** What `vault verify` finds; without the pauses before it looks again, for here nobody changes anything meanwhile. */
async function verify(): Promise<readonly string[]> {
  const { setTimeout: later } = globalThis;
  const hurry = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) =>
    later(run, [20, 200, 600].includes(ms ?? 0) ? 0 : ms, ...given);
  const timer = spyOn(globalThis, 'setTimeout').mockImplementation(hurry as typeof setTimeout);
  const { out } = await runCommand(['verify', '--json'], { vault }).finally(() => timer.mockRestore());
  const { faults } = JSON.parse(out) as {
    readonly faults: readonly { readonly kind: string; readonly place: string; readonly state: string }[];
  };
  return faults.map(({ kind, place, state }) => `${state} ${kind} ${place}`);
}

/** The names of a bucket: `rest` behind its hash tag. */
function named(token: string, rest: string): string {
  const { number } = vault.opened.stores.itemStore.bucketOf(kid, token);
  return `{${kid}.${number}}${rest}`;
}
function bucketFault(token: string): string {
  return `bad ${KIND} user/bucket ${vault.opened.stores.itemStore.bucketOf(kid, token).number}`;
}
function ofAccount(): string {
  return `{a:${account.aid}}heads`;
}

/** Removes the newest entries of a log and sets its length back, as somebody who can write to Redis. */
async function cut(token: string, length: number): Promise<void> {
  const item = named(token, `i${token}`);
  const has = Number((await vault.raw.hgetBuffer(item, 'n'))?.subarray(0, -16).toString());
  expect(has).toBeGreaterThan(length);
  const last = await vault.raw.hgetBuffer(item, String(length));
  const n = Buffer.concat([Buffer.from(String(length)), last?.subarray(-16) ?? Buffer.alloc(0)]);
  await vault.raw.hset(item, 'n', n);
  await vault.raw.hdel(item, ...Array.from({ length: has - length }, (_, i) => String(length + 1 + i)));
}

function faultsSoFar(): readonly unknown[] {
  return vault.events.filter(({ event }) => event === 'log_heads_fault').map(({ what }) => what);
}

function checkpointsSoFar(): readonly Readonly<Record<string, unknown>>[] {
  return vault.events.filter(({ event }) => event === 'log_heads_checkpoint');
}

describe('a log that is cut', () => {
  test('is found and named, and stays so when the log goes on', async () => {
    const token = await storeAndRead();
    await storeAndRead();
    await vault.opened.checkpoint();
    expect(await verify()).toEqual([]);
    await cut(token, 2);
    expect(await verify()).toEqual([`bad ${KIND} user/${token}`]);
    await account.open('user', token);
    await vault.opened.checkpoint();
    expect(faultsSoFar()).toEqual(['cut']);
    expect(await verify()).toEqual([`bad ${KIND} user/${token}`]);
    // Longer than it was, but not by the entries that it had.
    await account.open('user', token);
    await account.open('user', token);
    expect(await verify()).not.toEqual([]);
  });

  test('is found when the recorded length is set back too, or removed', async () => {
    const token = await storeAndRead();
    await vault.opened.checkpoint();
    await cut(token, 2);
    await vault.raw.hset(named(token, `i${token}`), 'r', '2');
    expect(await verify()).toEqual([bucketFault(token)]);
    await vault.raw.hdel(named(token, `i${token}`), 'r');
    await vault.raw.sadd(named(token, 'd'), token);
    expect(await verify()).toEqual([bucketFault(token)]);
    await vault.opened.services.logHeads.catchUp();
    expect(await verify()).toEqual([bucketFault(token)]);
  });

  test('is found when the item is put back as it once was, and its bucket, and its account', async () => {
    const token = await storeAndRead();
    await vault.opened.checkpoint();
    const before = {
      item: await copyOf(vault.raw, named(token, `i${token}`)),
      bucket: await copyOf(vault.raw, named(token, 'h')),
      account: await copyOf(vault.raw, ofAccount()),
    };
    await account.open('user', token);
    await vault.opened.checkpoint();
    expect(await verify()).toEqual([]);
    await putBack(vault.raw, before.item);
    expect(await verify()).toEqual([bucketFault(token)]);
    await putBack(vault.raw, before.bucket);
    expect(await verify()).toEqual([bucketFault(token)]);
    await putBack(vault.raw, before.account);
    expect(await verify()).toEqual([`bad ${KIND} `]);
    // Nothing is recorded on top of it: the fault would disappear.
    await account.open('user', token);
    const signed = checkpointsSoFar().length;
    await vault.opened.checkpoint();
    expect(faultsSoFar()).toContain('older');
    expect(checkpointsSoFar()).toHaveLength(signed);
    expect(await verify()).toEqual([`bad ${KIND} `]);
  });
});

test('what checkpoints outside of Redis know is found, whatever is put back, and after it went on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cv-heads-'));
  const token = await storeAndRead();
  await vault.opened.checkpoint();
  const old = await copyOf(vault.raw, `{${kid}.*`, ofAccount(), '{audit}heads');
  await account.open('user', token);
  await vault.opened.checkpoint();
  const auditVerify = async (): Promise<readonly [number, unknown]> => {
    const path = join(folder, 'server.log');
    await Bun.write(
      path,
      checkpointsSoFar()
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
    const { code, out } = await runCommand(['audit', 'verify', '--json', '--checkpoints', path], { vault });
    const reports = JSON.parse(out) as { readonly account: string; readonly item_logs?: object }[];
    return [code, reports.find((report) => report.account === account.aid)?.item_logs];
  };
  expect(await auditVerify()).toEqual([0, { epoch: 2, logs: 1, checkpoints: 3 }]);
  await putBack(vault.raw, old);
  expect(await verify()).toEqual([]);
  expect(await auditVerify()).toEqual([1, { epoch: 1, logs: 1, checkpoints: 3, fault: 'older' }]);
  // A server that was started since knows nothing of it, and goes on.
  const second = await vault.secondServer();
  await account.via(second.handle).open('user', token);
  await second.opened.checkpoint();
  vault.events.push(...second.events);
  await second.close();
  expect(await verify()).toEqual([]);
  expect(await auditVerify()).toEqual([1, { epoch: 2, logs: 1, checkpoints: 4, fault: 'forked' }]);
  await rm(folder, { recursive: true });
});

describe('a deletion', () => {
  test('of an item leaves nothing that is not right, before and after it is recorded', async () => {
    const [first, second] = [await storeAndRead(), await storeAndRead()];
    await vault.opened.checkpoint();
    await account.open('user', first);
    for (const token of [first, second]) {
      expect((await account.send('DELETE', '/vault/', { query: { user: 'user', token } })).status).toBe(200);
    }
    expect(await verify()).toEqual([]);
    await vault.opened.checkpoint();
    expect(await verify()).toEqual([]);
    expect(faultsSoFar()).toEqual([]);
    expect(checkpointsSoFar().at(-1)).toMatchObject({ account: account.aid, logs: 0 });
    expect(await vault.raw.keys('*}[dg]')).toEqual([]);
  });

  test('that the service did not make is found', async () => {
    const token = await storeAndRead();
    await vault.opened.checkpoint();
    const item = named(token, `i${token}`);
    const tags = await Promise.all(['1', '4'].map((n) => vault.raw.hgetBuffer(item, n)));
    const copy = await copyOf(vault.raw, item);
    await vault.raw.del(item);
    await vault.raw.zrem(named(token, 't'), token);
    expect(await verify()).toContain(bucketFault(token));
    // A note as the script leaves it, with a proof that cannot be made.
    const [first, tag] = tags.map((entry) => entry?.subarray(-16) ?? Buffer.alloc(16));
    const note = [Buffer.alloc(16, 1), first, Buffer.of(4, 0, 0, 0), tag] as Buffer[];
    await vault.raw.hset(named(token, 'g'), token, Buffer.concat(note));
    await vault.raw.sadd(named(token, 'd'), token);
    await vault.opened.services.logHeads.catchUp();
    expect(faultsSoFar()).toEqual(['removed']);
    expect(await verify()).toContain(bucketFault(token));
    // Put back with a shorter log, as if it were a new one.
    await putBack(vault.raw, copy);
    await vault.raw.hdel(item, 'r');
    await vault.raw.del(named(token, 'g'));
    await cut(token, 2);
    await vault.opened.services.logHeads.catchUp();
    expect(await verify()).toContain(bucketFault(token));
  });

  test('of a key, or of the account, leaves nothing', async () => {
    await storeAndRead();
    await account.key('other');
    await vault.opened.checkpoint();
    expect((await account.send('DELETE', '/key/', { query: { user: 'user', safe: false } })).status).toBe(
      200,
    );
    expect(await verify()).toEqual([]);
    await vault.opened.services.logHeads.catchUp();
    expect(await verify()).toEqual([]);
    expect(await vault.raw.hkeys(ofAccount())).toEqual(['m']);
    await vault.opened.removeAccount(account.name);
    expect(await vault.raw.exists(ofAccount())).toBe(0);
    expect(await verify()).toEqual([]);
  });

  test('of a key that the service did not make is found', async () => {
    await storeAndRead();
    await vault.opened.checkpoint();
    await vault.raw.del(`{a:${account.aid}}k:user`);
    await vault.raw.zrem(`{a:${account.aid}}keys`, 'user');
    expect(await verify()).toContain(`bad ${KIND} ${kid}`);
    await vault.raw.hset(ofAccount(), `-${kid}`, Buffer.alloc(16, 1));
    await vault.opened.services.logHeads.catchUp().catch(() => undefined);
    expect(await vault.raw.hexists(ofAccount(), kid)).toBe(1);
  });
});

test('logs from before are taken in, and verify until then', async () => {
  const tokens = [await storeAndRead(), await storeAndRead(), await storeAndRead()];
  for (const token of tokens) {
    await vault.raw.del(named(token, 'd'));
  }
  expect(await verify()).toEqual([]);
  const second = await vault.secondServer();
  await second.opened.sweep();
  expect(second.events).toContainEqual(expect.objectContaining({ event: 'log_heads_checkpoint', logs: 3 }));
  await second.close();
  expect(await verify()).toEqual([]);
  await cut(tokens[1] ?? '', 3);
  expect(await verify()).toEqual([`bad ${KIND} user/${tokens[1]}`]);
});

test('a key whose id begins with a hyphen is a key like any other', async () => {
  const { headsStore } = vault.opened.stores;
  const read = { kid: '-abc', mark: Buffer.alloc(0), buckets: Buffer.alloc(0), proof: Buffer.alloc(0) };
  expect(await headsStore.put(account.aid, read, { mark: Buffer.from('m'), buckets: Buffer.from('b') })).toBe(
    true,
  );
  expect((await headsStore.readAccount(account.aid)).keys).toEqual([
    { kid: '-abc', buckets: Buffer.from('b'), proof: Buffer.alloc(0) },
  ]);
  expect(await headsStore.readKey(account.aid, '-abc')).toMatchObject({ buckets: Buffer.from('b') });
});

/** The service of a server that dies at one of its steps: the call rejects, and nothing behind it happens. */
function dyingAt(step: keyof HeadsStore) {
  const { stores, services, crypto, now } = vault.opened;
  const dies = (): never => {
    throw new Error('the process dies here');
  };
  const recordEvent = (event: string): void => {
    if (event === 'log_heads_fault') {
      dies();
    }
  };
  const headsStore = overriding(stores.headsStore, { [step]: dies });
  const accounts = () => services.walk.ownedKeys();
  return new LogHeads(headsStore, stores.itemStore, crypto, accounts, undefined, recordEvent, now);
}

test.each(['fold', 'put', 'putCheckpoint'] as const)(
  'a server that dies before %s leaves what verifies, and what the next one completes',
  async (step) => {
    const token = await storeAndRead();
    await vault.opened.checkpoint();
    await account.open('user', token);
    await storeOne();
    await dyingAt(step).take();
    expect(await verify()).toEqual([]);
    await account.open('user', token);
    await vault.opened.services.logHeads.catchUp();
    expect(await verify()).toEqual([]);
    expect(checkpointsSoFar().at(-1)).toMatchObject({ logs: 2 });
    await cut(token, 4);
    expect(await verify()).toEqual([`bad ${KIND} user/${token}`]);
  },
);

test('a stopping server records for some seconds at most; the next start records the rest', async () => {
  await Promise.all(Array.from({ length: 60 }, () => storeOne()));
  const { headsStore } = vault.opened.stores;
  const time = spyOn(performance, 'now');
  const unchanged = new HeadsStore(vault.opened.redis);
  let ended = 0;
  const slow = spyOn(headsStore, 'changed').mockImplementation(async function* (bucket) {
    yield* unchanged.changed(bucket);
    ended += 1;
    if (ended === 3) {
      const past = performance.now() + 6_000;
      time.mockImplementation(() => past);
    }
  });
  try {
    await vault.opened.services.logHeads.takeLast();
  } finally {
    time.mockRestore();
    slow.mockRestore();
  }
  const changedLogs = async (): Promise<number> => {
    const { buckets } = vault.opened.stores.itemStore;
    const counts = Array.from({ length: buckets }, (_, number) => vault.raw.scard(`{${kid}.${number}}d`));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };
  const left = await changedLogs();
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(60);
  expect(await verify()).toEqual([]);
  const second = await vault.secondServer();
  await second.opened.services.logHeads.catchUp();
  expect(await changedLogs()).toBe(0);
  expect(await verify()).toEqual([]);
});

test('two servers that record the same logs under load agree', async () => {
  const second = await vault.secondServer();
  const tokens = await Promise.all(Array.from({ length: 40 }, () => storeOne()));
  const other = account.via(second.handle);
  const work = tokens.map(async (token, i) => {
    await (i % 2 ? account : other).open('user', token);
    if (i % 4 === 0) {
      await account.send('DELETE', '/vault/', { query: { user: 'user', token } });
    }
    await storeOne(i % 3 ? other : account);
  });
  const rounds = Array.from({ length: 4 }, () =>
    Promise.all([vault.opened.services.logHeads.catchUp(), second.opened.services.logHeads.catchUp()]),
  );
  await Promise.all([...work, ...rounds]);
  await vault.opened.services.logHeads.catchUp();
  expect(faultsSoFar()).toEqual([]);
  expect(second.events.filter(({ event }) => event === 'log_heads_fault')).toEqual([]);
  expect(await verify()).toEqual([]);
  expect(checkpointsSoFar().at(-1)).toMatchObject({ logs: 70 });
  await second.close();
});
