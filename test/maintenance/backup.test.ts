import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { canariesIn } from '../helpers/canaries.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { overriding } from '../helpers/hold.ts';
import { openRaw } from '../helpers/redis.ts';
import { restoreInto } from '../helpers/restore.ts';
import type { TestVault } from '../helpers/vault.ts';
import { masterKeyOf, useRestores } from './restores.ts';

setDefaultTimeout(60_000);
const MASTER_KEY = masterKeyOf();
const NUMBER = '4111111111111111';
const HOLDER = 'Canary Holder of Cards';
const REFERENCE = 'canary-reference-4711';

const place = useRestores();
const { newFile, restored } = place;
let emptyRaw: ReturnType<typeof openRaw>;
let vault: TestVault;
let shop: AccountClient;
beforeAll(async () => {
  vault = await place.open({ masterKey: MASTER_KEY });
  emptyRaw = openRaw(place.empty);
  shop = await vault.account();
  await shop.key('u');
});
afterAll(() => emptyRaw.disconnect());

function inCopy(copy: TestVault, client = shop): AccountClient {
  return client.via(copy.handle);
}

interface Stored {
  readonly body: string;
  readonly reference: string;
}

function bodyOf(number: number): string {
  return `{"number":"${NUMBER}","card_holder":"${HOLDER} ${number}","cvv":"9${number % 10}7"}`;
}

let numbers = 0;
async function storeOne(stored: Map<string, Stored>): Promise<void> {
  numbers += 1;
  const [body, reference] = [bodyOf(numbers), `${REFERENCE}-${numbers}`];
  stored.set(await shop.store('u', body, { reference }), { body, reference });
}

/** Stores, replaces and deletes until it is told to stop. */
function startWriters(old: ReadonlyMap<string, Stored>) {
  let isOver = false;
  const [tokens, fresh] = [[...old], new Map<string, Stored>()];
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let at = writer; !isOver; at += 3) {
      await storeOne(fresh);
      const [token, { reference }] = tokens[at % tokens.length] ?? ['', { reference: '' }];
      // What is replaced moves to the end of its bucket, where the walk must meet it all the same.
      const query = { user: 'u', token, reference };
      const reply = await shop.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: '{}' });
      expect(reply.outcome).toBe('200');
    }
  });
  const deleter = (async () => {
    for (let at = 0; !isOver; at += 1) {
      const reference = `gone-${at}`;
      const token = await shop.store('u', `{"number":"${at}"}`, { reference });
      expect((await shop.send('DELETE', '/vault', { query: { user: 'u', token, reference } })).outcome).toBe(
        '200',
      );
    }
  })();
  return async (): Promise<void> => {
    isOver = true;
    await Promise.all([...writers, deleter]);
  };
}

test('a restored vault lists the readings from before, also of items that are read during the backup', async () => {
  const client = await vault.account();
  await client.key('u');
  const numbers = Array.from({ length: 60 }, (_, number) => String(5_000_000 + number));
  const tokens = await Promise.all(numbers.map((number) => client.store('u', { number })));
  for (const token of tokens) {
    await client.open('u', token);
  }
  await client.send('GET', '/vault', { query: { user: 'u', decrypt_all: true }, passphrase: PASSPHRASE });
  const before = await Array.fromAsync(client.sdk.vault.accessPages());
  const lines = before.flatMap(({ data }) => data);
  expect(lines).toHaveLength(120);
  const late = Promise.all(tokens.map((token) => client.open('u', token)));
  const { file } = await place.backup();
  await late;
  await restored(file, async (copy) => {
    const after = await Array.fromAsync(inCopy(copy, client).sdk.vault.accessPages());
    expect(after.flatMap(({ data }) => data).slice(-120)).toEqual(lines);
  });
  await client.sdk.keys.delete({ user: 'u', safe: false });
});

