/** Items of older generations of a key are sealed anew under its newest one, with the data that they have. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { ResealStore } from '../../server/vault/store/reseals.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { operatorClient } from '../helpers/credentials.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { finished, type Progress, progressOf, reseal, untilProgress } from './reseals.ts';

const NEXT = 'another-long-passphrase-Zq4-kT9';
const CARD = { card_number: '4111111111111111', holder: 'Ada', cvv: '123' };

let vault: TestVault;
/** The clock of the server, ms since 1970; that of the system while it is 0. */
let clock = 0;
let account: AccountClient;
beforeAll(async () => {
  vault = await openTestVault({ sadTtlMs: 600_000, alone: true, now: () => clock || Date.now() });
  account = await vault.account();
});
afterAll(() => vault.close());

function start(user: string, passphrase: string, through = account): Promise<Answer> {
  return through.send('POST', '/key/reseal', { body: { user, passphrase } });
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

async function listedOf(user: string): Promise<{ readonly token: string; readonly stored_at: string }[]> {
  const { json } = await account.send('GET', '/vault', { query: { user, limit: -1 } });
  return Object(json)[user];
}
/** Stores items under a key, and changes its passphrase. */
async function filled(user: string, items: number, isNew = true): Promise<readonly string[]> {
  if (isNew) {
    await account.key(user);
  }
  const tokens = await Promise.all(
    Array.from({ length: items }, (_, n) =>
      account.store(user, { ...CARD, round: n }, { reference: `r${n}` }),
    ),
  );
  await change(user, PASSPHRASE, NEXT);
  return tokens;
}
/** Holds the reseals of a server at their first page. */
function hold({ opened: { crypto } }: TestVault) {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const sealPage = crypto.resealItems.bind(crypto);
  let items = 0;
  const spy = spyOn(crypto, 'resealItems').mockImplementation(async (page) => {
    reached.resolve();
    await released.promise;
    const sealed = await sealPage(page);
    items +=
      sealed.kind === 'resealed'
        ? sealed.parts.ends.filter((end, i) => i % 5 === 0 && end > (sealed.parts.ends[i - 1] ?? 0)).length
        : 0;
    return sealed;
  });
  return {
    reached: reached.promise,
    release: released.resolve,
    calls: () => spy.mock.calls.length,
    /** Items that were sealed. */
    items: () => items,
    end: () => spy.mockRestore(),
  };
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
    const started = await start('all', NEXT);
    expect(started.outcome).toBe('200');
    expect(started.as<Progress>().total).toBe(150);
    expect(await finished(account, 'all')).toMatchObject({ total: 150, done: 150 });
    expect(await sealedBytes('all', first)).not.toBe(bytes);
    const after = await read('all', first, NEXT, 'r0');
    expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
    expect((await account.send('GET', '/vault', { query: { user: 'all' } })).text).toBe(listed.text);
    const logged = await account.send('GET', '/vault/metadata', { query: { user: 'all', token: first } });
    expect(logged.text).toContain(log.text.slice(1, 40));
    expect((await read('all', fresh.as<{ token: string }>().token, NEXT)).outcome).toBe('200');
    expect(await reseal(account, 'all', NEXT)).toMatchObject({ total: 0, done: 0 });
    expect(JSON.parse((await runCommand(['verify', '--json'], { vault })).out)).toMatchObject({ ok: true });
  }, 60_000);

  test('merges what was captured for an item meanwhile', async () => {
    await account.key('patched');
    const token = await account.store('patched', CARD);
    await change('patched', PASSPHRASE, NEXT);
    const endpoint = await createCapture(account, 'patched', { token }, NEXT);
    expect((await capture(vault, endpoint, { body: { note: 'patched' } })).outcome).toBe('200');
    const before = await read('patched', token, NEXT);
    await reseal(account, 'patched', NEXT);
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
    await reseal(account, 'codes', NEXT);
    expect(await vault.raw.pexpiretime(sad)).toBe(before);
    expect((await read('codes', token, NEXT)).json).toMatchObject(CARD);
    const run = hold(vault);
    await change('codes', NEXT, PASSPHRASE);
    await start('codes', PASSPHRASE);
    await run.reached;
    await vault.raw.del(sad);
    run.release();
    await finished(account, 'codes');
    run.end();
    expect(await vault.raw.exists(sad)).toBe(0);
    // A verification would miss it.
    await account.send('DELETE', '/vault', { query: { user: 'codes', token } });
  });

  test('needs the passphrase, and a key', async () => {
    await account.key('own');
    expect((await start('own', 'wrong-passphrase-wrong-passphrase')).outcome).toBe('403 passphrase_wrong');
    const none = await start('nobody', PASSPHRASE);
    expect([none.outcome, none.field]).toEqual(['404 key_not_found', 'body.user']);
    expect(await progressOf(account, 'own')).toEqual({ total: 0, done: 0 });
  });

  test('runs once at a time, on either server, and a repeat meanwhile changes nothing', async () => {
    await filled('once', 40);
    const [first, second] = [await vault.secondServer(), await vault.secondServer()];
    const [there, beside] = [account.via(first.handle), account.via(second.handle)];
    const run = hold(first);
    const others = hold(second);
    expect((await start('once', NEXT, there)).as<Progress>()).toEqual({ total: 40, done: 0 });
    await run.reached;
    for (const at of [there, beside]) {
      const again = await start('once', NEXT, at);
      expect([again.outcome, again.json]).toEqual(['200', { total: 40, done: 0 }]);
    }
    expect(others.calls()).toBe(0);
    // The server stops in the middle, and the other one goes on.
    const stopped = first.close();
    run.release();
    await stopped;
    const paused = await progressOf(beside, 'once');
    expect(paused).toEqual({ total: 40, done: 32, paused: true });
    others.release();
    expect((await start('once', NEXT, beside)).as<Progress>()).toMatchObject({ total: 40, done: 32 });
    expect(await finished(beside, 'once')).toMatchObject({ total: 40, done: 40 });
    expect(others.items()).toBe(8);
    await second.close();
  }, 30_000);

  test('pauses after an hour, until a repeat', async () => {
    await filled('hour', 40);
    const run = hold(vault);
    await start('hour', NEXT);
    await run.reached;
    clock = Date.now() + 3_600_001;
    run.release();
    const paused = await untilProgress(account, 'hour', (now) => now.paused === true);
    expect(paused).toEqual({ total: 40, done: 32, paused: true });
    clock = 0;
    expect(await reseal(account, 'hour', NEXT)).toMatchObject({ total: 40, done: 40 });
    run.end();
  });

  test('pauses with the suspension of its account, until a repeat after that', async () => {
    await filled('suspended', 40);
    const run = hold(vault);
    await start('suspended', NEXT);
    await run.reached;
    const operator = await operatorClient(vault);
    const claim = redisKeys.resealLease(account.aid, await vault.kidOf(account, 'suspended'));
    expect((await operator.send('POST', `/account/${account.name}/suspend`)).outcome).toBe('200');
    // Its claim is extended every two seconds, to ten, while the account is not suspended.
    while ((await vault.raw.pttl(claim)) > 7_500) {
      await Bun.sleep(50);
    }
    expect((await operator.send('POST', `/account/${account.name}/resume`)).outcome).toBe('200');
    run.release();
    const paused = await untilProgress(account, 'suspended', (now) => now.paused === true);
    expect(paused).toEqual({ total: 40, done: 32, paused: true });
    expect(await reseal(account, 'suspended', NEXT)).toMatchObject({ total: 40, done: 40 });
    run.end();
  });

  test('ends with a change of the passphrase, and goes on under the next one', async () => {
    await filled('changed', 40);
    const run = hold(vault);
    await start('changed', NEXT);
    await run.reached;
    await change('changed', NEXT, PASSPHRASE);
    run.release();
    const paused = await untilProgress(account, 'changed', (now) => now.paused === true);
    expect(paused).toEqual({ total: 40, done: 0, paused: true });
    expect(await reseal(account, 'changed', PASSPHRASE)).toMatchObject({ total: 40, done: 40 });
    run.end();
  });

  test('ends with the deletion of its key', async () => {
    await filled('deleted', 40);
    const server = await vault.secondServer();
    const run = hold(server);
    await start('deleted', NEXT, account.via(server.handle));
    await run.reached;
    const removed = await account.send('DELETE', '/key', { query: { user: 'deleted', safe: false } });
    expect(removed.outcome).toBe('200');
    run.release();
    await untilProgress(account, 'deleted', ({ code }) => code === 'key_not_found');
    // A run that goes on would keep it from closing.
    await server.close();
  }, 30_000);

  test('goes on by a repeat soon after the death of its server', async () => {
    await filled('dead', 40);
    const kid = await vault.kidOf(account, 'dead');
    // What a server leaves that has died after its first page.
    const [lease, state] = [redisKeys.resealLease(account.aid, kid), redisKeys.reseal(account.aid, kid)];
    await vault.raw.set(lease, 'another', 'PX', 1_500);
    await vault.raw.hset(state, { gen: 2, total: 45, done: 5 });
    expect(await progressOf(account, 'dead')).toEqual({ total: 45, done: 5 });
    expect((await start('dead', NEXT)).as<Progress>().total).toBe(45);
    expect(await finished(account, 'dead')).toMatchObject({ total: 45, done: 45 });
  });

  test('ends with its key', async () => {
    await account.key('gone');
    await account.store('gone', CARD);
    const kid = await vault.kidOf(account, 'gone');
    await reseal(account, 'gone', PASSPHRASE);
    await account.send('DELETE', '/key', { query: { user: 'gone', safe: false } });
    expect(await vault.raw.exists(redisKeys.reseal(account.aid, kid))).toBe(0);
  });

  test('leaves nothing of a key that is deleted before its next note', async () => {
    await account.key('noted');
    const kid = await vault.kidOf(account, 'noted');
    const { reseals } = vault.opened.services;
    const held = holdNext(Reflect.get(reseals, 'store') as ResealStore, 'write');
    const started = start('noted', PASSPHRASE);
    await held.reached;
    await account.send('DELETE', '/key', { query: { user: 'noted', safe: false } });
    held.release();
    await started;
    await Promise.all(Reflect.get(reseals, 'running') as Set<Promise<void>>);
    expect(await vault.raw.exists(redisKeys.reseal(account.aid, kid))).toBe(0);
  });

  test('under load loses no change, no item and no log, and brings nothing back', async () => {
    await account.send('POST', '/key', { body: { user: 'load', passphrase: PASSPHRASE } });
    const tokens = await filled('load', 120, false);
    const endpoints = await Promise.all(
      tokens
        .slice(60, 70)
        .map((token, n) => createCapture(account, 'load', { token, reference: `r${60 + n}` }, NEXT)),
    );
    const at = (n: number) => ({ user: 'load', token: tokens[n], reference: `r${n}` });
    const before = new Map((await listedOf('load')).map(({ token, stored_at }) => [token, stored_at]));
    const was = await read('load', tokens[100] ?? '', NEXT, 'r100');
    const rounds = async (round: number): Promise<void> => {
      const answers = await Promise.all([
        ...tokens
          .slice(0, 40)
          .map((_, n) =>
            account.send('POST', '/vault/update', { query: at(n), body: { round }, passphrase: NEXT }),
          ),
        ...endpoints.map((endpoint) => capture(vault, endpoint, { body: { note: `n${round}` } })),
        ...Array.from({ length: 10 }, (_, n) =>
          account.send('POST', '/vault', {
            ...{ query: { user: 'load', reference: `new ${round} ${n}` }, body: CARD, passphrase: NEXT },
          }),
        ),
        ...[40 + 2 * round, 41 + 2 * round].map((n) => account.send('DELETE', '/vault', { query: at(n) })),
      ]);
      expect(answers.filter(({ status }) => status !== 200).map(({ outcome }) => outcome)).toEqual([]);
    };
    await start('load', NEXT);
    for (let round = 0; round < 10; round++) {
      await rounds(round);
    }
    const end = await finished(account, 'load');
    expect(end.done).toBe(end.total);
    const after = await listedOf('load');
    expect(after).toHaveLength(120 - 20 + 100);
    for (const [n, token] of tokens.entries()) {
      const found = await read('load', token, NEXT, `r${n}`);
      const isDeleted = n >= 40 && n < 60;
      expect(found.outcome).toBe(isDeleted ? '404 token_not_found' : '200');
      expect(Object(found.json).round).toBe(n < 40 ? 9 : isDeleted ? undefined : n);
      expect(Object(found.json).note).toBe(n >= 60 && n < 70 ? 'n9' : undefined);
      if (n >= 70) {
        expect(after.find((item) => item.token === token)?.stored_at).toBe(before.get(token) ?? '');
      }
    }
    const is = await read('load', tokens[100] ?? '', NEXT, 'r100');
    expect([is.text, is.headers.get('etag')]).toEqual([was.text, was.headers.get('etag')]);
    expect(JSON.parse((await runCommand(['verify', '--json'], { vault })).out)).toMatchObject({ ok: true });
    expect(await reseal(account, 'load', NEXT)).toMatchObject({ total: 0 });
  }, 60_000);
});
