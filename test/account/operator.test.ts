import { afterAll, describe, expect, test } from 'bun:test';
import { Secret } from '../../server/core/secret.ts';
import { type AccountContext, createContext } from '../../server/request/context.ts';
import { commandJson, type Ran, runCommand } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault({ ratePerAccount: 20 });
afterAll(() => vault.close());

interface Shown {
  readonly name: string;
  readonly password: string;
  readonly unmasked: boolean;
}

function account(...args: readonly string[]): Promise<Shown> {
  return commandJson(vault, 'account', ...args);
}
async function refusal(...args: readonly string[]): Promise<Pick<Ran, 'code' | 'err'>> {
  const { code, err } = await runCommand(['account', ...args], { vault });
  return { code, err };
}
const UNKNOWN = { code: 1, err: 'No account has this name.\n' };
async function find(name: string): Promise<unknown> {
  return (await commandJson<readonly Shown[]>(vault, 'account', 'list')).find((found) => found.name === name);
}

async function statusOf(name: string, password: string): Promise<number> {
  const authorization = `Basic ${btoa(`${name}:${password}`)}`;
  const reply = await vault.handle(
    new Request('http://localhost/v1/whoami', { headers: { Authorization: authorization } }),
  );
  return reply.status;
}

function bytesOf(secret: Secret<string>) {
  return secret.map((text) => new TextEncoder().encode(text));
}

/** An account of this name, signed in with the password that it was made with. */
function signedIn(name: string, password: string): Promise<AccountContext> {
  const { signIns } = vault.opened.services;
  const ctx = createContext({ requestId: 'test', ip: '127.0.0.1', userAgent: 'test', source: 'vault' });
  return signIns.signIn(ctx, signIns.recall(ctx.ip, new Secret(`Basic ${btoa(`${name}:${password}`)}`)));
}

describe('accounts', () => {
  test('are made once, with a password of 256 bits', async () => {
    const { password } = await account('create', 'op-made', '--unmasked');
    expect(password).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await statusOf('op-made', password)).toBe(200);
    expect(await refusal('create', 'op-made')).toEqual({
      code: 1,
      err: 'An account with this name already exists.\n',
    });
    expect(await find('op-made')).toMatchObject({ unmasked: true });
  });

  test('a new password works at once, the old one no longer, though it was remembered', async () => {
    const before = (await account('create', 'op-renewed')).password;
    expect(await statusOf('op-renewed', before)).toBe(200);
    const after = (await account('password', 'op-renewed')).password;
    expect(await statusOf('op-renewed', before)).toBe(401);
    expect(await statusOf('op-renewed', after)).toBe(200);
    expect(await refusal('password', 'nobody-here')).toEqual(UNKNOWN);
  });

  test('changes at the same moment all hold', async () => {
    await account('create', 'op-raced');
    await Promise.all([
      account('set', 'op-raced', '--unmasked'),
      account('set', 'op-raced', '--paying'),
      account('set', 'op-raced', '--allow-host', 'a.example'),
    ]);
    expect(await find('op-raced')).toMatchObject({ unmasked: true, paying: true, hosts: ['a.example'] });
    expect(await refusal('set', 'nobody-here', '--paying')).toEqual(UNKNOWN);
  });

  test('go with all that is stored under their keys', async () => {
    const made = await account('create', 'op-gone');
    expect(await statusOf('op-gone', made.password)).toBe(200);
    const ctx = await signedIn('op-gone', made.password);
    await vault.opened.services.accounts.changePassword(ctx, undefined, undefined);
    const { reply } = await vault.opened.services.keys.create(ctx, { user: 'k' });
    const { kid } = await vault.opened.services.keyOpener.find(ctx.account, 'k');
    await vault.opened.services.vault.store(ctx, {
      user: 'k',
      passphrase: bytesOf(reply.passphrase),
      body: new TextEncoder().encode('{"number":"4111111111111111"}'),
      return_card_metadata: false,
    });
    expect((await vault.raw.keys(`{${kid}.*}i*`)).length).toBe(1);
    await vault.opened.services.rates.account(ctx.account);
    const kinds = (await vault.raw.keys(`{a:${ctx.account.aid}}*`)).map((name) => name.replace(/^.*}/, ''));
    expect(kinds).toEqual(expect.arrayContaining(['m', 'w', expect.stringMatching(/^u:/)]));
    expect(await account('delete', 'op-gone', '--yes')).toMatchObject({ name: 'op-gone' });
    expect(await vault.raw.keys(`{${kid}.*}i*`)).toEqual([]);
    expect(await vault.raw.keys(`{a:${ctx.account.aid}}*`)).toEqual([`{a:${ctx.account.aid}}log`]);
    expect(await vault.raw.smembers('{accounts}gone')).toEqual([]);
    expect(await refusal('delete', 'op-gone', '--yes')).toEqual(UNKNOWN);
  });

  test('what an interrupted deletion left is swept later', async () => {
    const made = await account('create', 'op-cut');
    const ctx = await signedIn('op-cut', made.password);
    await vault.opened.services.keys.create(ctx, { user: 'k' });
    await vault.opened.services.accounts.remove('op-cut');
    const log = `{a:${ctx.account.aid}}log`;
    expect(await vault.raw.keys(`{a:${ctx.account.aid}}*`)).not.toEqual([log]);
    await vault.opened.sweep();
    expect(await vault.raw.keys(`{a:${ctx.account.aid}}*`)).toEqual([log]);
  });
});

test('health asks Redis', async () => {
  expect(await commandJson(vault, 'health')).toEqual({ ready: true, checks: { redis: 'ok' } });
});
