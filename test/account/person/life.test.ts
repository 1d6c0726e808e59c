/** People: how they are invited, changed and ended, and what their sessions notice of it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ROLES, type Role } from '../../../server/core/roles.ts';
import { OPERATOR_SCOPE, SCOPES } from '../../../server/core/scopes.ts';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import {
  accept,
  type Invited,
  invite,
  join,
  newPasskey,
  type PersonClient,
  person,
  signInAgain,
  signInContext,
  statusesAt,
  tokenOf,
} from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const HOUR_MS = 3_600_000;

let vault: TestVault;
let other: TestVault;
let account: AccountClient;
let now = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  const settings = { now: () => now, alone: true };
  vault = await openTestVault(settings);
  other = await vault.secondServer(settings);
  account = await vault.account();
});
afterAll(async () => {
  await other.close();
  await vault.close();
});

/** Whether a person is signed in, on each server. */
const isIn = (client: PersonClient): Promise<string> => statusesAt([vault, other], client);

describe('a person', () => {
  test('is invited with a URL of the console, signs in with a passkey, and is shown', async () => {
    const answer = await account.send('POST', '/person', {
      body: { name: 'Ada Lovelace', role: 'support', keys: ['u', 'u'], unmasked: true },
    });
    const invited = answer.as<Invited>();
    expect(Object.keys(invited).sort()).toEqual(
      ['expires_at', 'id', 'invitation', 'keys', 'name', 'role', 'unmasked'].sort(),
    );
    expect(invited).toMatchObject({ name: 'Ada Lovelace', role: 'support', keys: ['u'], unmasked: true });
    expect(invited.id).toMatch(/^pers_[\w-]{22}$/);
    expect(invited.invitation).toMatch(/^http:\/\/localhost\/console#\/join\?token=[\w-]{43}$/);
    expect(Date.parse(invited.expires_at)).toBe(now + 24 * HOUR_MS);

    const before = (await account.send('GET', `/person/${invited.id}`)).json;
    expect(before).toEqual({
      ...{ id: invited.id, name: 'Ada Lovelace', role: 'support', keys: ['u'], unmasked: true },
      ...{ last_seen_at: null, passkeys: [] },
    });
    const ada = await join(vault, invited);
    expect((await ada.send('GET', '/whoami')).json).toMatchObject({
      user: account.name,
      person: { id: ada.id, name: 'Ada Lovelace', role: 'support', keys: ['u'], unmasked: true },
    });
    expect((await ada.send('GET', '/person/self')).json).toMatchObject({
      ...{ id: ada.id, last_seen_at: new Date(now).toISOString(), signed_in_at: new Date(now).toISOString() },
      expires_at: new Date(now + 8 * HOUR_MS).toISOString().replace('.000', ''),
      passkeys: [{ id: ada.passkey.id, name: 'a device', created_at: ada.passkey.created_at }],
    });
    const shown = await account.send('GET', '/person');
    expect(shown.json).toContainEqual(
      expect.objectContaining({ id: ada.id, last_seen_at: new Date(now).toISOString() }),
    );
    expect(shown.text).not.toContain('publicKey');
    // No secret is at rest: neither the token of the invitation nor that of the session.
    const dump = JSON.stringify([
      await vault.raw.hgetall('{persons}'),
      await vault.raw.keys('*'),
      await vault.raw.hgetall(redisKeys.persons(account.aid)),
    ]);
    expect(dump).not.toContain(ada.cookie.split('=')[1] ?? 'none');
  });

  test('has the scopes of its role, which are fixed sets', async () => {
    const roles = (await account.send('GET', '/person/role')).as<{ role: Role; scopes: string[] }[]>();
    expect(roles.map(({ role }) => role)).toEqual([...ROLES]);
    const of = (role: Role): string[] => roles.find((one) => one.role === role)?.scopes ?? [];
    expect(of('owner')).toEqual([...SCOPES]);
    expect(of('owner')).not.toContain(OPERATOR_SCOPE);
    expect(of('admin')).toEqual(SCOPES.filter((scope) => scope !== 'vault:export'));
    const developer = of('developer');
    expect(developer.filter((scope) => scope.startsWith('vault:'))).toEqual(['vault:list', 'vault:log']);
    expect(SCOPES.filter((scope) => !scope.startsWith('vault:') && !developer.includes(scope))).toEqual([
      'credential:write',
      'person:write',
    ]);
    expect([...of('support')].sort()).toEqual(
      [
        'vault:list',
        'vault:read',
        'vault:log',
        'retrieve:write',
        'job:read',
        'audit:read',
        'usage:read',
      ].sort(),
    );
    expect([...of('auditor')].sort()).toEqual(
      [
        ...['vault:list', 'vault:log', 'key:read', 'rule:read', 'job:read', 'connection:read'],
        ...['audit:read', 'usage:read'],
      ].sort(),
    );
    const eve = await person(vault, account, 'auditor');
    expect((await eve.send('POST', '/key', { body: { user: 'new' } })).outcome).toBe('403 not_allowed');
    expect((await eve.send('GET', '/key')).outcome).toBe('200');
    expect((await eve.send('POST', '/change-password', { body: {} })).outcome).toBe('403 not_allowed');
    expect((await eve.send('POST', '/account', { body: { name: 'x' } })).outcome).toBe('403 not_allowed');
  });

  test.each([
    [{ role: 'support' }, 'body.name'],
    [{ name: '', role: 'support' }, 'body.name'],
    [{ name: 'a\nb', role: 'support' }, 'body.name'],
    [{ name: 'Ada' }, 'body.role'],
    [{ name: 'Ada', role: 'root' }, 'body.role'],
    [{ name: 'Ada', role: 'support', keys: [] }, 'body.keys'],
    [{ name: 'Ada', role: 'support', scopes: ['vault:read'] }, 'body.scopes'],
  ])('is not made of %p', async (body, field) => {
    const answer = await account.send('POST', '/person', { body });
    expect([answer.status, answer.field]).toEqual([400, field]);
  });

  test('stays signed in under another name, and not with other rights', async () => {
    await account.key('u');
    const ada = await person(vault, account, 'support');
    const change = (body: object) => account.send('PUT', `/person/${ada.id}`, { body });
    const rights: readonly object[] = [
      { role: 'auditor' },
      { role: 'auditor', keys: ['u'] },
      { role: 'auditor', keys: ['u', 'v'] },
      { role: 'auditor', keys: ['u', 'v'], unmasked: true },
      { role: 'auditor', unmasked: true },
    ];
    for (const next of rights) {
      const before = await signInAgain(vault, ada);
      expect(await isIn(before)).toBe('200,200');
      const answer = await change({ name: 'Ada', ...next });
      expect(answer.json).toMatchObject({ id: ada.id, ...next });
      expect(await isIn(before)).toBe('401,401');
      const after = await signInAgain(vault, ada);
      expect((await change({ name: 'Augusta', ...next })).json).toMatchObject({ name: 'Augusta' });
      expect(await isIn(after)).toBe('200,200');
      expect((await after.send('GET', '/whoami')).json).toMatchObject({ person: { name: 'Augusta' } });
    }
    // Another order of the same keys is no change.
    await change({ name: 'Ada', role: 'auditor', keys: ['u', 'v'] });
    const same = await signInAgain(vault, ada);
    await change({ name: 'Ada', role: 'auditor', keys: ['v', 'u'] });
    expect(await isIn(same)).toBe('200,200');
  });

  test('ends with its sessions and its invitation', async () => {
    const invited = await invite(account, 'developer');
    const ada = await join(vault, invited);
    const again = (await account.send('POST', `/person/${ada.id}/invite`)).as<Invited>();
    expect(await isIn(ada)).toBe('200,200');
    expect((await account.send('DELETE', `/person/${ada.id}`)).outcome).toBe('200');
    expect(await isIn(ada)).toBe('401,401');
    expect(await accept(other, again)).toBe('invitation_gone');
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/invite'],
      ['DELETE', `/passkey/${ada.passkey.id}`],
    ] as const) {
      const body = method === 'PUT' ? { name: 'Ada', role: 'support' } : undefined;
      const answer = await account.send(method, `/person/${ada.id}${path}`, { body });
      expect(answer.outcome).toBe('404 person_not_found');
    }
    expect(await vault.parts.persons.byPasskey(ada.passkey.id)).toBeUndefined();
    expect((await account.send('GET', '/person')).text).not.toContain(ada.id);
  });

  test('loses its sessions with a passkey, and can still use another one', async () => {
    const ada = await person(vault, account, 'developer');
    const again = (await account.send('POST', `/person/${ada.id}/invite`)).as<Invited>();
    const second = await join(vault, again);
    expect([await isIn(ada), await isIn(second)]).toEqual(['200,200', '200,200']);
    const path = `/person/${ada.id}/passkey/${ada.passkey.id}`;
    expect((await account.send('DELETE', path)).outcome).toBe('200');
    expect([await isIn(ada), await isIn(second)]).toEqual(['401,401', '401,401']);
    expect((await account.send('DELETE', path)).outcome).toBe('404 passkey_not_found');
    expect(await vault.parts.persons.byPasskey(ada.passkey.id)).toBeUndefined();
    expect(await isIn(await signInAgain(vault, second))).toBe('200,200');
  });

  test('of another account is unknown', async () => {
    const stranger = await vault.account();
    const ada = await person(vault, account, 'developer');
    expect((await stranger.send('GET', `/person/${ada.id}`)).outcome).toBe('404 person_not_found');
    expect((await stranger.send('DELETE', `/person/${ada.id}`)).outcome).toBe('404 person_not_found');
    expect((await stranger.send('GET', '/person')).json).toEqual([]);
    expect(await isIn(ada)).toBe('200,200');
  });

  test('is gone with its account, and stays out while that is suspended', async () => {
    const own = await vault.account();
    const invited = await invite(own, 'owner');
    const ada = await join(vault, invited);
    const again = (await own.send('POST', `/person/${ada.id}/invite`)).as<Invited>();
    await vault.opened.services.accounts.set(own.name, { suspended: true });
    expect((await ada.send('GET', '/whoami')).outcome).toBe('403 account_suspended');
    expect(await accept(vault, again)).toBe('account_suspended');
    await expect(signInAgain(vault, ada)).rejects.toMatchObject({ code: 'account_suspended' });
    await vault.opened.services.accounts.set(own.name, { suspended: false });
    expect(await isIn(ada)).toBe('200,200');
    await vault.opened.removeAccount(own.name);
    expect(await isIn(ada)).toBe('401,401');
    expect(await accept(vault, again)).toBe('invitation_gone');
    expect(await vault.raw.exists(redisKeys.persons(own.aid), redisKeys.personUses(own.aid))).toBe(0);
  });
});

