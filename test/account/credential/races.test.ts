/** Credentials that change on two servers at the same moment. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccountClient } from '../../helpers/clients.ts';
import { clientOf, type MadeCredential, makeCredential } from '../../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const ROUNDS = 100;
const HOUR_MS = 3_600_000;
const ROUNDS_MS = 60_000;

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

/** How each server answers to a secret. */
async function answers(made: MadeCredential, secret: string): Promise<string> {
  const outcomes = await Promise.all(
    [vault, other].map(async ({ handle }) => {
      const { status } = await clientOf(handle, account, { ...made, secret }).send('GET', '/whoami');
      return status;
    }),
  );
  return outcomes.join();
}

function roll(client: AccountClient, { id }: MadeCredential) {
  return client.send('POST', `/credential/${id}/roll`, { body: {} });
}

/** Digests that lead anywhere, and how many secrets there are. */
async function digests(): Promise<number> {
  return vault.raw.hlen('{credentials}');
}

describe(`${ROUNDS} times on two servers`, () => {
  test(
    'a credential that is deleted while it is used is gone',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const made = await makeCredential(account, ['vault:list']);
        if (round % 2 === 0) {
          expect(await answers(made, made.secret)).toBe('200,200');
        }
        const [, removed] = await Promise.all([
          answers(made, made.secret),
          there.send('DELETE', `/credential/${made.id}`),
        ]);
        expect([removed.outcome, await answers(made, made.secret)]).toEqual(['200', '401,401']);
      }
      expect(await digests()).toBe(0);
    },
    ROUNDS_MS,
  );

  test(
    'a credential that is deleted while it gets a new secret is gone with both',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const made = await makeCredential(account, ['vault:list']);
        const [rolled, removed] = await Promise.all([
          roll(account, made),
          there.send('DELETE', `/credential/${made.id}`),
        ]);
        expect(removed.outcome).toBe('200');
        expect(['200', '404 credential_not_found']).toContain(rolled.outcome);
        const secrets = [made.secret, ...(rolled.status === 200 ? [rolled.as<MadeCredential>().secret] : [])];
        for (const secret of secrets) {
          expect(await answers(made, secret)).toBe('401,401');
        }
      }
      now += 2 * HOUR_MS;
      await vault.opened.services.credentials.sweep();
      expect(await digests()).toBe(0);
    },
    ROUNDS_MS,
  );

  test(
    'of two new secrets one is the newest, and the other is as dead as the first',
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const made = await makeCredential(account, ['vault:list']);
        const rolled = await Promise.all([roll(account, made), roll(there, made)]);
        expect(rolled.map(({ outcome }) => outcome)).toEqual(['200', '200']);
        const secrets = rolled.map((answer) => answer.as<MadeCredential>().secret);
        const both = await Promise.all(secrets.map((secret) => answers(made, secret)));
        expect([...both].sort()).toEqual(['200,200', '401,401']);
        expect(await answers(made, made.secret)).toBe('401,401');
        expect(await digests()).toBe(1);
        expect((await account.send('DELETE', `/credential/${made.id}`)).outcome).toBe('200');
      }
    },
    ROUNDS_MS,
  );
});

test('digests that an interruption has left are swept, and no others', async () => {
  const made = await makeCredential(account, ['vault:list']);
  const [pointer = ''] = await vault.raw.hvals('{credentials}');
  await vault.raw.hset('{credentials}', { left: pointer, malformed: 'no pointer', '': '' });
  expect(await answers(made, made.secret)).toBe('200,200');
  now += 2 * HOUR_MS;
  await vault.opened.services.credentials.sweep();
  expect(await digests()).toBe(1);
  expect(await answers(made, made.secret)).toBe('200,200');
});
