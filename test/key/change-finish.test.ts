import { afterAll, beforeEach, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { failNext, loseNext } from '../helpers/hold.ts';
import { openTestVault } from '../helpers/vault.ts';

const NEW = 'the passphrase that nobody was told';
function secretOf(text: string) {
  return new Secret(new TextEncoder().encode(text));
}

let account: AccountClient;

const vault = await openTestVault();
// What is to be finished is written down by account.
beforeEach(async () => {
  account = await vault.account();
});
afterAll(() => vault.close());

/** What a server leaves that dies right behind the key's record. */
async function changeAndDie(user: string): Promise<void> {
  const { crypto, stores } = vault.opened;
  const key = await vault.opened.services.keyOpener.find(account, user);
  const read = await stores.keyStore.readPair(key.aid, user);
  const next = await crypto.changePassphrase({
    key,
    ...{ record: key.record, recovery: read.recovery },
    from: secretOf(PASSPHRASE),
    to: secretOf(NEW),
    summary: undefined,
  });
  const { aid, kid, gen } = key;
  const change = { aid, user, kid, gen: gen + 1, read: { ...read, record: key.record }, next };
  expect(await stores.keyStore.change(change)).toBe(true);
}

test('a change whose server died behind the record is finished by the sweep', async () => {
  await account.key('left');
  const writer = await createCapture(account, 'left');
  const reader = await createRetrieve(account, 'left');
  await changeAndDie('left');
  const other = await vault.secondServer();
  expect(await vault.raw.smembers(redisKeys.keyChanges(account.aid))).toHaveLength(1);
  await other.opened.sweep();
  expect(await vault.raw.smembers(redisKeys.keyChanges(account.aid))).toEqual([]);
  for (const server of [vault, other]) {
    expect((await capture(server, writer, { body: { number: '1' } })).outcome).toBe('410 endpoint_gone');
    expect((await retrieve(server, reader)).outcome).toBe('410 endpoint_gone');
  }
  expect(await vault.raw.hexists(redisKeys.endpoint(writer.unique_id), 'w')).toBe(0);
  await other.close();
});

test('a change that came to its end leaves nothing to finish', async () => {
  await account.key('whole');
  const body = { user: 'whole', passphrase: PASSPHRASE, new_passphrase: NEW };
  expect((await account.send('PUT', '/key/', { body })).outcome).toBe('200');
  expect(await vault.raw.exists(redisKeys.keyChanges(account.aid))).toBe(0);
});

test('what somebody else has put among the changes to finish does not stop the sweep', async () => {
  await account.key('strange');
  await vault.raw.sadd(redisKeys.keyChanges(account.aid), 'x', 'a b', 'kid NaN', 'kid -1');
  await vault.opened.sweep();
});

test('a change whose reply from Redis was lost is told as what it was', async () => {
  await account.key('unheard');
  loseNext(vault.opened.stores.keyStore, 'change');
  const body = { user: 'unheard', passphrase: PASSPHRASE };
  const answer = await account.send('PUT', '/key/', { body });
  const { passphrase } = answer.as<{ passphrase: string }>();
  expect(answer.outcome).toBe('200');
  const stored = { query: { user: 'unheard' }, body: { number: '1' }, passphrase };
  expect((await account.send('POST', '/vault', stored)).outcome).toBe('200');
});

test('a change that Redis has not taken is refused, and the old passphrase stays', async () => {
  await account.key('refused');
  failNext(vault.opened.stores.keyStore, 'change', new VaultError('store_unavailable'));
  const body = { user: 'refused', passphrase: PASSPHRASE, new_passphrase: NEW };
  expect((await account.send('PUT', '/key/', { body })).outcome).toBe('503 store_unavailable');
  await account.store('refused', { number: '1' });
});