describe('an invitation', () => {
  test('is good once', async () => {
    const invited = await invite(account, 'support');
    expect(await accept(vault, invited)).toBe('ok');
    expect(await accept(other, invited)).toBe('invitation_gone');
  });

  test('ends with a newer one, and adds a passkey', async () => {
    const invited = await invite(account, 'support');
    const newer = (await account.send('POST', `/person/${invited.id}/invite`)).as<Invited>();
    expect(newer).toMatchObject({ id: invited.id, role: 'support' });
    expect(newer.invitation).not.toBe(invited.invitation);
    expect(await accept(vault, invited)).toBe('invitation_gone');
    expect(await accept(vault, newer)).toBe('ok');
    const third = (await account.send('POST', `/person/${invited.id}/invite`)).as<Invited>();
    expect(await accept(vault, third)).toBe('ok');
    const { passkeys } = (await account.send('GET', `/person/${invited.id}`)).as<{ passkeys: object[] }>();
    expect(passkeys).toHaveLength(2);
  });

  test('is good for 24 hours', async () => {
    const [late, early] = [await invite(account, 'support'), await invite(account, 'support')];
    now += 24 * HOUR_MS - 1;
    expect(await accept(vault, early)).toBe('ok');
    now += 1;
    expect(await accept(vault, late)).toBe('invitation_gone');
  });

  test('is as unknown as any other token when it is gone', async () => {
    const invitation = `http://localhost/console#/join?token=${'A'.repeat(43)}`;
    const never: Invited = { ...(await invite(account, 'support')), invitation };
    expect(await accept(vault, never)).toBe('invitation_gone');
  });

  test('adds no passkey that another person has', async () => {
    const [ada, eve] = [await person(vault, account, 'support'), await invite(account, 'support')];
    const token = tokenOf(eve);
    const known = await vault.parts.persons.invited(token);
    const copy = { ...newPasskey(), id: ada.passkey.id };
    await expect(vault.parts.persons.addPasskey(signInContext(), known, copy, token)).rejects.toMatchObject({
      code: 'passkey_exists',
    });
    expect((await vault.parts.persons.byPasskey(ada.passkey.id))?.person.name.id).toBe(ada.id);
    expect(await accept(vault, eve)).toBe('ok');
  });
});

