import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Operator } from '../../server/cli-commands.ts';
import type { Caller } from '../../server/deps.ts';
import { createOperator } from '../../server/operator.ts';
import { Secret } from '../../server/secret.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

let vault: TestVault;
let operator: Operator;

beforeAll(async () => {
  vault = await openTestVault();
  operator = createOperator(vault.opened);
});
afterAll(() => vault.close());

const statusOf = async (name: string, password: string): Promise<number> => {
  const authorization = `Basic ${btoa(`${name}:${password}`)}`;
  const reply = await vault.handle(
    new Request('http://localhost/v1/whoami', { headers: { Authorization: authorization } }),
  );
  return reply.status;
};

const bytesOf = (secret: Secret<string>) => secret.map((text) => new TextEncoder().encode(text));

/** An account of this name, signed in with the password that it was made with. */
const callerOf = async (name: string, password = new Secret('')): Promise<Caller> => {
  const account = await vault.opened.accounts.signIn({ name, password: bytesOf(password), ip: '127.0.0.1' });
  return { account, ip: '127.0.0.1', userAgent: 'test', requestId: 'test', source: 'vault' };
};

describe('accounts', () => {
  test('are made once, with a password of 256 bits', async () => {
    const made = await operator.createAccount('op-made', { unmasked: true });
    const password = made?.password.expose() ?? '';
    expect(password).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await statusOf('op-made', password)).toBe(200);
    expect(await operator.createAccount('op-made', {})).toBeUndefined();
    expect((await operator.listAccounts()).find(({ name }) => name === 'op-made')?.unmasked).toBe(true);
  });

  test('a new password works at once, the old one no longer, though it was remembered', async () => {
    const made = await operator.createAccount('op-renewed', {});
    const before = made?.password.expose() ?? '';
    expect(await statusOf('op-renewed', before)).toBe(200);
    const after = (await operator.renewPassword('op-renewed'))?.expose() ?? '';
    expect(await statusOf('op-renewed', before)).toBe(401);
    expect(await statusOf('op-renewed', after)).toBe(200);
    expect(await operator.renewPassword('nobody-here')).toBeUndefined();
  });

  test('changes at the same moment all hold', async () => {
    await operator.createAccount('op-raced', {});
    await Promise.all([
      operator.setAccount('op-raced', { unmasked: true }),
      operator.setAccount('op-raced', { paying: true }),
      operator.setAccount('op-raced', { hosts: ['a.example'] }),
    ]);
    const found = (await operator.listAccounts()).find(({ name }) => name === 'op-raced');
    expect(found).toMatchObject({ unmasked: true, paying: true, hosts: ['a.example'] });
    expect(await operator.setAccount('nobody-here', { paying: true })).toBeUndefined();
  });

  test('go with all that is stored under their keys', async () => {
    const made = await operator.createAccount('op-gone', {});
    const caller = await callerOf('op-gone', made?.password);
    const { account } = caller;
    const { reply } = await vault.opened.keys.create(caller, { user: 'k' });
    const { kid } = await vault.opened.keys.find(account, 'k');
    await vault.opened.vault.store(caller, {
      user: 'k',
      passphrase: bytesOf(reply.passphrase),
      body: new TextEncoder().encode('{"number":"4111111111111111"}'),
      return_card_metadata: false,
    });
    expect((await vault.raw.keys(`{${kid}.*}i*`)).length).toBe(1);
    expect((await operator.deleteAccount('op-gone'))?.name).toBe('op-gone');
    expect(await vault.raw.keys(`{${kid}.*}i*`)).toEqual([]);
    expect(await vault.raw.keys(`{a:${account.aid}}*`)).toEqual([]);
    expect(await vault.raw.smembers('{accounts}gone')).toEqual([]);
    expect(await operator.deleteAccount('op-gone')).toBeUndefined();
  });

  test('what an interrupted deletion left is swept later', async () => {
    const made = await operator.createAccount('op-cut', {});
    const caller = await callerOf('op-cut', made?.password);
    const { account } = caller;
    await vault.opened.keys.create(caller, { user: 'k' });
    await vault.opened.accounts.remove('op-cut');
    expect(await vault.raw.keys(`{a:${account.aid}}*`)).not.toEqual([]);
    await vault.opened.sweep();
    expect(await vault.raw.keys(`{a:${account.aid}}*`)).toEqual([]);
  });
});

test('health asks Redis', async () => {
  expect(await operator.health()).toEqual({ ready: true, checks: { redis: 'ok' } });
});
