/** Who may touch whom: nobody a person who may do more than himself, and owners only owners and the password. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Role } from '../../../server/core/roles.ts';
import type { AccountClient, Answer, Sending } from '../../helpers/clients.ts';
import { credentialClient } from '../../helpers/credentials.ts';
import { type Invited, invite, join, type PersonClient, person } from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
});
afterAll(() => vault.close());

interface Caller {
  readonly send: (method: string, path: string, sending?: Sending) => Promise<Answer>;
}
interface Rights {
  readonly role: Role;
  readonly keys?: readonly string[];
  readonly unmasked?: boolean;
}

/** What of a person a caller may do, one after the other: make, change, rename, invite, remove the passkey, delete. */
async function touches(by: Caller, rights: Rights): Promise<string> {
  const { role, ...others } = rights;
  const target = await person(vault, account, role, others);
  const body = { name: 'Eve', ...rights };
  const answers = [
    await by.send('POST', '/person', { body }),
    await by.send('PUT', `/person/${target.id}`, { body }),
    await by.send('PUT', `/person/${target.id}`, { body: { name: 'Eve', role: 'auditor', keys: ['u'] } }),
  ];
  await account.send('PUT', `/person/${target.id}`, { body });
  answers.push(
    await by.send('POST', `/person/${target.id}/invite`),
    await by.send('DELETE', `/person/${target.id}/passkey/${target.passkey.id}`),
    await by.send('DELETE', `/person/${target.id}`),
  );
  const outcomes = new Set(answers.map(({ outcome }) => outcome));
  return [...outcomes].join();
}
const ALL = '200';
const NONE = '403 not_allowed';

const callers: Record<string, () => Promise<Caller>> = {
  password: async () => account,
  owner: () => person(vault, account, 'owner', { unmasked: true }),
  'masked owner': () => person(vault, account, 'owner'),
  'owner with keys': () => person(vault, account, 'owner', { keys: ['u', 'v'], unmasked: true }),
  admin: () => person(vault, account, 'admin', { unmasked: true }),
  'masked admin': () => person(vault, account, 'admin'),
  developer: () => person(vault, account, 'developer', { unmasked: true }),
  support: () => person(vault, account, 'support', { unmasked: true }),
  'credential of an owner’s scopes': async () =>
    credentialClient(vault.handle, account, scopesOf(await roles(), 'owner'), { unmasked: true }),
  'credential of an auditor’s scopes': async () =>
    credentialClient(vault.handle, account, [...scopesOf(await roles(), 'auditor'), 'person:write']),
  'credential with keys': async () =>
    credentialClient(vault.handle, account, scopesOf(await roles(), 'admin'), { keys: ['u'] }),
  'credential for an hour and one address': async () =>
    credentialClient(vault.handle, account, scopesOf(await roles(), 'admin'), {
      ...{ expires_in: '1h', ips: ['127.0.0.1'], hosts: ['a.example'] },
    }),
};

type Roles = readonly { readonly role: Role; readonly scopes: readonly never[] }[];
async function roles(): Promise<Roles> {
  return (await account.send('GET', '/person/role')).as<Roles>();
}
function scopesOf(all: Roles, role: Role): readonly never[] {
  return all.find((one) => one.role === role)?.scopes ?? [];
}