describe('the restore drill', () => {
  test('what was acknowledged before the backup began decrypts, and nothing is half there, though writers never stop', async () => {
    const before = new Map<string, Stored>();
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => storeOne(before)));
    }
    const stop = startWriters(before);
    const made = await place.backup();
    await stop();
    expect(made).toMatchObject({ keys: 1, damaged: 0 });
    await restored(made.file, async (copy) => {
      const there = inCopy(copy);
      for (const [token, { body, reference }] of before) {
        expect(await there.open('u', token, { reference })).toBe(body);
      }
      const listed = (await there.sdk.vault.list({ user: 'u' })).data['u'] ?? [];
      expect(listed.length).toBeGreaterThanOrEqual(before.size);
      for (const { token, reference = '' } of listed) {
        expect(await there.open('u', token, { reference })).toContain('number');
        const found = (await there.sdk.vault.list({ user: 'u', reference })).data['u'];
        expect(found?.map((item) => item.token)).toEqual([token]);
      }
      // The log goes on where it was: the chain of each item is whole.
      const [[token, { reference }] = ['', { reference: '' }]] = before;
      const log = await there.send('GET', '/vault/metadata', { query: { user: 'u', token, reference } });
      expect(log.outcome).toBe('200');
      await storeOne(new Map());
    });
  });

  test('what was counted before the backup began, in buckets too, is counted in the copy', async () => {
    const who = await vault.account();
    await who.key('u');
    await who.store('u', bodyOf(1));
    expect(await vault.raw.keys(`{${await vault.kidOf(who, 'u')}.*}n`)).toHaveLength(1);
    const { file } = await place.backup();
    await restored(file, async (copy) => {
      expect(await copy.usage(who)).toEqual({ key: 1, store: 1, api_requests: 2 });
    });
    await vault.opened.removeAccount(who.name);
  });

  test('although the counts of a bucket are damaged', async () => {
    const who = await vault.account();
    await who.key('u');
    const token = await who.store('u', bodyOf(1));
    const [counts = ''] = await vault.raw.keys(`{${await vault.kidOf(who, 'u')}.*}n`);
    await vault.raw.set(counts, 'damaged');
    const { file } = await place.backup();
    await restored(file, async (copy) => {
      expect(await copy.raw.keys(`{${await copy.kidOf(who, 'u')}.*}i${token}`)).toHaveLength(1);
    });
    expect((await who.send('DELETE', '/key', { query: { user: 'u', safe: false } })).outcome).toBe('200');
  });

  test('a passphrase that changes, and a key that is deleted, while they are copied', async () => {
    const [next, users] = ['another passphrase that is long enough', ['changed', 'deleted', 'kept'] as const];
    const tokens = new Map<string, string>();
    for (const user of users) {
      await shop.key(user);
      tokens.set(user, await shop.store(user, `{"number":"${NUMBER}"}`));
    }
    const endpoints = await Promise.all(
      (['changed', 'deleted', 'kept'] as const).map((user) => createCapture(shop, user)),
    );
    expect(endpoints).toHaveLength(3);
    const { keyStore } = vault.opened.stores;
    const seen = new Set<string>();
    // Between the items of a key and its record: the worst moment there is.
    const between: TestVault = {
      ...vault,
      opened: {
        ...vault.opened,
        stores: {
          ...vault.opened.stores,
          keyStore: overriding(keyStore, {
            async readPair(aid, user) {
              if (seen.has(user) && user === 'changed') {
                const body = { user, passphrase: PASSPHRASE, new_passphrase: next };
                expect((await shop.send('PUT', '/key', { body })).outcome).toBe('200');
              }
              if (seen.has(user) && user === 'deleted') {
                const gone = await shop.send('DELETE', '/key', { query: { user, safe: false } });
                expect(gone.outcome).toBe('200');
              }
              seen.add(user);
              return keyStore.readPair(aid, user);
            },
          }),
        },
      },
    };
    const { file, keys } = await place.backup(between);
    expect(keys).toBe(3);
    await restored(file, async (copy) => {
      const there = inCopy(copy);
      const read = (user: string, passphrase: string) =>
        there.send('GET', '/vault', { query: { user, token: tokens.get(user) }, passphrase });
      expect((await read('changed', next)).outcome).toBe('200');
      expect((await read('changed', PASSPHRASE)).outcome).toBe('403 passphrase_wrong');
      expect((await read('kept', PASSPHRASE)).outcome).toBe('200');
      expect((await read('deleted', PASSPHRASE)).outcome).toBe('404 key_not_found');
      const outcomes = endpoints.map(async ({ url, secret }) => {
        return (await capture(copy, { url, secret }, { body: { number: NUMBER } })).outcome;
      });
      expect(await Promise.all(outcomes)).toEqual(['410 endpoint_gone', '403 endpoint_refused', '200']);
      const kids = new Set((await copy.raw.keys('{*.*}i*')).map((name) => name.slice(1, 23)));
      expect(kids.size).toBe(3);
      const gens = await copy.raw.hget(`{${await copy.kidOf(there, 'changed')}.0}f`, 'g');
      expect(gens).toBe('2');
      // Only the endpoint of the key that nobody touched is still a live one.
      const live = `{a:${shop.aid}}l:${await copy.kidOf(there, 'kept')}`;
      expect(await copy.raw.keys('{a:*}l:*')).toEqual([live]);
    });
  });

  test('what expires expires when it would have, and security logs come along, entry for entry', async () => {
    await shop.key('expiring');
    const once = {
      query: { user: 'expiring' },
      passphrase: PASSPHRASE,
      body: { number: NUMBER },
      idempotencyKey: 'once-before-the-backup',
    };
    const reply = await shop.send('POST', '/vault', once);
    const kept = async (raw: TestVault['raw']): Promise<readonly unknown[]> => {
      const names = (await raw.keys('{d:*')).sort();
      return Promise.all(
        names.map(async (name) => [name, await raw.pexpiretime(name), await raw.hlen(name)]),
      );
    };
    const chain = `{a:${shop.aid}}log`;
    const log = Object.entries(await vault.raw.hgetall(chain)).filter(([name]) => /^\d+$/.test(name));
    expect(log.length).toBeGreaterThan(0);
    const { file } = await place.backup();
    const before = await kept(vault.raw);
    expect(before.length).toBeGreaterThan(0);
    await restored(file, async (copy) => {
      expect(await kept(copy.raw)).toEqual(before);
      expect(await copy.raw.hgetall(chain)).toMatchObject(Object.fromEntries(log));
      expect(await copy.raw.hexists('{audit}', shop.aid)).toBe(1);
      const again = await inCopy(copy).send('POST', '/vault', once);
      expect(again.json).toEqual(reply.json);
    });
    await shop.send('DELETE', '/key', { query: { user: 'expiring', safe: false } });
  });
});

