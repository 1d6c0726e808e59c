import { afterAll, beforeAll, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import { capture, createCapture } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', note: 'n' };
const NOOP = [{ name: 'noop' }];

let vault: TestVault;

beforeAll(async () => {
  vault = await openTestVault();
});
afterAll(() => vault.close());

async function post(account: AccountClient, id: string, body: unknown): Promise<string> {
  return (await account.send('POST', '/rule', { query: { id }, body })).outcome;
}
async function read(account: AccountClient, token: string, rules: string): Promise<string> {
  return (await account.send('GET', '/vault', { query: { user: 'u', token, rules }, passphrase: PASSPHRASE }))
    .outcome;
}

test('an account may have 1,000 rules, and another one after a deletion', async () => {
  const account = await vault.account();
  const others = Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`other-${at}`, 'x']));
  await vault.raw.hset(redisKeys.rules(account.aid), others);
  expect(await post(account, 'last', NOOP)).toBe('200');
  expect(await post(account, 'over', NOOP)).toBe('409 rules_full');
  expect(await post(account, 'last', NOOP)).toBe('409 rule_exists');
  expect((await account.send('DELETE', '/rule', { query: { id: 'last' } })).outcome).toBe('200');
  expect(await post(account, 'over', NOOP)).toBe('200');
  expect(await post(await vault.account(), 'other', NOOP)).toBe('200');
});

test('all rules of one request are bounded in bytes, whatever each of them may be', async () => {
  const account = await vault.account();
  await account.key('u');
  const token = await account.store('u', CARD);
  const large = [{ name: 'template', output_field: 'a', arguments: { template: 'x'.repeat(60_000) } }];
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    expect(await post(account, id, large)).toBe('200');
  }
  expect(await read(account, token, 'a,b,c,d')).toBe('200');
  expect(await read(account, token, 'a,b,c,d,e')).toBe('400 rule_limit');
  expect(await read(account, token, 'a,a,a,a,a')).toBe('400 rule_limit');
  const endpoint = await createCapture(account, 'u', { rules: 'a,b,c,d,e' });
  expect((await capture(vault, endpoint, { body: CARD })).outcome).toBe('400 rule_limit');
});

test('a rule that has run is not taken for another one with the same bytes', async () => {
  const [account, other] = [await vault.account(), await vault.account()];
  for (const client of [account, other]) {
    await client.key('u');
    expect(await post(client, 'first', NOOP)).toBe('200');
    expect(await post(client, 'second', NOOP)).toBe('200');
  }
  const token = await account.store('u', CARD);
  const theirs = await other.store('u', CARD);
  expect(await read(account, token, 'first')).toBe('200');
  const bytes = await vault.raw.hgetBuffer(redisKeys.rules(account.aid), 'first');
  await vault.raw.hset(redisKeys.rules(account.aid), 'second', bytes ?? '');
  await vault.raw.hset(redisKeys.rules(other.aid), 'first', bytes ?? '');
  expect(await read(account, token, 'second')).toBe('500 integrity_failed');
  expect(await read(other, theirs, 'first')).toBe('500 integrity_failed');
  expect(await read(account, token, 'first')).toBe('200');
});

test('the list of large rules comes whole', async () => {
  const account = await vault.account();
  const ids = Array.from({ length: 20 }, (_, at) => `r${String(at).padStart(2, '0')}`);
  for (const id of ids.toReversed()) {
    await post(account, id, [{ name: 'template', arguments: { template: 'y'.repeat(50_000) } }]);
  }
  const listed = (await account.send('GET', '/rule')).as<{ id: string }[]>();
  expect(listed.map(({ id }) => id)).toEqual(ids);
  expect((await (await vault.account()).send('GET', '/rule')).json).toEqual([]);
});
