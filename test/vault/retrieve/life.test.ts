import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  retrieve,
} from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { holdNext } from '../hold.ts';

const START = Date.UTC(2026, 2, 3, 4, 5, 6, 400);
const GONE = '410 endpoint_gone';
const REFUSED = '403 endpoint_refused';

let now = START;
let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ now: () => now });
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

async function outcomeOf(endpoint: MadeEndpoint, query: Query = {}): Promise<string> {
  return (await retrieve(vault, endpoint, { query })).outcome;
}
async function changePassphrase(user: string, from: string, to: string): Promise<void> {
  const body = { user, passphrase: from, new_passphrase: to };
  expect((await account.send('PUT', '/key', { body })).outcome).toBe('200');
}
function dataIn(answer: Answer, user: string): unknown[] {
  return (answer.as<Tree>()[user] ?? []).map(({ data }) => data);
}

describe('the end of its time', () => {
  test('comes with the second that it was told, for every use, and not before', async () => {
    now = START;
    const token = await account.store('u', { number: '1' });
    const endpoint = await createRetrieve(account, 'u', { ttl: '10s' });
    const end = Date.parse(endpoint.expires_at ?? '');
    expect(end).toBe(Date.UTC(2026, 2, 3, 4, 5, 17));
    const uses = [{ token }, {}, { decrypt_all: true }];
    now = end - 1;
    for (const query of uses) {
      expect(await outcomeOf(endpoint, query)).toBe('200');
    }
    const before = await vault.usage(account);
    now = end;
    for (const query of uses) {
      expect(await outcomeOf(endpoint, query)).toBe(GONE);
    }
    now = end + 3_600_000;
    expect(await outcomeOf(endpoint)).toBe(GONE);
    expect((await retrieve(vault, endpoint, { secret: `${endpoint.secret}x` })).outcome).toBe(REFUSED);
    expect(await vault.usage(account)).toEqual(before);
  });

  test('is the same on every server, whatever it remembers', async () => {
    const endpoint = await createRetrieve(account, 'u', { ttl: '1h' });
    const second = await vault.secondServer();
    expect((await retrieve(second, endpoint)).outcome).toBe('200');
    now += 3_601_000;
    expect((await retrieve(second, endpoint)).outcome).toBe(GONE);
    await second.close();
  });

  test('never comes where there is none', async () => {
    const endpoint = await createRetrieve(account, 'u', { ttl: '0' });
    now += 20 * 365 * 86_400_000;
    await vault.opened.sweep();
    expect(await outcomeOf(endpoint)).toBe('200');
    now = START;
  });

  test('is forgotten a day later: then there was never such an endpoint', async () => {
    const endpoint = await createRetrieve(account, 'u', { ttl: '1h' });
    now += 25 * 3_600_000 + 1_000;
    expect(await outcomeOf(endpoint)).toBe(GONE);
    await vault.opened.sweep();
    expect(await outcomeOf(endpoint)).toBe(REFUSED);
    expect(await vault.raw.exists(redisKeys.endpoint(endpoint.unique_id))).toBe(0);
    now = START;
  });
});

