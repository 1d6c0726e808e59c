import { afterAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { changesOf, flip } from '../helpers/tampering.ts';
import { openTestVault } from '../helpers/vault.ts';

const REFUSED = '500 integrity_failed';
const UNTOUCHED = '{"number":"1","holder":"Ada"}';

const vault = await openTestVault();
const [account, other] = [await vault.account(), await vault.account()];
await Promise.all([account.key('u'), other.key('u')]);
const token = await account.store('u', UNTOUCHED);
afterAll(() => vault.close());

async function make(id: string, tag: string, client = account): Promise<void> {
  const body = [{ name: 'template', output_field: tag, arguments: { template: `made by ${tag}` } }];
  expect((await client.send('POST', '/rule', { query: { id }, body })).outcome).toBe('200');
}
async function recordOf(id: string, client = account): Promise<Buffer> {
  return (await vault.raw.hgetBuffer(redisKeys.rules(client.aid), id)) ?? Buffer.alloc(0);
}
function put(id: string, record: Buffer | string, client = account): Promise<unknown> {
  return vault.raw.hset(redisKeys.rules(client.aid), id, record);
}
function read(rules: string) {
  return account.send('GET', '/vault', { query: { user: 'u', token, rules }, passphrase: PASSPHRASE });
}

/** Every use of rules, each with how it ends. */
async function usesOf(rules: string): Promise<Record<string, string>> {
  const [reader, writer] = [
    await createRetrieve(account, 'u', { rules }),
    await createCapture(account, 'u', { rules, unique_id: `c-${rules}` }),
  ];
  const query = { user: 'u', token, rules };
  const tree = (reply: Promise<{ outcome: string }>): Promise<string> =>
    reply.then(({ outcome }) => outcome).catch(() => REFUSED);
  const uses = {
    decrypt: (await read(rules)).outcome,
    decrypt_all: await tree(
      account.send('GET', '/vault', {
        query: { user: 'u', rules, decrypt_all: true },
        passphrase: PASSPHRASE,
      }),
    ),
    update: (await account.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: { x: 1 } }))
      .outcome,
    retrieve: (await retrieve(vault, reader, { query: { token } })).outcome,
    'retrieve all': await tree(retrieve(vault, reader, { query: { decrypt_all: true } })),
    capture: (await capture(vault, writer, { body: { number: '2' } })).outcome,
    show: (await account.send('GET', '/rule', { query: { id: rules } })).outcome,
    list: (await account.send('GET', '/rule')).outcome,
  };
  await account.send('DELETE', `/capture/c-${rules}`);
  return uses;
}
function allRefused(uses: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(uses).map((use) => [use, REFUSED]));
}

describe('a rule’s record', () => {
  test('that was changed in any way is refused, and serves again when it is put back', async () => {
    await make('changed', 'tag');
    expect((await read('changed')).json).toMatchObject({ tag: 'made by tag' });
    const original = await recordOf('changed');
    const wrong: string[] = [];
    for (const [change, bytes] of changesOf(original, 2)) {
      await put('changed', bytes);
      const { outcome } = await read('changed');
      if (outcome !== REFUSED) {
        wrong.push(`${change}: ${outcome}`);
      }
    }
    expect(wrong).toEqual([]);
    await put('changed', original);
    expect((await read('changed')).json).toMatchObject({ tag: 'made by tag' });
  });

  test('that was changed is refused to every use, and nothing is stored, shown or logged', async () => {
    await make('spoilt', 'tag');
    const original = await recordOf('spoilt');
    const before = [
      (await account.sdk.vault.list({ user: 'u', limit: -1 })).data,
      (await account.sdk.vault.log({ user: 'u', token })).data.length,
    ];
    await put('spoilt', flip(original, original.length - 20));
    const uses = await usesOf('spoilt');
    expect(uses).toEqual(allRefused(uses));
    expect([
      (await account.sdk.vault.list({ user: 'u', limit: -1 })).data,
      (await account.sdk.vault.log({ user: 'u', token })).data.length,
    ]).toEqual(before);
    expect(await account.open('u', token)).toBe(UNTOUCHED);
    await account.send('DELETE', '/rule', { query: { id: 'spoilt' } });
  });

  test('in the place of another rule of the account is refused, both ways', async () => {
    await make('one', 'first');
    await make('two', 'second');
    const [one, two] = [await recordOf('one'), await recordOf('two')];
    await put('one', two);
    await put('two', one);
    for (const id of ['one', 'two']) {
      const uses = await usesOf(id);
      expect(uses).toEqual(allRefused(uses));
    }
    await put('one', one);
    await put('two', two);
    expect((await read('one,two')).json).toMatchObject({ first: 'made by first', second: 'made by second' });
    await put('three', one);
    expect((await read('three')).outcome).toBe(REFUSED);
    await account.send('DELETE', '/rule', { query: { id: 'three' } });
  });

  test('of another account, under the same id, is refused', async () => {
    await make('shared', 'mine');
    await make('shared', 'theirs', other);
    const mine = await recordOf('shared');
    await put('shared', await recordOf('shared', other));
    const uses = await usesOf('shared');
    expect(uses).toEqual(allRefused(uses));
    await put('shared', mine, other);
    const { outcome } = await other.send('GET', '/rule', { query: { id: 'shared' } });
    expect(outcome).toBe(REFUSED);
    await put('shared', mine);
    expect((await read('shared')).json).toMatchObject({ mine: 'made by mine' });
  });

  test('that one server has used, and another one sees spoilt, is refused by both', async () => {
    await make('cached', 'tag');
    const second = await vault.secondServer();
    const there = account.via(second.handle);
    const query = { user: 'u', token, rules: 'cached' };
    const readThere = () => there.send('GET', '/vault', { query, passphrase: PASSPHRASE });
    expect([(await read('cached')).outcome, (await readThere()).outcome]).toEqual(['200', '200']);
    await put('cached', flip(await recordOf('cached'), 60));
    expect([(await read('cached')).outcome, (await readThere()).outcome]).toEqual([REFUSED, REFUSED]);
    await second.close();
    await account.send('DELETE', '/rule', { query: { id: 'cached' } });
  });

  test('among good ones spoils the whole request, and no good one is applied', async () => {
    await make('good', 'good');
    await make('bad', 'bad');
    await put('bad', flip(await recordOf('bad'), 50));
    for (const rules of ['good,bad', 'bad,good']) {
      const answer = await read(rules);
      expect(answer.outcome).toBe(REFUSED);
      expect(answer.text).not.toContain('made by');
    }
    expect((await read('good')).outcome).toBe('200');
    await account.send('DELETE', '/rule', { query: { id: 'bad' } });
  });

  test('can still be deleted, and its id is free then', async () => {
    await make('stuck', 'tag');
    await put('stuck', Buffer.alloc(0));
    expect((await account.send('DELETE', '/rule', { query: { id: 'stuck' } })).outcome).toBe('200');
    await make('stuck', 'again');
    expect((await read('stuck')).json).toMatchObject({ again: 'made by again' });
  });
});
