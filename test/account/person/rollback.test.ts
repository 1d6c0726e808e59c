/** What a writer to Redis does who puts back an older record of a person: it opens, in its place. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import type { AccountClient } from '../../helpers/clients.ts';
import { runCommand } from '../../helpers/command.ts';
import { invite, person } from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

// What seems bad is looked at three more times within a second before it counts.
setDefaultTimeout(60_000);

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ workers: 2 });
  account = await vault.account();
});
afterAll(() => vault.close());

/** What `vault verify` says of the account. */
async function faults(): Promise<readonly string[]> {
  const { out } = await runCommand(['verify', '--json', '--account', account.name], { vault });
  const found = JSON.parse(out) as { faults: readonly Record<'state' | 'kind' | 'place' | 'what', string>[] };
  return found.faults.map(({ state, kind, place, what }) => `${state} ${kind} ${place}: ${what}`).sort();
}

test('an older record is found after each change of rights and ways to sign in, and after the end', async () => {
  const records = redisKeys.persons(account.aid);
  const change = (id: string, body: object) => account.send('PUT', `/person/${id}`, { body });
  const people = await Promise.all(
    Array.from({ length: 6 }, () => person(vault, account, 'support', { name: 'Ada' })),
  );
  const [lowered, limited, lost, deleted, out, renamed] = people.map(({ id }) => id);
  const kept = await vault.raw.hgetallBuffer(records);
  await change(lowered ?? '', { name: 'Ada', role: 'auditor' });
  await change(limited ?? '', { name: 'Ada', role: 'support', keys: ['u'] });
  await account.send('DELETE', `/person/${lost}/passkey/${people[2]?.passkey.id}`);
  await account.send('DELETE', `/person/${deleted}`);
  await people[4]?.send('DELETE', '/person/self/session', { query: { all: true } });
  await change(renamed ?? '', { name: 'Eve', role: 'support' });
  expect(await faults()).toEqual([]);
  await vault.raw.hset(records, kept);
  const older = 'its rights or its ways to sign in have changed since, and it is there as it was before';
  expect(await faults()).toEqual(
    [
      ...[lowered, limited, lost, out].map((id) => `bad person ${id}: ${older}`),
      `bad person ${deleted}: it was deleted, and is there again`,
    ].sort(),
  );
  await vault.raw.del(records);
});

test('a record is of no use in the place of another, or in another account', async () => {
  const stranger = await vault.account();
  const [one, two] = [await person(vault, account, 'auditor'), await invite(account, 'owner')];
  const records = redisKeys.persons(account.aid);
  const record = (await vault.raw.hgetBuffer(records, two.id)) ?? Buffer.alloc(0);
  await vault.raw.hset(records, one.id, record);
  await vault.raw.hset(redisKeys.persons(stranger.aid), two.id, record);
  expect((await one.send('GET', '/whoami')).outcome).toBe('500 integrity_failed');
  expect((await stranger.send('GET', `/person/${two.id}`)).outcome).toBe('500 integrity_failed');
});