describe('a change of the passphrase', () => {
  test('stops what was made before it, with its key’s old ways of being used', async () => {
    await account.key('changed');
    const [made, locked] = [
      await createRetrieve(account, 'changed', { ttl: '0' }),
      await createRetrieve(account, 'changed', { reference: 'r', rules: 'missing' }),
    ];
    const elsewhere = await createRetrieve(account, 'u');
    expect(await outcomeOf(made)).toBe('200');
    await changePassphrase('changed', PASSPHRASE, `${PASSPHRASE} 2`);
    for (const query of [{}, { decrypt_all: true }, { token: 'x' }]) {
      expect([await outcomeOf(made, query), await outcomeOf(locked, query)]).toEqual([GONE, GONE]);
    }
    expect((await retrieve(vault, made, { secret: elsewhere.secret })).outcome).toBe(REFUSED);
    expect(await outcomeOf(elsewhere)).toBe('200');
    const wrong = { query: { user: 'changed' }, passphrase: PASSPHRASE };
    expect((await account.send('POST', '/retrieve', wrong)).outcome).toBe('403 passphrase_wrong');
  });

  test('to the same passphrase stops it as well', async () => {
    await account.key('same');
    const made = await createRetrieve(account, 'same');
    await changePassphrase('same', PASSPHRASE, PASSPHRASE);
    expect(await outcomeOf(made)).toBe(GONE);
    expect(await outcomeOf(await createRetrieve(account, 'same'))).toBe('200');
  });

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
        await changePassphrase('aged', passphrase, next);
      }
    }
    const endpoint = await createRetrieve(account, 'aged', {}, passphrases[2]);
    const all = await retrieve(vault, endpoint, { query: { decrypt_all: true } });
    expect(dataIn(all, 'aged')).toEqual(wanted);
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
    await changePassphrase('raced', PASSPHRASE, `${PASSPHRASE} 2`);
    held.release();
    expect(await reading).toBe('broke off');
    expect(await outcomeOf(made)).toBe(GONE);
  });

  test('on its way through one item ends it too', async () => {
    await account.key('raced-one');
    const token = await account.store('raced-one', { number: '1' });
    const made = await createRetrieve(account, 'raced-one');
    const held = holdNext(vault.opened.stores.itemStore, 'appendLog');
    const reading = retrieve(vault, made, { query: { token } });
    await held.reached;
    await changePassphrase('raced-one', PASSPHRASE, `${PASSPHRASE} 2`);
    held.release();
    const answer = await reading;
    expect(answer.outcome).toBe(GONE);
    expect(answer.text).not.toContain('number');
  });
});

describe('without its ground', () => {
  test('an endpoint of a deleted key is one that never was', async () => {
    await account.key('doomed');
    await account.store('doomed', { number: '1' });
    const made = await createRetrieve(account, 'doomed');
    const query = { user: 'doomed', safe: false };
    expect((await account.send('DELETE', '/key', { query })).outcome).toBe('200');
    expect(await outcomeOf(made)).toBe(REFUSED);
    await account.key('doomed');
    await account.store('doomed', { number: '1' });
    expect(await outcomeOf(made)).toBe(REFUSED);
  });

  test('an endpoint of a deleted account is one that never was, and its id is free', async () => {
    const client = await vault.account();
    await client.key('u');
    const token = await client.store('u', { number: '1' });
    const made = await createRetrieve(client, 'u', { unique_id: 'orphan' });
    const second = await vault.secondServer();
    expect((await retrieve(second, made, { query: { token } })).outcome).toBe('200');
    await vault.opened.removeAccount(client.name);
    for (const query of [{ token }, {}, { decrypt_all: true }]) {
      expect(await outcomeOf(made, query)).toBe(REFUSED);
      expect((await retrieve(second, made, { query })).outcome).toBe(REFUSED);
    }
    await second.close();
    await createRetrieve(account, 'u', { unique_id: 'orphan' });
  });

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
      await vault.opened.services.accounts
        .makePassword()
        .then((text) => text.map((password) => new TextEncoder().encode(password))),
      { unmasked: true },
    );
    expect(await outcomeOf(made, { token })).toBe(GONE);
    expect(await outcomeOf(made, { decrypt_all: true })).toBe(GONE);
    await vault.raw.hset(redisKeys.accounts, client.name, record ?? '');
    expect(await outcomeOf(made, { token })).toBe('200');
  });

  test('a key made anew under the same name does not take it over', async () => {
    await account.key('twice');
    const made = await createRetrieve(account, 'twice');
    const kept = await vault.raw.dumpBuffer(redisKeys.endpoint(made.unique_id));
    const query = { user: 'twice', safe: true };
    expect((await account.send('DELETE', '/key', { query })).outcome).toBe('200');
    await account.key('twice');
    // Somebody puts the endpoint of the old key back.
    await vault.raw.restore(redisKeys.endpoint(made.unique_id), 0, kept);
    await account.store('twice', { number: '1' });
    for (const query of [{}, { decrypt_all: true }]) {
      expect(await outcomeOf(made, query)).toBe(GONE);
    }
  });
});