const TABLE: readonly (readonly [caller: string, rights: Rights, expected: string])[] = [
  ['password', { role: 'owner', unmasked: true }, ALL],
  ['password', { role: 'auditor', keys: ['u'] }, ALL],
  ['owner', { role: 'owner', unmasked: true }, ALL],
  ['owner', { role: 'admin', keys: ['u'] }, ALL],
  ['masked owner', { role: 'owner' }, ALL],
  ['masked owner', { role: 'owner', unmasked: true }, NONE],
  ['masked owner', { role: 'support', unmasked: true }, NONE],
  ['owner with keys', { role: 'owner', keys: ['u'] }, ALL],
  ['owner with keys', { role: 'owner' }, NONE],
  ['owner with keys', { role: 'auditor', keys: ['u', 'w'] }, NONE],
  ['admin', { role: 'owner' }, NONE],
  ['admin', { role: 'owner', keys: ['u'] }, NONE],
  ['admin', { role: 'admin', unmasked: true }, ALL],
  ['admin', { role: 'support', keys: ['u'] }, ALL],
  ['masked admin', { role: 'support', unmasked: true }, NONE],
  ['masked admin', { role: 'developer' }, ALL],
  ['developer', { role: 'auditor' }, NONE],
  ['support', { role: 'support' }, NONE],
  ['credential of an owner’s scopes', { role: 'owner' }, NONE],
  ['credential of an owner’s scopes', { role: 'admin', unmasked: true }, ALL],
  ['credential of an auditor’s scopes', { role: 'auditor' }, ALL],
  ['credential of an auditor’s scopes', { role: 'support' }, NONE],
  ['credential of an auditor’s scopes', { role: 'auditor', unmasked: true }, NONE],
  ['credential with keys', { role: 'support', keys: ['u'] }, ALL],
  ['credential with keys', { role: 'support' }, NONE],
  ['credential with keys', { role: 'support', keys: ['v'] }, NONE],
  ['credential for an hour and one address', { role: 'support' }, ALL],
];

describe.each(TABLE)('%s and %p', (caller, rights, expected) => {
  test(`gets ${expected}`, async () => {
    const by = await callers[caller]?.();
    expect(by && (await touches(by, rights))).toBe(expected);
  });
});

test('nobody gives himself more', async () => {
  const ada = await person(vault, account, 'admin', { keys: ['u'] });
  for (const more of [
    { role: 'owner', keys: ['u'] },
    { role: 'admin' },
    { role: 'admin', keys: ['u', 'v'] },
    { role: 'admin', keys: ['u'], unmasked: true },
  ]) {
    const answer = await ada.send('PUT', `/person/${ada.id}`, { body: { name: 'Ada', ...more } });
    expect(answer.outcome).toBe('403 not_allowed');
  }
  const less = await ada.send('PUT', `/person/${ada.id}`, {
    body: { name: 'Ada', role: 'auditor', keys: ['u'] },
  });
  expect(less.outcome).toBe('200');
  expect((await ada.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
});

describe('in a masked account', () => {
  let masked: AccountClient;
  beforeAll(async () => {
    masked = await vault.account({ unmasked: false });
  });

  test('nobody is unmasked, whoever asks', async () => {
    const owner = await person(vault, masked, 'owner');
    for (const by of [masked, owner] satisfies Caller[]) {
      const answer = await by.send('POST', '/person', {
        body: { name: 'Eve', role: 'support', unmasked: true },
      });
      expect(answer.outcome).toBe('403 not_allowed');
      const plain = await invite(by as Pick<PersonClient, 'send'>, 'support');
      const change = await by.send('PUT', `/person/${plain.id}`, {
        body: { name: 'Eve', role: 'support', unmasked: true },
      });
      expect([change.outcome, change.field]).toEqual(['403 not_allowed', 'body.unmasked']);
      const error = '`unmasked` needs unmasked output, which this account does not have.';
      expect(change.json).toMatchObject({ error });
    }
  });

  test('an owner still touches one who was unmasked before the account was masked', async () => {
    const own = await vault.account();
    const owner = await person(vault, own, 'owner', { unmasked: true });
    const eve: Invited = await invite(own, 'owner', { unmasked: true });
    await vault.opened.services.accounts.set(own.name, { unmasked: false });
    expect((await owner.send('GET', '/whoami')).json).toMatchObject({ person: { unmasked: false } });
    expect((await owner.send('POST', `/person/${eve.id}/invite`)).outcome).toBe('200');
    expect((await owner.send('DELETE', `/person/${eve.id}`)).outcome).toBe('200');
  });
});

test('what a person may not do says so in words of a person', async () => {
  const ada = await join(vault, await invite(account, 'support'));
  const answer = await ada.send('GET', '/person');
  expect(answer.json).toMatchObject({
    error: '`scope` of this person does not include `person:write`.',
    code: 'not_allowed',
  });
});
