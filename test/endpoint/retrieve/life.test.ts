import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import { Secret } from '../../../server/core/secret.ts';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  retrieve,
} from '../../helpers/endpoints.ts';
import { holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { changePassphrase, GONE } from '../kinds.ts';

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

async function outcomeOf(endpoint: MadeEndpoint, query: Query = {}): Promise<string> {
  return (await retrieve(vault, endpoint, { query })).outcome;
}
function dataIn(answer: Answer, user: string): unknown[] {
  return (answer.as<Tree>()[user] ?? []).map(({ data }) => data);
}

describe('a change of the passphrase', () => {
  test('leaves a new endpoint the items of all generations, captured ones too', async () => {
    await account.key('aged');
    const passphrases = [PASSPHRASE, `${PASSPHRASE} 2`, `${PASSPHRASE} 3`];
    const wanted: unknown[] = [];
    for (const [n, passphrase] of passphrases.entries()) {
      const body = { number: `10${n}`, cvv: `${n}`, big: n };
      const query = { user: 'aged' };
      expect((await account.send('POST', '/vault', { query, passphrase, body })).outcome).toBe('200');
      const endpoint = await createCapture(account, 'aged', { unique_id: `aged-${n}` }, passphrase);
      const sent = { number: `20${n}`, cvv: `${n}` };
      expect((await capture(vault, endpoint, { body: sent })).outcome).toBe('200');
      wanted.push(body, sent);
      const next = passphrases[n + 1];
      if (next !== undefined) {
        expect((await changePassphrase(account, 'aged', next, passphrase)).outcome).toBe('200');
      }
    }
    const endpoint = await createRetrieve(account, 'aged', {}, passphrases[2]);
    const all = await retrieve(vault, endpoint, { query: { decrypt_all: true } });
    // Two may be of one millisecond, which are in the order of their tokens.
    const texts = (data: readonly unknown[]) => data.map((each) => JSON.stringify(each)).sort();
    expect(texts(dataIn(all, 'aged'))).toEqual(texts(wanted));
    for (const { token, reference, data } of all.as<Tree>()['aged'] ?? []) {
      const one = await retrieve(vault, endpoint, { query: { token, reference } });
      expect(one.json).toEqual(data);
    }
    const locked = await createRetrieve(account, 'aged', { reference: 'aged-0' }, passphrases[2]);
    expect(dataIn(await retrieve(vault, locked, { query: { decrypt_all: true } }), 'aged')).toEqual([
      { number: '200', cvv: '0' },
    ]);
  });

  test('on its way through a tree ends the reply, which is then no valid JSON', async () => {
    await account.key('raced');
    await Promise.all(
      Array.from({ length: 400 }, (_, n) =>
        account.store('raced', { number: `${n}`, text: 'x'.repeat(200) }),
      ),
    );
    const made = await createRetrieve(account, 'raced');
    const { itemStore } = vault.opened.stores;
    const held = holdNext(itemStore, 'readMany', { skip: 3 });
    const reading = retrieve(vault, made, { query: { decrypt_all: true, limit: -1 } }).then(
      ({ outcome }) => outcome,
      () => 'broke off',
    );
    await held.reached;
    expect((await changePassphrase(account, 'raced')).outcome).toBe('200');
    held.release();
    expect(await reading).toBe('broke off');
    expect(await outcomeOf(made)).toBe(GONE);
  });

  test('before a tree of items that were stored under the next passphrase ends it too', async () => {
    await account.key('raced-tree');
    const token = await account.store('raced-tree', { number: '1' });
    const made = await createRetrieve(account, 'raced-tree');
    const held = holdNext(vault.opened.stores.itemStore, 'readMany');
    const reading = retrieve(vault, made, { query: { decrypt_all: true } });
    await held.reached;
    expect((await changePassphrase(account, 'raced-tree')).outcome).toBe('200');
    const update = { query: { user: 'raced-tree', token }, passphrase: `${PASSPHRASE} 2`, body: { more: 1 } };
    expect((await account.send('POST', '/vault/update', update)).outcome).toBe('200');
    held.release();
    expect((await reading).outcome).toBe(GONE);
  });

  test('on its way through one item ends it too', async () => {
    await account.key('raced-one');
    const token = await account.store('raced-one', { number: '1' });
    const made = await createRetrieve(account, 'raced-one');
    const held = holdNext(vault.opened.stores.itemStore, 'appendLog');
    const reading = retrieve(vault, made, { query: { token } });
    await held.reached;
    expect((await changePassphrase(account, 'raced-one')).outcome).toBe('200');
    held.release();
    const answer = await reading;
    expect(answer.outcome).toBe(GONE);
    expect(answer.text).not.toContain('number');
  });
});

describe('without its account', () => {
  test('an account that is gone is enough, while its data are still being removed', async () => {
    const client = await vault.account();
    await client.key('u');
    const token = await client.store('u', { number: '1' });
    const made = await createRetrieve(client, 'u');
    expect(await outcomeOf(made, { token })).toBe('200');
    await vault.opened.services.accounts.remove(client.name);
    expect([
      await outcomeOf(made, { token }),
      await outcomeOf(made),
      await outcomeOf(made, { decrypt_all: true }),
    ]).toEqual([GONE, GONE, GONE]);
  });

  test('another account of the same name does not take it over', async () => {
    const client = await vault.account();
    await client.key('u');
    const token = await client.store('u', { number: '1' });
    const made = await createRetrieve(client, 'u');
    const record = await vault.raw.hgetBuffer(redisKeys.accounts, client.name);
    await vault.opened.services.accounts.remove(client.name);
    await vault.opened.services.accounts.create(
      client.name,
      new Secret(new TextEncoder().encode('a password of another account')),
      { unmasked: true },
    );
    expect(await outcomeOf(made, { token })).toBe(GONE);
    expect(await outcomeOf(made, { decrypt_all: true })).toBe(GONE);
    await vault.raw.hset(redisKeys.accounts, client.name, record ?? '');
    expect(await outcomeOf(made, { token })).toBe('200');
  });
});
