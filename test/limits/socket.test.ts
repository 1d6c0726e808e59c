import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { listen } from '../../server/http/listen/listen.ts';
import { type AccountClient, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

let vault: TestVault;
let server: ReturnType<typeof listen>;
let client: AccountClient;

beforeAll(async () => {
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
});
