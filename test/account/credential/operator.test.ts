/** What an operator does about credentials and jobs from the command line. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccountClient } from '../../helpers/clients.ts';
import { commandJson, runCommand } from '../../helpers/command.ts';
import { clientOf, type MadeCredential } from '../../helpers/credentials.ts';
import { acceptedId, localProxy, newItem, proxyPost, requestTo } from '../../helpers/proxy.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ proxy: await localProxy(), jobs: false });
  account = await vault.account();
});
afterAll(() => vault.close());

function credential(...args: readonly string[]): Promise<MadeCredential> {
  return commandJson(vault, 'credential', ...args, '--account', account.name);
}
async function outcome(made: MadeCredential): Promise<string> {
  return (await clientOf(vault.handle, account, made).send('GET', '/whoami')).outcome;
}

describe('vault credential', () => {
  test('creates, lists, rolls and deletes, and the log names the operator', async () => {
    const limits = ['--key', 'u', '--host', 'pay.example', '--ip', '127.0.0.0/8', '--expires-in', 'P1D'];
    const made = await credential('create', 'worker', '--scope', 'proxy:send,job:read', ...limits);
    expect(made).toMatchObject({
      ...{ name: 'worker', scopes: ['proxy:send', 'job:read'], keys: ['u'], hosts: ['pay.example'] },
      ...{ ips: ['127.0.0.0/8'], unmasked: false },
    });
    expect(await outcome(made)).toBe('200');
    const rolled = await credential('roll', made.id, '--overlap', '1h');
    expect([await outcome(made), await outcome(rolled)]).toEqual(['200', '200']);
    const list = await commandJson<readonly MadeCredential[]>(
      vault,
      'credential',
      'list',
      '--account',
      account.name,
    );
    expect(list.map(({ id, secret }) => [id, secret])).toEqual([[made.id, undefined]] as never);
    await credential('delete', made.id);
    expect([await outcome(made), await outcome(rolled)]).toEqual([
      '401 unauthenticated',
      '401 unauthenticated',
    ]);
    const entries = (await account.send('GET', '/audit', { query: { limit: 50 } })).as<
      readonly { action: string; actor: string; object: string }[]
    >();
    const own = entries.filter(({ actor }) => actor === 'operator');
    expect(own.map(({ action, object }) => [action, object])).toEqual(
      ['delete', 'roll', 'create'].map((done) => [`credential.${done}`, `credential/${made.id}`]),
    );
  });

  test.each([
    [['create', 'x', '--scope', 'vault:red'], 2, /^--scope must be one of vault:store, /],
    [['create', 'x'], 2, /^--scope must be one of/],
    [['create', 'x', '--scope', 'vault:list', '--ip', '999'], 1, /^`ips\[0\]` must be an address/],
    [['roll', 'cred_x'], 1, /^The credential does not exist/],
    [['roll', 'cred_x', '--overlap', '8d'], 1, /^`overlap` must be a duration/],
    [['delete', 'cred_x'], 1, /^There is no credential of this id/],
  ])('%p is refused', async (args, code, message) => {
    const ran = await runCommand(['credential', ...args, '--account', account.name], { vault });
    expect(ran.code).toBe(code);
    expect(ran.err).toMatch(message);
    const nobody = await runCommand(['credential', ...args], { vault });
    expect([nobody.code, nobody.err]).toEqual([2, 'Give the account with --account NAME, or --operator.\n']);
  });
});

test('vault job lists, shows and cancels', async () => {
  const item = await newItem(vault);
  const own = ['--account', item.account.name];
  const order = { request: requestTo('https://127.0.0.1:9/'), webhook: { url: 'https://127.0.0.1:9/' } };
  const id = acceptedId(await proxyPost(item, order));
  const { out } = await runCommand(['job', 'list', '--status', 'waiting', ...own], { vault });
  expect(out).toContain(id);
  const shown = await commandJson<{ id: string; actor: string }>(vault, 'job', 'show', id, ...own);
  expect(shown).toMatchObject({ id, actor: `account/${item.account.name}` });
  const early = await runCommand(['job', 'redeliver', id, ...own], { vault });
  expect([early.code, early.err]).toEqual([1, 'The job has not ended, so its report is still to come.\n']);
  expect((await runCommand(['job', 'cancel', id, ...own], { vault })).out).toBe(`Job ${id} was cancelled.\n`);
  expect(await commandJson<object>(vault, 'job', 'show', id, ...own)).toMatchObject({ status: 'cancelled' });
  for (const other of ['nothing', `-${'a'.repeat(21)}`, `--${'a'.repeat(20)}`]) {
    const missing = await runCommand(['job', 'show', other, ...own], { vault });
    expect([missing.code, missing.err]).toEqual([1, 'The job does not exist, or it ended long ago.\n']);
  }
});
