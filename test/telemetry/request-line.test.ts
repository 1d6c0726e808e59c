/** The log line of a request. */
import { afterAll, beforeEach, expect, test } from 'bun:test';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());
beforeEach(() => {
  vault.lines.length = 0;
});

test('of a rejected request has the place of the error, and no value', async () => {
  const answers = [
    await account.send('GET', '/vault', { query: { user: 'u', limit: 'canary' } }),
    await account.send('POST', '/key', { body: { user: 'v', passphrase: 'canary' } }),
    await account.send('GET', '/vault', { query: { user: 'u', referense: 'canary' } }),
    await account.send('GET', '/whoami', { headers: { authorization: 'Basic canary' } }),
    await account.send('GET', '/whoami'),
  ];
  const requests = vault.lines.filter(({ event }) => event === 'request');
  expect(requests.map(({ status, code, field }) => [status, code, field])).toEqual([
    [400, 'invalid_request', 'query.limit'],
    [400, 'invalid_request', 'body.passphrase'],
    [400, 'unknown_parameter', 'query.referense'],
    [401, 'unauthenticated', undefined],
    [200, undefined, undefined],
  ]);
  expect(requests.map(({ field }) => field)).toEqual(answers.map((answer) => answer.field));
  expect(JSON.stringify(vault.lines)).not.toContain('canary');
});

test('has no name that holds a card number', async () => {
  const number = '4111111111111111';
  await account.send('GET', '/vault', { query: { user: 'u', [number]: 1 } });
  await account.send('POST', '/key', { body: { user: 'v', [number]: 1 } });
  await account.send('POST', '/key', { body: { user: 'v', [`card-${number}`]: { x: 1 } } });
  const grouped = 'x4111-1111-1111-1111';
  await account.send('GET', '/vault', { query: { user: 'u', [grouped]: 1 } });
  await account.send('GET', '/vault', { query: { user: 'u', 'x4111-1111-1111-1112': 1 } });
  expect(vault.lines.map(({ field }) => field)).toEqual(['query', 'body', 'body', 'query', 'query']);
  expect(JSON.stringify(vault.lines)).not.toContain('411111');
  expect(JSON.stringify(vault.lines)).not.toContain(grouped);
});

test('has no name that may be a secret in the place of a name', async () => {
  const body = { name: 'c', scopes: ['vault:read'] };
  const { secret } = (await account.send('POST', '/credential', { body })).as<{ secret: string }>();
  vault.lines.length = 0;
  await account.send('GET', '/vault', { query: { user: 'u', [secret]: 1 } });
  await account.send('POST', '/key', { body: { user: 'v', [secret]: 1 } });
  await account.send('GET', '/vault', { query: { user: 'u', backwards_compatibility: 1 } });
  expect(vault.lines.map(({ field }) => field)).toEqual(['query', 'body', 'query.backwards_compatibility']);
  expect(JSON.stringify(vault.lines)).not.toContain(secret);
});
