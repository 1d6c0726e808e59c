import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../server/boot/redis/embedded.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { openPolicy, openRetrieveWrap } from '../../workers/crypto/endpoint/record.ts';
import { openItem } from '../../workers/crypto/item/item.ts';
import { type OpenedMeta, openMeta } from '../../workers/crypto/item/meta.ts';
import { type UnlockedKey, unlockedKey } from '../../workers/crypto/key/unlocked.ts';
import { unlockVaultKey } from '../../workers/crypto/key/vault-key.ts';
import { IntegrityError, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import { ServiceSealer } from '../../workers/crypto/record/service-record.ts';
import { type AccountClient, type Handle, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, type MadeEndpoint, retrieve } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type Copy, copyOf, putBack } from '../maintenance/copies.ts';
import { openWhenReady } from '../workers/crypto/fixture.ts';
import { changePassphrase, ended } from './kinds.ts';

const MASTER_KEY = new Uint8Array(32).fill(11);
const ARGON2 = { memoryKiB: 19_456, passes: 2, parallelism: 1 } as const;
const NEW = 'the new passphrase of the key';
const SINCE = 'written since the change';
const KEPT = 10;
const sealer = new ServiceSealer('staging', 'k1', [['k1', MASTER_KEY]]);

interface Item {
  readonly token: string;
  readonly reference?: string;
}

let folder: string;
let newRedis: EmbeddedRedis;
let oldRedis: EmbeddedRedis;
let newVault: TestVault;
let oldVault: TestVault;
let account: AccountClient;
let kid: string;
let taking: MadeEndpoint;
let giving: MadeEndpoint;
let locked: MadeEndpoint;
/** As they were in the old copy, and not touched since. */
const kept: Item[] = [];
/** Stored, captured or updated since. */
const since: Item[] = [];
let allOld: Copy;
let allNew: Copy;

function startRedis(name: string): Promise<EmbeddedRedis> {
  return EmbeddedRedis.start(join(folder, name), () => undefined);
}
function openOn(redis: EmbeddedRedis, isCopy: boolean): Promise<TestVault> {
  // The attacker of these tests derives keys in this thread, at their real cost.
  return openTestVault({ redis, join: isCopy, masterKey: MASTER_KEY, authFailuresMax: 0, realArgon2: true });
}
async function captureInto(made: MadeEndpoint, body: object, client: TestVault): Promise<Item> {
  const answer = await capture(client, made, { body });
  expect(answer.outcome).toBe('200');
  return answer.as<Required<Item>>();
}

async function fillBefore(): Promise<void> {
  await account.key('u');
  taking = await createCapture(account, 'u');
  for (let n = 0; n < KEPT; n++) {
    const body = { number: `10${n}`, note: 'from before', cvv: '111' };
    kept.push(
      n % 2 === 0 ? { token: await account.store('u', body) } : await captureInto(taking, body, newVault),
    );
    since.push({ token: await account.store('u', { ...body, number: `20${n}` }) });
  }
  giving = await createRetrieve(account, 'u');
  locked = await createRetrieve(account, 'u', { token: since[0]?.token });
}
async function fillSince(): Promise<void> {
  expect((await changePassphrase(account, 'u', NEW)).outcome).toBe('200');
  const owner = account.sdkWith({ passphrase: NEW });
  for (const { token } of since) {
    await owner.vault.update({ user: 'u', token, data: { note: SINCE, cvv: '222' } });
  }
  const fresh = await createCapture(account, 'u', {}, NEW);
  for (let n = 0; n < 20; n++) {
    const data = { number: `30${n}`, note: SINCE, cvv: '333' };
    since.push({ token: (await owner.vault.store({ user: 'u', data })).token });
    since.push(await captureInto(fresh, { ...data, number: `40${n}` }, newVault));
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-copy-'));
  chmodSync(folder, 0o700);
  newRedis = await startRedis('new');
  newVault = await openOn(newRedis, false);
  account = await newVault.account();
  await fillBefore();
  kid = await newVault.kidOf(account, 'u');
  // What was acknowledged is on the disk: the folder of the running Redis is a copy as good as any.
  cpSync(join(folder, 'new'), join(folder, 'old'), {
    recursive: true,
    filter: (path) => !/\.(sock|log)$|\/lock$/.test(path),
  });
  oldRedis = await startRedis('old');
  oldVault = await openOn(oldRedis, true);
  await fillSince();
  allOld = await copyOf(oldVault.raw, '*');
  allNew = await copyOf(newVault.raw, '*');
}, 60_000);
afterAll(async () => {
  await Promise.all([newVault.close(), oldVault.close()]);
  await Promise.all([newRedis.stop(), oldRedis.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** How many of these items come out whole, by the old secret; nothing written since may come out at all. */
async function openThroughEndpoint(server: Handle, items: readonly Item[]): Promise<number> {
  const answers = await Promise.all(
    items.map(({ token, reference }) => ended(retrieve(server, giving, { query: { token, reference } }))),
  );
  expect(answers.filter(({ text }) => text.includes(SINCE))).toEqual([]);
  return answers.filter(({ outcome }) => outcome === '200').length;
}
async function openByPassphrase(server: Handle, items: readonly Item[]): Promise<number> {
  const client = account.via(server);
  const answers = await Promise.all(
    items.map(({ token, reference }) =>
      client.send('GET', '/vault', { query: { user: 'u', token, reference }, passphrase: PASSPHRASE }),
    ),
  );
  expect(answers.filter(({ text }) => text.includes(SINCE))).toEqual([]);
  return answers.filter(({ outcome }) => outcome === '200').length;
}
async function expectNothingInBulk(server: Handle): Promise<void> {
  const replies = await Promise.all([
    ended(retrieve(server, giving, { query: { decrypt_all: true } })),
    ended(retrieve(server, giving, { query: { decrypt_all: true, limit: -1 } })),
    ended(retrieve(server, locked, { query: { decrypt_all: true } })),
    ended(retrieve(server, locked, { query: { token: since[0]?.token } })),
  ]);
  for (const { text } of replies) {
    expect(text).not.toContain(SINCE);
    expect(text).not.toContain('"222"');
  }
}

function picked(copy: Copy, pattern: RegExp): Copy {
  return new Map([...copy].filter(([name]) => pattern.test(name)));
}
async function restore(vault: TestVault, ...copies: readonly Copy[]): Promise<void> {
  await vault.raw.flushall();
  await putBack(vault.raw, ...copies);
}
const ITEMS = /^\{[^}]+\}[is]/;
const INDEXES = /^\{[^}]+\.\d+\}[trx]$/;
const FENCES = /^\{[^}]+\.\d+\}f$/;
const KEY = /^\{a:[^}]+\}k:/;
const ENDPOINTS = /^\{e:|^\{a:[^}]+\}[el]/;
const yesNo = [false, true];
/** What a mixture takes, in words. */
function named<T extends object>(mixtures: readonly T[]): (readonly [string, T])[] {
  return mixtures.map((with_) => {
    const taken = Object.entries(with_).flatMap(([name, isTaken]) => (isTaken ? [name] : []));
    return [taken.length === 0 ? 'nothing' : taken.join(' and '), with_] as const;
  });
}

