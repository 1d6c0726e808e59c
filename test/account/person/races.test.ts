/** People who change on two servers at the same moment. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccountClient } from '../../helpers/clients.ts';
import { clientOf, type MadeCredential } from '../../helpers/credentials.ts';
import { accept, type Invited, invite, type PersonClient, person, statusesAt } from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const ROUNDS = 30;
const ROUNDS_MS = 60_000;
const HOUR_MS = 3_600_000;

let vault: TestVault;
let other: TestVault;
let account: AccountClient;
let there: AccountClient;
let now = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  const settings = { now: () => now, alone: true };
  vault = await openTestVault(settings);
  other = await vault.secondServer(settings);
  account = await vault.account();
  there = account.via(other.handle);
});
afterAll(async () => {
  await other.close();
  await vault.close();
});

/** Whether a person is signed in, on each server. */
const isIn = (client: PersonClient): Promise<string> => statusesAt([vault, other], client);

describe(`${ROUNDS} times on two servers`, () => {
  test(
    'an invitation that is used twice at one instant adds one passkey',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const invited = await invite(account, 'support');
        const outcomes = await Promise.all([vault, other, vault].map((server) => accept(server, invited)));
        expect(outcomes.toSorted()).toEqual(['invitation_gone', 'invitation_gone', 'ok']);
        const { passkeys } = (await account.send('GET', `/person/${invited.id}`)).as<{
          passkeys: object[];
        }>();
        expect(passkeys).toHaveLength(1);
      }
    },
    ROUNDS_MS,
  );

  test(
    'of two invitations that are made at one instant the newer one is good',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const { id } = await invite(account, 'support');
        const made = await Promise.all(
          [account, there].map(async (by) => (await by.send('POST', `/person/${id}/invite`)).as<Invited>()),
        );
        const outcomes = [];
        for (const invited of made) {
          outcomes.push(await accept(vault, invited));
        }
        expect(outcomes.toSorted()).toEqual(['invitation_gone', 'ok']);
      }
    },
    ROUNDS_MS,
  );

  test(
    'a person who is deleted while it sends requests is out on both',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const ada = await person(vault, account, 'developer');
        if (round % 2 === 0) {
          expect(await isIn(ada)).toBe('200,200');
        }
        const [, removed] = await Promise.all([isIn(ada), there.send('DELETE', `/person/${ada.id}`)]);
        expect([removed.outcome, await isIn(ada)]).toEqual(['200', '401,401']);
      }
    },
    ROUNDS_MS,
  );

  test(
    'a person who is deleted while it is changed, invited and joins stays deleted',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const invited = await invite(account, 'support');
        const [, changed, again, removed] = await Promise.all([
          accept(vault, invited),
          account.send('PUT', `/person/${invited.id}`, { body: { name: 'Eve', role: 'auditor' } }),
          account.send('POST', `/person/${invited.id}/invite`),
          there.send('DELETE', `/person/${invited.id}`),
        ]);
        expect(removed.outcome).toBe('200');
        expect(['200', '404 person_not_found']).toContain(changed.outcome);
        expect((await account.send('GET', `/person/${invited.id}`)).outcome).toBe('404 person_not_found');
        expect(await accept(vault, invited)).toBe('invitation_gone');
        if (again.status === 200) {
          expect(await accept(vault, again.as<Invited>())).toBe('invitation_gone');
        }
      }
      now += 2 * HOUR_MS;
      await vault.opened.sweep();
      expect(await vault.raw.hlen(`{a:${account.aid}}ps`)).toBe(
        (await account.send('GET', '/person')).as<object[]>().length,
      );
    },
    ROUNDS_MS,
  );

  test(
    'a credential that a person makes while it is deleted or limited is of no use',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const ada = await person(vault, account, 'admin');
        const body = { name: 'c', scopes: ['credential:write', 'vault:list'] };
        const [made, ended] = await Promise.all([
          ada.send('POST', '/credential', { body }),
          round % 2 === 0
            ? there.send('DELETE', `/person/${ada.id}`)
            : there.send('PUT', `/person/${ada.id}`, { body: { name: 'Ada', role: 'auditor' } }),
        ]);
        expect(ended.outcome).toBe('200');
        if (made.status === 200) {
          const credential = made.as<MadeCredential>();
          for (const { handle } of [vault, other]) {
            const used = await clientOf(handle, account, credential).send('GET', '/whoami');
            expect(used.outcome).toBe('401 unauthenticated');
          }
        }
      }
      now += 2 * HOUR_MS;
      await vault.opened.sweep();
      expect((await account.send('GET', '/credential')).json).toEqual([]);
      expect(await vault.raw.hlen('{credentials}')).toBe(0);
    },
    ROUNDS_MS,
  );
});

test('digests that an interruption has left are swept, and no others', async () => {
  const ada = await person(vault, account, 'support');
  const open = await invite(account, 'support');
  now += 2 * HOUR_MS;
  await vault.opened.sweep();
  const before = await vault.raw.hlen('{persons}');
  const [pointer = ''] = await vault.raw.hvals('{persons}');
  await vault.raw.hset('{persons}', { left: pointer, malformed: 'no pointer', '': '' });
  await vault.opened.sweep();
  expect(await vault.raw.hlen('{persons}')).toBe(before);
  expect((await vault.parts.persons.byPasskey(ada.passkey.id))?.person.name.id).toBe(ada.id);
  expect(await accept(other, open)).toBe('ok');
});
