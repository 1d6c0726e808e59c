/** A request acts for its account as it is stored when the request arrives, whichever server changed it last. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { type AccountClient, type Answer, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault({ workers: 2, authFailuresMax: 50 });
const second = await vault.secondServer();
afterAll(async () => {
  await second.close();
  await vault.close();
});

const NUMBERS = ['4111111111111111', '5555555555554444', '378282246310005', '6011111111111117'];

function store(client: AccountClient, number: string, headers = {}): Promise<Answer> {
  return client.send('POST', '/vault', {
    query: { user: 'k' },
    passphrase: PASSPHRASE,
    body: { number },
    headers,
  });
}
function read(client: AccountClient, token: string): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user: 'k', token }, passphrase: PASSPHRASE });
}
/** An account with a key and one item, which this server knows well. */
async function known(settings = {}): Promise<{ readonly client: AccountClient; readonly token: string }> {
  const client = await vault.account(settings);
  await client.key('k');
  const { token } = (await store(client, '4242424242424242')).as<{ token: string }>();
  expect((await read(client, token)).status).toBe(200);
  return { client, token };
}
/** How many items there are under the key, and how many fields they have: each log entry is one. */
async function sizeOf(kid: string): Promise<readonly number[]> {
  const items = await vault.raw.keys(`{${kid}.*}i*`);
  return Promise.all(items.map((name) => vault.raw.hlen(name)));
}

describe('a request after a change of its account on another server', () => {
  test('stores and shows nothing after a change of the password', async () => {
    const { client, token } = await known();
    const kid = await vault.kidOf(client, 'k');
    const before = await sizeOf(kid);
    expect(
      await second.opened.services.accounts.setPassword(
        client.name,
        new Secret(new TextEncoder().encode('another one')),
      ),
    ).toBeDefined();
    const answers = await Promise.all([
      ...NUMBERS.map((number) => store(client, number)),
      ...NUMBERS.map((number, i) => store(client, number, { 'Idempotency-Key': `assumed-${i}` })),
      ...NUMBERS.map(() => read(client, token)),
      client.send('GET', '/vault'),
      client.send('GET', '/vault', { query: { user: 'k', decrypt_all: 'true' }, passphrase: PASSPHRASE }),
      read(client, 'no-such-token'),
    ]);
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['401 unauthenticated']));
    expect(await sizeOf(kid)).toEqual(before);
  });

  test('has the rights and preferences that another server has changed', async () => {
    const { client, token } = await known({ unmasked: true });
    expect((await read(client, token)).json).toEqual({ number: '4242424242424242' });
    await second.opened.services.accounts.set(client.name, { unmasked: false });
    const shown = await Promise.all(NUMBERS.map(() => read(client, token)));
    for (const { status, text } of shown) {
      expect(status).toBe(200);
      expect(text).not.toContain('42424242');
    }
  });

  test('is rejected once the account is gone, and its reply says nothing of keys and items', async () => {
    const { client, token } = await known();
    await second.opened.services.accounts.remove(client.name);
    const answers = await Promise.all([
      store(client, '4111111111111111'),
      read(client, token),
      read(client, 'no-such-token'),
      client.send('POST', '/vault', {
        query: { user: 'none' },
        passphrase: PASSPHRASE,
        body: { number: '1' },
      }),
    ]);
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['401 unauthenticated']));
  });

  test('counts no guess at a passphrase once another server has changed the password', async () => {
    const { client, token } = await known();
    const from = { source: '127.0.0.1', network: '127.0.0.1' };
    const kid = await vault.kidOf(client, 'k');
    const { own } = vault.opened.stores.limitStore.guessCounters('key', kid, from);
    const password = new Secret(new TextEncoder().encode('another one'));
    expect(await second.opened.services.accounts.setPassword(client.name, password)).toBeDefined();
    const guesses = Array.from({ length: 8 }, (_, i) => `guess number ${i} of somebody`);
    const answers = await Promise.all(
      guesses.map((passphrase) => client.send('GET', '/vault', { query: { user: 'k', token }, passphrase })),
    );
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['401 unauthenticated']));
    expect(await vault.raw.exists(own)).toBe(0);
  });

  test('says nothing of keys while the account cannot be read', async () => {
    const { client } = await known();
    const reading = spyOn(vault.opened.stores.accountStore, 'read').mockImplementation(async () => {
      throw new VaultError('store_unavailable');
    });
    try {
      const query = { user: 'none', token: 'no-such-token' };
      const { outcome } = await client.send('GET', '/vault', { query, passphrase: PASSPHRASE });
      expect(outcome).toBe('503 store_unavailable');
    } finally {
      reading.mockRestore();
    }
  });

  test('ends with the account as it is when its body has come, however slowly', async () => {
    const { client } = await known();
    const kid = await vault.kidOf(client, 'k');
    const before = await sizeOf(kid);
    const pipe = new TransformStream<Uint8Array, Uint8Array>();
    const writer = pipe.writable.getWriter();
    const sent = Promise.resolve(
      vault.handle(
        new Request('http://localhost/v1/vault?user=k', {
          method: 'POST',
          body: pipe.readable,
          headers: {
            Authorization: basicAuth(client.name, client.password),
            'Content-Type': 'application/json',
            'X-Vault-Passphrase': encodeURIComponent(PASSPHRASE),
          },
        }),
      ),
    );
    const encoder = new TextEncoder();
    await writer.write(encoder.encode('{"number":'));
    const password = new Secret(encoder.encode('another one'));
    expect(await second.opened.services.accounts.setPassword(client.name, password)).toBeDefined();
    await writer.write(encoder.encode('"4111111111111111"}'));
    await writer.close();
    expect((await sent).status).toBe(401);
    expect(await sizeOf(kid)).toEqual(before);
  });

  test('counts once in the rate of its account', async () => {
    const { client, token } = await known();
    const limited = await vault.secondServer({ ratePerAccount: 4 });
    try {
      const there = client.via(limited.handle);
      for (const unmasked of [true, false, true, false]) {
        expect((await read(there, token)).status).toBe(200);
        await second.opened.services.accounts.set(client.name, { unmasked });
      }
    } finally {
      await limited.close();
    }
  });

  test('leaves no place taken behind, however often the account changes', async () => {
    const { client, token } = await known();
    for (const unmasked of [true, false, true, false]) {
      await second.opened.services.accounts.set(client.name, { unmasked });
      const answers = await Promise.all(Array.from({ length: 20 }, () => read(client, token)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    }
    expect(vault.opened.services.limiter.stats()).toMatchObject({
      write: { used: 0, waiting: 0 },
      read: { used: 0, waiting: 0 },
    });
  });
});