describe('the old copy', () => {
  test('still opens all that was in it, by the old secret and the old passphrase', async () => {
    await restore(oldVault, allOld);
    expect(await openThroughEndpoint(oldVault.handle, kept)).toBe(KEPT);
    expect(await openByPassphrase(oldVault.handle, kept)).toBe(KEPT);
    const updated = await retrieve(oldVault, locked, { query: { token: since[0]?.token } });
    expect(updated.json).toMatchObject({ number: '200', note: 'from before' });
  });

  const mixtures = yesNo.flatMap((indexes) =>
    yesNo.flatMap((fences) => yesNo.map((key) => ({ indexes, fences, key }))),
  );
  test.each(named(mixtures))(
    'with all items written since, and with them %s, opens none of those',
    async (_, with_) => {
      await restore(oldVault, allOld, picked(allNew, ITEMS));
      await putBack(oldVault.raw, with_.indexes ? picked(allNew, INDEXES) : new Map());
      await putBack(oldVault.raw, with_.fences ? picked(allNew, FENCES) : new Map());
      await putBack(oldVault.raw, with_.key ? picked(allNew, KEY) : new Map());
      expect(await openThroughEndpoint(oldVault.handle, since)).toBe(0);
      await expectNothingInBulk(oldVault.handle);
      if (!with_.fences) {
        expect(await openByPassphrase(oldVault.handle, since)).toBe(0);
      }
      if (!with_.fences && !with_.key) {
        expect(await openThroughEndpoint(oldVault.handle, kept)).toBe(KEPT);
        expect(await openByPassphrase(oldVault.handle, kept)).toBe(KEPT);
      }
    },
  );
});

describe('the new data', () => {
  const mixtures = yesNo.flatMap((key) => yesNo.map((fences) => ({ key, fences })));
  test.each(named(mixtures))('opens nothing to the old endpoints, put back with %s', async (_, with_) => {
    await restore(newVault, allNew, picked(allOld, ENDPOINTS));
    await putBack(newVault.raw, with_.key ? picked(allOld, KEY) : new Map());
    if (with_.fences) {
      await newVault.raw.del(...[...allNew.keys()].filter((name) => FENCES.test(name)));
      await putBack(newVault.raw, picked(allOld, FENCES));
    }
    const fresh = await newVault.secondServer();
    try {
      for (const server of [newVault.handle, fresh.handle]) {
        expect(await openThroughEndpoint(server, since)).toBe(0);
        await expectNothingInBulk(server);
      }
      if (with_.fences || !with_.key) {
        expect(await openByPassphrase(fresh.handle, since)).toBe(0);
      }
      if (with_.fences && with_.key) {
        expect(await openThroughEndpoint(fresh.handle, kept)).toBe(KEPT);
      }
    } finally {
      await fresh.close();
    }
  });

  test('takes no capture through an old endpoint that is put back', async () => {
    await restore(newVault, allNew, picked(allOld, ENDPOINTS));
    const answer = await capture(newVault, taking, { body: { number: '999' } });
    expect(answer.outcome).toBe('410 endpoint_gone');
  });

  test('opens, all of it, with the new passphrase', async () => {
    await restore(newVault, allNew);
    const opened = await Array.fromAsync(account.sdk.vault.decryptAll({ user: 'u', passphrase: NEW }));
    const notes = opened.map(({ data }) => (data as { note: string }).note);
    expect(notes.filter((note) => note === SINCE)).toHaveLength(since.length);
    expect(since.length).toBe(50);
    expect(opened).toHaveLength(since.length + KEPT);
  });
});