test('each step is in the security log, with the person and its name', async () => {
  const own = await vault.account();
  const ada = await person(vault, own, 'owner', { name: 'Ada' });
  const eve = await invite(ada, 'support', { name: 'Eve' });
  await ada.send('PUT', `/person/${eve.id}`, { body: { name: 'Eve', role: 'auditor' } });
  await ada.send('POST', `/person/${eve.id}/invite`);
  await ada.send('DELETE', `/person/${eve.id}`);
  await ada.send('DELETE', `/person/${ada.id}/passkey/${ada.passkey.id}`);
  const entries = (await own.send('GET', '/audit')).as<
    readonly { action: string; actor: string; actor_name?: string; object?: string; outcome: string }[]
  >();
  const [self, her] = [`person/${ada.id}`, `person/${eve.id}`];
  const shown = entries
    .toReversed()
    .filter(({ action }) => action.startsWith('person.'))
    .map(({ action, actor, actor_name, object }) => [action, actor, actor_name, object]);
  expect(shown).toEqual([
    ['person.create', `account/${own.name}`, undefined, self],
    ['person.passkey.add', self, 'Ada', self],
    ['person.signin', self, 'Ada', self],
    ['person.create', self, 'Ada', her],
    ['person.change', self, 'Ada', her],
    ['person.invite', self, 'Ada', her],
    ['person.delete', self, 'Ada', her],
    ['person.passkey.delete', self, 'Ada', self],
  ]);
});