test('verification codes that are to expire stay out of the file, and the rest of their items is whole', async () => {
  const expiring = await vault.secondServer({ masterKey: MASTER_KEY, sadTtlMs: 3_600_000 });
  const client = shop.via(expiring.handle);
  const reference = 'with a code';
  const body = `{"number":"${NUMBER}","cvv":"937"}`;
  const token = await client.store('u', body, { reference });
  expect(await client.open('u', token, { reference })).toBe(body);
  const { file, damaged } = await place.backup();
  expect(damaged).toBe(0);
  await restored(file, async (copy) => {
    expect((await emptyRaw.keys('*')).filter((name) => name.endsWith(token) && name.includes('}s'))).toEqual(
      [],
    );
    expect(await inCopy(copy).open('u', token, { reference })).toBe(`{"number":"${NUMBER}"}`);
    expect(await commandJson<object>(copy, 'verify')).toMatchObject({ ok: true });
  });
  // The vault itself has lost nothing by it.
  expect(await client.open('u', token, { reference })).toBe(body);
  await expiring.close();
});

describe('the file', () => {
  let file = '';
  let bytes = Buffer.alloc(0);
  beforeAll(async () => {
    // Enough for a second frame.
    await shop.store('u', JSON.stringify({ number: '1', text: 'x'.repeat(200_000) }));
    ({ file } = await place.backup());
    bytes = readFileSync(file);
    await place.empty.flush();
  });

  /** A copy with something changed, and what a restore of it says. It writes nothing. */
  const refusalOf = async (
    changed: Uint8Array,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const path = newFile();
    writeFileSync(path, changed);
    const ran = await restoreInto(place.empty.target, path, vault, settings);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(await emptyRaw.keys('*')).toEqual([]);
    return ran.err;
  };
  const headerBytes = (): number => bytes.indexOf('\n') + 1;

  test('is for its owner alone, has no other name beside it, and is never written over', async () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(place.folder).filter((name) => name.includes('.part-'))).toEqual([]);
    const again = await runCommand(['backup', file], { vault });
    expect(again).toMatchObject({
      code: 1,
      out: '',
      err: 'FILE already exists; it is never overwritten.\n',
    });
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  test('holds no number, name, reference, user, token or account that could be read', async () => {
    const [token = ''] = (await vault.raw.keys('{*.*}i*')).map((name) => name.replace(/^.*\}i/, ''));
    const canaries = {
      NUMBER,
      HOLDER,
      REFERENCE,
      PASSPHRASE,
      token,
      name: shop.name,
      aid: shop.aid,
      kept: '"kept"',
    };
    expect(canariesIn(canaries, bytes.toString('latin1'))).toEqual([]);
    expect(canariesIn({ ...canaries, environment: 'staging' }, bytes.toString('latin1'))).toEqual([
      'environment',
    ]);
  });

  test('is refused with another master key, and in another environment', async () => {
    const other = Buffer.from(MASTER_KEY.toReversed()).toString('base64');
    expect(await refusalOf(bytes, { VAULT_MASTER_KEY: `k1:${other}` })).toBe(
      'The master key does not fit FILE. Use the key that the vault had when the backup was made.\n',
    );
    const header = bytes.toString('latin1', 0, headerBytes()).replace('"staging"', '"production"');
    const changed = Buffer.concat([Buffer.from(header, 'latin1'), bytes.subarray(headerBytes())]);
    expect(await refusalOf(changed)).toMatch(/^FILE was made in another environment \(production\); /);
  });

  test('is refused when any of its parts was changed, cut off, swapped or added to', async () => {
    const changed = 'FILE was changed or is damaged; nothing of it can be trusted.\n';
    const cut = 'FILE ends too early: it was cut off.\n';
    const flipped = (at: number): Buffer => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy;
    };
    const frames: Buffer[] = [];
    for (let at = headerBytes(); at < bytes.length; ) {
      const length = 4 + bytes.readUInt32BE(at);
      frames.push(bytes.subarray(at, at + length));
      at += length;
    }
    expect(frames.length).toBeGreaterThan(1);
    const whole = (...parts: readonly (Uint8Array | undefined)[]): Buffer =>
      Buffer.concat([bytes.subarray(0, headerBytes()), ...parts.filter((part) => part !== undefined)]);
    const first = headerBytes();
    for (const [damaged, said] of [
      [flipped(bytes.length - 1), changed],
      [flipped(first + 100), changed],
      [flipped(bytes.indexOf('made_at') + 14), changed],
      [bytes.subarray(0, bytes.length - 1), cut],
      [whole(...frames.slice(0, -1)), cut],
      [whole(), cut],
      [whole(frames[1], frames[0], ...frames.slice(2)), changed],
      [whole(frames[0], ...frames), changed],
      [whole(...frames.slice(1)), changed],
      [whole(...frames, frames[0]), changed],
    ] as const) {
      expect(await refusalOf(damaged)).toBe(said);
    }
  });

  test('is refused where Redis has one key of anything, which stays', async () => {
    await emptyRaw.set('other', 'data');
    expect(await restoreInto(place.empty.target, file, vault)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^This Redis is not empty\. .* nothing was changed\.\n$/),
    });
    expect(await emptyRaw.keys('*')).toEqual(['other']);
    await place.empty.flush();
  });

  test('is refused when it is no backup at all', async () => {
    const none = 'FILE is no backup of this version of Cardvault.\n';
    expect(await refusalOf(Buffer.alloc(0))).toBe(none);
    expect(await refusalOf(Buffer.from('{"format":"cardvault-backup","version":2}\n'))).toBe(none);
    expect(await refusalOf(Buffer.alloc(100_000, 'x'))).toBe(none);
    expect((await place.restore(newFile())).err).toBe('FILE cannot be read (ENOENT).\n');
  });
});
