/** Credentials that people make: they never do more than their person, and end with it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { type AccountClient, createAccountClient } from '../../helpers/clients.ts';
import { clientOf, type MadeCredential, makeCredential } from '../../helpers/credentials.ts';
import { type PersonClient, person } from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let account: AccountClient;
let ada: PersonClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());
beforeEach(async () => {
  ada = await person(vault, account, 'admin', { keys: ['u'], unmasked: true });
});

async function make(body: object = {}): Promise<MadeCredential> {
  const answer = await ada.send('POST', '/credential', {
    body: { name: 'c', scopes: ['vault:list', 'credential:write'], ...body },
  });
  expect(answer.outcome).toBe('200');
  return answer.as<MadeCredential>();
}

async function outcome(made: MadeCredential): Promise<string> {
  return (await clientOf(vault.handle, account, made).send('GET', '/whoami')).outcome;
}

async function exists({ id }: MadeCredential): Promise<boolean> {
  return (await account.send('GET', `/credential/${id}`)).status === 200;
}

function change(rights: object) {
  return account.send('PUT', `/person/${ada.id}`, { body: { name: 'Ada', ...rights } });
}

test('take the person’s limits, and nothing beyond', async () => {
  expect(await make()).toMatchObject({ keys: ['u'], unmasked: false });
  for (const more of [{ scopes: ['vault:export'] }, { keys: ['v'] }, { keys: ['u', 'v'] }]) {
    const answer = await ada.send('POST', '/credential', {
      body: { name: 'c', scopes: ['job:read'], ...more },
    });
    expect(answer.outcome).toBe('403 not_allowed');
  }
});

test('end with the person, with those that they have made, and in the log', async () => {
  const made = await make({ scopes: ['vault:list', 'credential:write'] });
  const further = await makeCredential(clientOf(vault.handle, account, made), ['vault:list']);
  const others = await makeCredential(account, ['vault:list']);
  expect([await outcome(made), await outcome(further)]).toEqual(['200', '200']);
  expect((await account.send('DELETE', `/person/${ada.id}`)).outcome).toBe('200');
  expect([await outcome(made), await outcome(further), await outcome(others)]).toEqual([
    ...['401 unauthenticated', '401 unauthenticated', '200'],
  ]);
  expect([await exists(made), await exists(further), await exists(others)]).toEqual([false, false, true]);
  const log = (await account.send('GET', '/audit', { query: { action: 'credential.delete' } })).as<
    readonly { object: string; actor: string }[]
  >();
  for (const { id } of [made, further]) {
    expect(log).toContainEqual(
      expect.objectContaining({ object: `credential/${id}`, actor: `account/${account.name}` }),
    );
  }
});

test('end when a change leaves them exceeding, and those that still fit stay', async () => {
  const masked = await make();
  const unmasked = await make({ unmasked: true, scopes: ['vault:list'] });
  const listing = await make({ scopes: ['vault:list'] });
  await change({ role: 'admin', keys: ['u'] });
  expect([await outcome(masked), await outcome(unmasked), await outcome(listing)]).toEqual([
    ...['200', '401 unauthenticated', '200'],
  ]);
  expect(await exists(unmasked)).toBe(false);
  await change({ role: 'developer', keys: ['u', 'v'] });
  expect([await outcome(masked), await outcome(listing)]).toEqual(['401 unauthenticated', '200']);
  await change({ role: 'developer', keys: ['v'] });
  expect(await outcome(listing)).toBe('401 unauthenticated');
});

test('stay when the person signs out everywhere, loses a passkey, or gets another name', async () => {
  const made = await make();
  await change({ role: 'admin', keys: ['u'], unmasked: true });
  await account.send('DELETE', `/person/${ada.id}/passkey/${ada.passkey.id}`);
  expect(await outcome(made)).toBe('200');
});

test('are of no use where a process died before it removed them, and are swept', async () => {
  let now = Date.now();
  const late = await vault.secondServer({ now: () => now });
  const made = await make();
  expect(await outcome(made)).toBe('200');
  await vault.raw.hdel(redisKeys.persons(account.aid), ada.id);
  expect(await outcome(made)).toBe('401 unauthenticated');
  now += 2 * 3_600_000;
  await late.opened.services.credentials.sweep();
  expect(await exists(made)).toBe(false);
  await late.close();
});

test('act under their own name', async () => {
  const made = await make({ scopes: ['vault:list', 'usage:read'] });
  const who = await clientOf(vault.handle, account, made).send('GET', '/whoami');
  expect(who.json).toMatchObject({ credential: { id: made.id } });
  expect(who.json).not.toHaveProperty('person');
  const bearer = createAccountClient(vault.handle, {
    name: made.id,
    password: made.secret,
    aid: account.aid,
  });
  expect((await bearer.send('GET', '/person/self')).outcome).toBe('403 not_allowed');
});

test('a subscription of a person shows its keys, and ends with it', async () => {
  const answer = await ada.send('POST', '/event/subscription', {
    body: { url: 'https://hooks.example/', types: ['item.*'] },
  });
  expect(answer.outcome).toBe('200');
  const listed = async () => (await account.send('GET', '/event/subscription')).as<object[]>().length;
  expect(await listed()).toBe(1);
  await account.send('DELETE', `/person/${ada.id}`);
  expect(await listed()).toBe(0);
});