test('what a person does with an item is in its action log', async () => {
  const own = await vault.account();
  await own.key('u');
  const token = await own.store('u', { card_number: '4111111111111111', expiry: '12/31' });
  const read = { query: { user: 'u', token }, passphrase: PASSPHRASE };
  const ada = await person(vault, own, 'support', { name: 'Ada', keys: ['u'], unmasked: true });
  const opened = await ada.send('GET', '/vault', read);
  expect([opened.outcome, opened.text.includes('4111111111111111')]).toEqual(['200', true]);
  const log = await own.send('GET', '/vault/metadata', { query: { user: 'u', token } });
  expect(log.json).toContainEqual(
    expect.objectContaining({ actor: `${own.name}/person/${ada.id}`, actor_name: 'Ada' }),
  );
  const masked = await person(vault, own, 'support');
  const seen = await masked.send('GET', '/vault', read);
  expect([seen.outcome, seen.text.includes('4111111111111111')]).toEqual(['200', false]);
  const limited = await person(vault, own, 'support', { keys: ['v'] });
  expect((await limited.send('GET', '/vault', read)).outcome).toBe('403 not_allowed');
  const line = vault.lines.findLast(({ route, status }) => route === '/v1/vault' && status === 200);
  expect(line).toMatchObject({ account: own.name, person: masked.id });
  expect(line?.credential).toBeUndefined();
});

test('what a person may not do is in the security log under its id', async () => {
  const own = await vault.account();
  const ada = await person(vault, own, 'auditor');
  expect((await ada.send('GET', '/person')).outcome).toBe('403 not_allowed');
  const [entry] = (await own.send('GET', '/audit', { query: { action: 'credential.use' } })).as<object[]>();
  const self = `person/${ada.id}`;
  expect(entry).toMatchObject({ actor: self, object: self, outcome: 'not_allowed' });
});

test('where no passkey is possible nobody is invited', async () => {
  const people = { consoleUrl: 'http://127.0.0.1:8080', flaw: 'an address has none', hasPasswords: true };
  const closed = await vault.secondServer({ people, now: () => now });
  const there = account.via(closed.handle);
  const answer = await there.send('POST', '/person', { body: { name: 'Ada', role: 'support' } });
  expect(answer.outcome).toBe('409 people_unavailable');
  const ada = await invite(account, 'support');
  expect((await there.send('POST', `/person/${ada.id}/invite`)).outcome).toBe('409 people_unavailable');
  expect((await there.send('DELETE', `/person/${ada.id}`)).outcome).toBe('200');
  await closed.close();
});
