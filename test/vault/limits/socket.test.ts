import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultApiError } from '../../../sdk/index.ts';
import { listen } from '../../../server/http/listen/listen.ts';
import { buildGuide } from '../../helpers/built-guide.ts';
import { type AccountClient, basicAuth, PASSPHRASE } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let server: ReturnType<typeof listen>;
let client: AccountClient;

beforeAll(async () => {
  await buildGuide();
  vault = await openTestVault({ workers: 2 });
  server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  const base = `http://127.0.0.1:${server.port}`;
  const account = await vault.account();
  const overSocket = account.via(({ url, method, headers, body }) =>
    fetch(url.replace('http://localhost', base), { method, headers, body }),
  );
  client = { ...overSocket, sdk: account.sdkWith({ baseUrl: base, fetch: undefined }) };
});
afterAll(async () => {
  await server.stop(true);
  await vault.close();
});

describe('over a socket', () => {
  test('the longest password that an account can choose fits into the headers of a request', async () => {
    const password = '🔑'.repeat(2_048);
    const account = await vault.account();
    const signIn = (name: string): Promise<number> => {
      const headers = { authorization: basicAuth(name, password) };
      return fetch(`http://127.0.0.1:${server.port}/v1/whoami`, { headers }).then(({ status }) => status);
    };
    expect((await account.sdk.admin.changePassword({ new_password: password })).password).toBe(password);
    expect(await signIn(account.name)).toBe(200);
    // Names have at most 128 characters.
    expect(await signIn('n'.repeat(128))).toBe(401);
  });

  test('the SDK goes the whole way of a card', async () => {
    const { keys, vault: items, admin, utility } = client.sdk;
    expect((await admin.whoami()).user).toBe(client.name);
    const { passphrase } = await utility.passphrase();
    await keys.create({ user: 'shop', passphrase });
    const data = { card_number: '4111111111111111', card_holder: 'Ada', cvv: '123' };
    const address = { user: 'shop', reference: 'customer 1/ü' };
    const { token } = await items.store({ ...address, passphrase, data, return_card_metadata: true });
    expect(await items.decrypt({ ...address, token, passphrase })).toEqual(data);
    await items.update({ ...address, token, passphrase, data: { card_holder: 'Grace' } });
    const changed = await keys.changePassphrase({ user: 'shop', passphrase });
    const opened = await items.decrypt({ ...address, token, passphrase: changed.passphrase });
    expect(opened).toEqual({ ...data, card_holder: 'Grace' });
    const [logged] = (await items.log({ ...address, token })).data;
    expect(logged).toMatchObject({ action: 'decrypt', ip_address: '127.0.0.1' });
    await items.delete({ ...address, token });
    await keys.delete({ user: 'shop' });
    expect((await keys.list()).data.map(({ user }) => user)).not.toContain('shop');
  });

  test('the SDK throws what the service refuses, by its code', async () => {
    await client.key('refused');
    const { token } = await client.sdk.vault.store({
      user: 'refused',
      data: { number: '1' },
      reference: 'r',
    });
    const { keys, vault: items } = client.sdk;
    const address = { user: 'refused', token };
    const refusals: readonly (readonly [() => Promise<unknown>, number, string])[] = [
      [
        () => items.decrypt({ ...address, reference: 'r', passphrase: 'not the passphrase' }),
        403,
        'passphrase_wrong',
      ],
      [() => items.decrypt(address), 400, 'reference_required'],
      [() => items.decrypt({ ...address, reference: 's' }), 404, 'token_not_found'],
      [() => items.store({ user: 'nobody', data: { number: '1' } }), 404, 'key_not_found'],
      [() => items.store({ user: 'refused', data: { holder: 'Ada' } }), 400, 'number_missing'],
      [() => items.update({ ...address, reference: 'r', data: '[]' }), 400, 'invalid_request'],
      [() => keys.create({ user: 'refused', passphrase: PASSPHRASE }), 409, 'key_exists'],
      [() => keys.delete({ user: 'refused' }), 409, 'key_not_empty'],
      [() => client.sdk.vault.list({ limit: 0 }), 400, 'invalid_request'],
      [() => Array.fromAsync(items.decryptAll({ user: 'nobody' })), 404, 'key_not_found'],
    ];
    for (const [attempt, status, code] of refusals) {
      const error: unknown = await attempt().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(VaultApiError);
      expect(error).toMatchObject({ status, code, requestId: expect.any(String) });
    }
  });

  test('hundreds of requests at once are each answered with their own', async () => {
    await client.key('crowd');
    const numbers = Array.from({ length: 300 }, (_, n) => `${1_000 + n}`);
    const tokens = await Promise.all(numbers.map((number) => client.store('crowd', { number })));
    const texts = await Promise.all(tokens.map((token) => client.open('crowd', token)));
    expect(texts).toEqual(numbers.map((number) => `{"number":"${number}"}`));
    const all = await Array.fromAsync(client.sdk.vault.decryptAll({ user: 'crowd' }));
    expect(all.map(({ token }) => token).sort()).toEqual(tokens.toSorted());
  });

  test('the largest object goes in and out', async () => {
    await client.key('large');
    const text = `{"number":"1","text":"${'ü'.repeat(131_000)}"}`;
    const token = await client.store('large', text);
    expect(await client.open('large', token)).toBe(text);
    const over = {
      query: { user: 'large' },
      passphrase: PASSPHRASE,
      body: `{"number":"1","text":"${'x'.repeat(262_144)}"}`,
    };
    expect((await client.send('POST', '/vault', over)).outcome).toBe('413 body_too_large');
  });

  test.each([
    ['ASCII', 'x'.repeat(4_096)],
    ['spaces, each three characters when encoded', ' '.repeat(4_096)],
    ['two bytes each', 'ü'.repeat(4_096)],
    ['four bytes each', '🔑'.repeat(4_096)],
  ])('the longest passphrase opens by header: %s', async (name, passphrase) => {
    const user = `long-${name.slice(0, 3)}-${passphrase.length}`;
    await client.sdk.keys.create({ user, passphrase });
    const { token } = await client.sdk.vault.store({ user, passphrase, data: { number: '1' } });
    expect(await client.sdk.vault.decrypt({ user, token, passphrase })).toEqual({ number: '1' });
  });

  test('health, metrics and the API’s description are there', async () => {
    const base = `http://127.0.0.1:${server.port}`;
    const statuses = await Promise.all(
      ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs'].map(
        async (path) => (await fetch(base + path)).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
  });
});