describe('an attacker with the master key, both copies, the old secrets and the old passphrase', () => {
  const ids = () => ({ env: 'staging', aid: account.aid, kid });
  const recordIn = async (vault: TestVault): Promise<Uint8Array> => {
    const stored = await vault.raw.getBuffer(redisKeys.keyRecord(account.aid, 'u'));
    return sealer.open('record', account.aid, 'key', ['u'], stored ?? new Uint8Array(0));
  };
  const byEndpoint = async (): Promise<UnlockedKey> => {
    const place = { ...ids(), id: giving.unique_id, gen: 1 };
    const { p, w } = await oldVault.raw.hgetallBuffer(redisKeys.endpoint(giving.unique_id));
    const none = new Uint8Array(0);
    const policy = openPolicy(sealer, place, p ?? none);
    return openRetrieveWrap(sealer, place, policy, w ?? none, utf8(giving.secret));
  };
  const byPassphrase = async (): Promise<UnlockedKey> =>
    (await unlockVaultKey(ids(), await recordIn(oldVault), utf8(PASSPHRASE), ARGON2)).key;

  /** The private half of the old generation in the place of the new one, which nobody has. */
  const pretending = ({ kid, tokenKey, generations }: UnlockedKey): UnlockedKey => {
    const copies = generations.map(({ suite, publicKey, privateKey }) => ({
      gen: 2,
      suite,
      publicKey,
      privateKey,
    }));
    return unlockedKey(kid, tokenKey, [...generations, ...copies]);
  };
  /** An item that says that it is of the old generation. */
  const backdated = (item: Buffer): Buffer => {
    const changed = Buffer.from(item);
    changed.writeUInt32BE(1, 4);
    return changed;
  };

  interface Stored {
    readonly item: Buffer;
    readonly meta: OpenedMeta;
    readonly sad: Buffer | null;
  }
  const readStored = async (token: string): Promise<Stored> => {
    const place = newVault.opened.stores.itemStore.bucketOf(kid, token);
    const { c, m } = await newVault.raw.hgetallBuffer(redisKeys.item(place, token));
    const none = Buffer.alloc(0);
    return {
      item: c ?? none,
      meta: openMeta(sealer, { ...ids(), token }, m ?? none),
      sad: await newVault.raw.getBuffer(redisKeys.sad(place, token)),
    };
  };
  const openWith = async (
    key: UnlockedKey,
    token: string,
    { item, meta, sad }: Stored,
  ): Promise<Uint8Array> => {
    const request = { ...ids(), token, key, item, meta, ...(sad ? { sad } : {}), nowMs: Date.now() };
    const parts = [item, ...(sad ? [sad] : [])];
    const { part0 } = await openWhenReady(key, ids(), parts, () => openItem(request));
    return part0;
  };

  beforeAll(async () => {
    await restore(oldVault, allOld);
    await restore(newVault, allNew);
  });

  test.each([
    ['an old endpoint', byEndpoint],
    ['the old passphrase', byPassphrase],
  ] as const)('opens by %s none of the items written since, whatever it pretends', async (_, unlock) => {
    const key = await unlock();
    expect(key.generations.map(({ gen }) => gen)).toEqual([1]);
    for (const { token } of since) {
      const stored = await readStored(token);
      expect(stored.meta.gen).toBe(2);
      const meta = { ...stored.meta, gen: 1 };
      for (const attempt of [
        () => openWith(key, token, stored),
        () => openWith(pretending(key), token, stored),
        () => openWith(key, token, { ...stored, meta }),
        () =>
          openWith(key, token, {
            ...stored,
            item: backdated(stored.item),
            meta: { ...meta, hash0: new Bun.CryptoHasher('sha256').update(backdated(stored.item)).digest() },
          }),
      ]) {
        await expect(attempt()).rejects.toBeInstanceOf(IntegrityError);
      }
    }
  });

  test('opens those that were there before, by either', async () => {
    for (const key of [await byEndpoint(), await byPassphrase()]) {
      for (const [n, { token }] of kept.entries()) {
        const text = Buffer.from(await openWith(key, token, await readStored(token))).toString();
        expect(text).toContain(`"number":"10${n}"`);
      }
    }
  });
});
