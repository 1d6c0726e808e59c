/** Items of older generations of a key are sealed anew under its newest one, with the data that they have. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const NEXT = 'another-long-passphrase-Zq4-kT9';
const CARD = { card_number: '4111111111111111', holder: 'Ada', cvv: '123' };

interface Progress {
  readonly total: number;
  readonly done: number;
  readonly paused?: true;
  readonly finished_at?: string;
}

let vault: TestVault;
let account: AccountClient;
beforeAll(async () => {
  vault = await openTestVault({ sadTtlMs: 600_000 });
  account = await vault.account();
});
afterAll(() => vault.close());

function reseal(user: string, passphrase: string): Promise<Answer> {
  return account.send('POST', '/key/reseal', { body: { user, passphrase } });
}
async function progress(user: string): Promise<Progress> {
  return (await account.send('GET', '/key/reseal', { query: { user } })).as<Progress>();
}
async function finished(user: string): Promise<Progress> {
  for (let tries = 0; tries < 600; tries++) {
    const now = await progress(user);
    if (now.finished_at !== undefined) {
      return now;
    }
    await Bun.sleep(20);
  }
  throw new Error(JSON.stringify(await progress(user)));
}
async function change(user: string, from: string, to: string): Promise<void> {
  const body = { user, passphrase: from, new_passphrase: to };
  expect((await account.send('PUT', '/key', { body })).outcome).toBe('200');
}
function read(user: string, token: string, passphrase: string, reference?: string): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user, token, reference }, passphrase });
}
async function sealedBytes(user: string, token: string): Promise<string> {
  const item = await vault.opened.stores.itemStore.read(await vault.kidOf(account, user), token);
  return item?.item.toString('hex') ?? '';
}

describe('a reseal', () => {
  test('seals every older item anew, and changes nothing that its owner sees', async () => {
    await account.key('all');
    const tokens: string[] = [];
    for (let n = 0; n < 150; n++) {
      tokens.push(
        await account.store('all', { ...CARD, n }, { reference: `r${n}`, metadata: '{"tier":"gold"}' }),
      );
    }
    await change('all', PASSPHRASE, NEXT);
    const fresh = await account.send('POST', '/vault', {
      query: { user: 'all' },
      body: CARD,
      passphrase: NEXT,
    });
    const [first = ''] = tokens;
    const before = await read('all', first, NEXT, 'r0');
    const listed = await account.send('GET', '/vault', { query: { user: 'all' } });
    const log = await account.send('GET', '/vault/metadata', { query: { user: 'all', token: first } });
    const bytes = await sealedBytes('all', first);
    const started = await reseal('all', NEXT);
    expect(started.outcome).toBe('200');
    expect(started.as<Progress>().total).toBe(150);
    expect(await finished('all')).toMatchObject({ total: 150, done: 150 });
    expect(await sealedBytes('all', first)).not.toBe(bytes);
    const after = await read('all', first, NEXT, 'r0');
    expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
    expect((await account.send('GET', '/vault', { query: { user: 'all' } })).text).toBe(listed.text);
    const logged = await account.send('GET', '/vault/metadata', { query: { user: 'all', token: first } });
    expect(logged.text).toContain(log.text.slice(1, 40));
    expect((await read('all', fresh.as<{ token: string }>().token, NEXT)).outcome).toBe('200');
    expect(await reseal('all', NEXT).then((answer) => answer.as<Progress>().total)).toBe(0);
    expect(JSON.parse((await runCommand(['verify', '--json'], { vault })).out)).toMatchObject({ ok: true });
  }, 60_000);

  test('merges what was captured for an item meanwhile', async () => {
    await account.key('patched');
    const token = await account.store('patched', CARD);
    await change('patched', PASSPHRASE, NEXT);
    const endpoint = await createCapture(account, 'patched', { token }, NEXT);
    expect((await capture(vault, endpoint, { body: { note: 'patched' } })).outcome).toBe('200');
    const before = await read('patched', token, NEXT);
    await reseal('patched', NEXT);
    await finished('patched');
    const after = await read('patched', token, NEXT);
    expect([after.json, after.headers.get('etag')]).toEqual([before.json, before.headers.get('etag')]);
    expect(after.json).toMatchObject({ holder: 'Ada', note: 'patched' });
  });

  test('keeps the end of a code, and does not bring back one that was deleted', async () => {
    await account.key('codes');
    const token = await account.store('codes', CARD);
    const kid = await vault.kidOf(account, 'codes');
    const sad = redisKeys.sad(vault.opened.stores.itemStore.bucketOf(kid, token), token);
    const before = await vault.raw.pexpiretime(sad);
    await change('codes', PASSPHRASE, NEXT);
    await reseal('codes', NEXT);
    await finished('codes');
    expect(await vault.raw.pexpiretime(sad)).toBe(before);
    expect((await read('codes', token, NEXT)).json).toMatchObject(CARD);
  });

  test('needs the passphrase, and a key', async () => {
    await account.key('own');
    expect((await reseal('own', 'wrong-passphrase-wrong-passphrase')).outcome).toBe('403 passphrase_wrong');
    const none = await reseal('nobody', PASSPHRASE);
    expect([none.outcome, none.field]).toEqual(['404 key_not_found', 'body.user']);
    expect(await progress('own')).toEqual({ total: 0, done: 0 });
  });

  test('runs once at a time, goes on after a pause, and ends with a change of the passphrase', async () => {
    await account.key('once');
    for (let n = 0; n < 20; n++) {
      await account.store('once', { ...CARD, n }, { reference: `r${n}` });
    }
    await change('once', PASSPHRASE, NEXT);
    const kid = await vault.kidOf(account, 'once');
    const lease = redisKeys.resealLease(account.aid, kid);
    await vault.raw.set(lease, 'another', 'PX', 60_000);
    expect((await reseal('once', NEXT)).outcome).toBe('200');
    expect(await progress('once')).toEqual({ total: 0, done: 0 });
    await vault.raw.hset(redisKeys.reseal(account.aid, kid), { gen: 2, total: 25, done: 5 });
    expect(await progress('once')).toEqual({ total: 25, done: 5 });
    await vault.raw.del(lease);
    expect(await progress('once')).toEqual({ total: 25, done: 5, paused: true });
    expect((await reseal('once', NEXT)).outcome).toBe('200');
    expect(await finished('once')).toMatchObject({ total: 25, done: 25 });
    await change('once', NEXT, PASSPHRASE);
    expect((await reseal('once', PASSPHRASE)).as<Progress>().total).toBe(20);
    expect(await finished('once')).toMatchObject({ total: 20, done: 20 });
  });

  test('ends with its key', async () => {
    await account.key('gone');
    await account.store('gone', CARD);
    const kid = await vault.kidOf(account, 'gone');
    await reseal('gone', PASSPHRASE);
    await finished('gone');
    await account.send('DELETE', '/key', { query: { user: 'gone', safe: false } });
    expect(await vault.raw.exists(redisKeys.reseal(account.aid, kid))).toBe(0);
  });

  test('under load loses no change', async () => {
    await account.key('load');
    const tokens = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        account.store('load', { ...CARD, round: 0 }, { reference: `r${n}` }),
      ),
    );
    await change('load', PASSPHRASE, NEXT);
    const started = reseal('load', NEXT);
    const updates = await Promise.all(
      tokens.map((token, n) =>
        account.send('POST', '/vault/update', {
          query: { user: 'load', token, reference: `r${n}` },
          body: { round: n + 1 },
          passphrase: NEXT,
        }),
      ),
    );
    expect(updates.filter(({ outcome }) => outcome !== '200')).toEqual([]);
    await started;
    await finished('load');
    const found = await Promise.all(tokens.map((token, n) => read('load', token, NEXT, `r${n}`)));
    expect(found.map(({ json }) => Object(json).round)).toEqual(tokens.map((_, n) => n + 1));
  }, 60_000);
});
