/** Credentials of the operator and what a platform sets, in backups, verifications and rotations. */
import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, createAccountClient } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { type MadeCredential, operatorClient } from '../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { masterKeyOf, useRestores } from '../maintenance/restores.ts';

setDefaultTimeout(60_000);

const masterKey = masterKeyOf();
const HOUR_MS = 3_600_000;
const place = useRestores();
let vault: TestVault;
let now = Date.now();

beforeAll(async () => {
  vault = await place.open({ masterKey, now: () => now, alone: true });
});

/** What `vault verify` finds. */
async function faults(of = vault): Promise<readonly string[]> {
  const { out } = await runCommand(['verify', '--json'], { vault: of });
  const found = JSON.parse(out) as { faults: readonly Record<'state' | 'kind' | 'place' | 'what', string>[] };
  return found.faults.map(({ state, kind, place: at, what }) => `${state} ${kind} ${at}: ${what}`);
}

function listed(client: AccountClient, at = vault): Promise<string> {
  return client
    .via(at.handle)
    .send('GET', '/account')
    .then(({ outcome }) => outcome);
}

test('a backup has them, with suspensions, rates and former names', async () => {
  const operator = await operatorClient(vault);
  const before = await operatorClient(vault);
  await commandJson(vault, 'credential', 'delete', before.made.id, '--operator');
  await operator.send('POST', '/account', { body: { name: 'shop', rate: '60/m', hosts: ['a.example'] } });
  await operator.send('POST', '/account/shop/suspend');
  const shop = (await operator.send('GET', '/account/shop')).json;
  await operator.send('POST', '/account', { body: { name: 'former' } });
  await operator.send('DELETE', '/account/former');
  expect(await faults()).toEqual([]);
  const { file } = await place.backup();
  await place.restored(file, async (copy) => {
    const there = operator.via(copy.handle);
    expect((await there.send('GET', '/account/shop')).json).toEqual(shop);
    expect((await there.send('POST', '/account', { body: { name: 'former' } })).outcome).toBe(
      '409 account_exists',
    );
    expect(await listed(before, copy)).toBe('401 unauthenticated');
    const list = await commandJson<readonly MadeCredential[]>(copy, 'credential', 'list', '--operator');
    expect(list.map(({ id, last_used_at }) => [id, last_used_at !== undefined])).toEqual([
      [operator.made.id, true],
    ]);
    expect(await faults(copy)).toEqual([]);
  });
});

test('one that was deleted during the backup is not in the restored vault', async () => {
  const operator = await operatorClient(vault);
  const records = await vault.raw.hgetallBuffer(redisKeys.operatorCredentials);
  const secrets = await vault.raw.hgetallBuffer(redisKeys.credentialSecrets);
  await commandJson(vault, 'credential', 'delete', operator.made.id, '--operator');
  // As a backup finds it that has copied the records before the deletion, and the log after it.
  await vault.raw.hset(redisKeys.operatorCredentials, records);
  await vault.raw.hset(redisKeys.credentialSecrets, secrets);
  expect(await faults()).toEqual([`bad credential ${operator.made.id}: it was deleted, and is there again`]);
  const { file } = await place.backup();
  await place.restored(file, async (copy) => {
    expect(await listed(operator, copy)).toBe('401 unauthenticated');
    expect(await faults(copy)).toEqual([]);
  });
  await commandJson(vault, 'credential', 'delete', operator.made.id, '--operator');
});

test('one with an older secret is found, and digests that lead nowhere are swept', async () => {
  const operator = await operatorClient(vault);
  const records = await vault.raw.hgetallBuffer(redisKeys.operatorCredentials);
  const rolled = await commandJson<MadeCredential>(
    vault,
    ...['credential', 'roll', operator.made.id, '--operator'],
  );
  const newer = await vault.raw.hgetallBuffer(redisKeys.operatorCredentials);
  await vault.raw.hset(redisKeys.operatorCredentials, records);
  expect(await faults()).toEqual([
    `bad credential ${operator.made.id}: it has got a new secret since, and is there as it was before`,
  ]);
  await vault.raw.hset(redisKeys.operatorCredentials, newer);
  now += 2 * HOUR_MS;
  await vault.raw.hset(redisKeys.credentialSecrets, { left: ` ${operator.made.id} 1`, malformed: ' ' });
  await vault.opened.services.credentials.sweep();
  expect(await vault.raw.hmget(redisKeys.credentialSecrets, 'left', 'malformed')).toEqual([null, null]);
  const client = createAccountClient(vault.handle, { name: rolled.id, password: rolled.secret, aid: '' });
  expect(await listed(client)).toBe('200');
});

test('a damaged one is reported, and the record of an account’s credential is none of the operator', async () => {
  const operator = await operatorClient(vault);
  const account = await vault.account();
  const body = { name: 'c', scopes: ['vault:list'] };
  const own = (await account.send('POST', '/credential', { body })).as<MadeCredential>();
  const record = (await vault.raw.hgetBuffer(redisKeys.credentials(account.aid), own.id)) ?? '';
  await vault.raw.hset(redisKeys.operatorCredentials, operator.made.id, record);
  expect(await faults()).toEqual([`bad credential ${operator.made.id}: it does not open in its place`]);
  expect(await listed(operator)).toBe('500 integrity_failed');
  await vault.raw.hdel(redisKeys.operatorCredentials, operator.made.id);
  expect(await faults()).toEqual([]);
});

test('they are re-encrypted with the master key, and valid under a new root', async () => {
  const operator = await operatorClient(vault);
  const next = await openTestVault({
    ...{ redis: place.source, join: true, now: () => now, alone: true },
    masterKeys: new Map([
      ['k2', masterKeyOf(41)],
      ['k1', masterKey],
    ]),
  });
  const rotated = await commandJson<{ done: boolean }>(next, 'rotate-master');
  expect(rotated.done).toBe(true);
  const { keys } = await commandJson<{ keys: Record<string, Record<string, number>> }>(next, 'verify');
  expect(Object.keys(keys['credential'] ?? {})).toEqual(['k2']);
  const outcome = await next.opened.services.rootRotation.rotate({
    ...{ seen: () => undefined, isForced: true },
    waitForServers: async () => void (await next.opened.roots.refresh()),
  });
  expect(outcome.state).toBe('done');
  expect(await listed(operator, next)).toBe('200');
  await next.close();
});

test('those that expire are counted with the others', async () => {
  const counted = async (): Promise<number | undefined> => {
    await place.source.flush();
    const fresh = await openTestVault({ redis: place.source, join: true, masterKey, alone: true });
    await operatorClient(fresh, '--expires-in', 'P3D');
    await fresh.opened.services.expiring.round();
    const figures = await fresh.opened.services.expiring.figures();
    await fresh.close();
    return figures?.find(({ kind, within }) => kind === 'credential' && within === '7d')?.count;
  };
  expect(await counted()).toBe(1);
});
