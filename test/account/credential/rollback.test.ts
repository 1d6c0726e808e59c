/** What a writer to Redis does who puts back an older record of a credential: it opens, in its place. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import type { AccountClient } from '../../helpers/clients.ts';
import { runCommand } from '../../helpers/command.ts';
import { clientOf, makeCredential } from '../../helpers/credentials.ts';
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
  return found.faults.map(({ state, kind, place, what }) => `${state} ${kind} ${place}: ${what}`);
}

describe('an older record of a credential', () => {
  test('is found after the credential was deleted, or got a new secret', async () => {
    const records = redisKeys.credentials(account.aid);
    const deleted = await makeCredential(account, ['vault:list']);
    const rolled = await makeCredential(account, ['vault:list']);
    const kept = await vault.raw.hgetallBuffer(records);
    expect((await account.send('DELETE', `/credential/${deleted.id}`)).outcome).toBe('200');
    const roll = { body: {} };
    expect((await account.send('POST', `/credential/${rolled.id}/roll`, roll)).outcome).toBe('200');
    expect(await faults()).toEqual([]);
    await vault.raw.hset(records, kept);
    expect([...(await faults())].sort()).toEqual(
      [
        `bad credential ${deleted.id}: it was deleted, and is there again`,
        `bad credential ${rolled.id}: it has got a new secret since, and is there as it was before`,
      ].sort(),
    );
    // Its secret leads nowhere without the digest.
    for (const made of [deleted, rolled]) {
      expect((await clientOf(vault.handle, account, made).send('GET', '/whoami')).outcome).toBe(
        '401 unauthenticated',
      );
    }
    await vault.raw.del(records);
  });

  test('is shown all the same with a last use that no server has written', async () => {
    const made = await makeCredential(account, ['vault:list']);
    for (const used of ['soon', '-1', '1e300', '']) {
      await vault.raw.hset(redisKeys.credentialUses(account.aid), made.id, used);
      const one = await account.send('GET', `/credential/${made.id}`);
      expect([one.outcome, (await account.send('GET', '/credential')).outcome]).toEqual(['200', '200']);
      expect(one.text).not.toContain('last_used_at');
    }
  });

  test('is of no use in the place of another, or in another account', async () => {
    const stranger = await vault.account();
    const [one, two] = [
      await makeCredential(account, ['vault:list']),
      await makeCredential(account, ['vault:read']),
    ];
    const records = redisKeys.credentials(account.aid);
    const record = (await vault.raw.hgetBuffer(records, two.id)) ?? Buffer.alloc(0);
    await vault.raw.hset(records, one.id, record);
    await vault.raw.hset(redisKeys.credentials(stranger.aid), two.id, record);
    const asOne = await clientOf(vault.handle, account, one).send('GET', '/whoami');
    expect(asOne.outcome).toBe('500 integrity_failed');
    expect((await stranger.send('GET', `/credential/${two.id}`)).outcome).toBe('500 integrity_failed');
    expect((await account.send('DELETE', `/credential/${one.id}`)).outcome).toBe('200');
    expect((await clientOf(vault.handle, account, one).send('GET', '/whoami')).outcome).toBe(
      '401 unauthenticated',
    );
  });
});
