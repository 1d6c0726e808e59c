/** Recoveries beside other changes of the key, and what an interruption leaves of one. */
import { afterAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { failNext, holdNext } from '../helpers/hold.ts';
import { openTestVault } from '../helpers/vault.ts';
import {
  change,
  createCustodians,
  make,
  NEW,
  open,
  read,
  recoverable,
  recoverWith,
  sharesOf,
} from './recovery-steps.ts';

const OTHER = 'the passphrase of somebody else';

const vault = await openTestVault();
const [account, custodians] = await Promise.all([vault.account(), createCustodians(2)]);
afterAll(async () => {
  for (const { close } of custodians) {
    close();
  }
  await vault.close();
});

/** Which of the passphrases open an item. */
async function opening(user: string, token: string, client = account): Promise<string[]> {
  const answers = await Promise.all([PASSPHRASE, NEW, OTHER].map((text) => open(client, user, token, text)));
  return [PASSPHRASE, NEW, OTHER].filter((_, i) => answers[i]?.status === 200);
}

describe('at once', () => {
  test('of two recoveries one wins, and its passphrase alone opens', async () => {
    const shares = await recoverable(account, 'two', custodians);
    const token = await account.store('two', { number: '4111111111111111' });
    const wanted = [NEW, OTHER];
    const answers = await Promise.all(wanted.map((to) => recoverWith(account, 'two', shares, to)));
    const outcomes = answers.map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual(['200', '409 key_changed']);
    expect(await opening('two', token)).toEqual([wanted[outcomes.indexOf('200')] ?? '']);
    expect((await recoverWith(account, 'two', shares)).outcome).toBe('200');
  });

  test.each(['recovery', 'change'] as const)('a %s that comes second changes nothing', async (second) => {
    const user = `second-${second}`;
    const shares = await recoverable(account, user, custodians);
    const token = await account.store(user, { number: '4111111111111111' });
    const acts = {
      recovery: () => recoverWith(account, user, shares, NEW),
      change: () => change(account, user, PASSPHRASE, OTHER),
    };
    const first = second === 'change' ? 'recovery' : 'change';
    const held = holdNext(vault.opened.stores.keyStore, 'change');
    const late = acts[second]();
    await held.reached;
    expect((await acts[first]()).outcome).toBe('200');
    held.release();
    expect((await late).outcome).toBe('409 key_changed');
    expect(await opening(user, token)).toEqual([first === 'change' ? OTHER : NEW]);
    expect((await recoverWith(account, user, shares)).outcome).toBe('200');
  });

  test('a recovery that was renewed while the passphrase changed opens the generation after it', async () => {
    const user = 'renewed';
    const old = await recoverable(account, user, custodians);
    const held = holdNext(vault.opened.stores.keyStore, 'change');
    const changing = change(account, user, PASSPHRASE, OTHER);
    await held.reached;
    expect((await make(account, user, custodians, 2)).outcome).toBe('200');
    held.release();
    // The key was the same: the change is made again, with the recovery that there is now.
    expect((await changing).outcome).toBe('200');
    expect((await recoverWith(account, user, old)).outcome).toBe('403 recovery_refused');
    expect((await recoverWith(account, user, await sharesOf(account, user, custodians))).outcome).toBe('200');
  });

  test('a key that is deleted meanwhile is not there again', async () => {
    const shares = await recoverable(account, 'deleted', custodians);
    const held = holdNext(vault.opened.stores.keyStore, 'change');
    const late = recoverWith(account, 'deleted', shares);
    await held.reached;
    expect((await account.send('DELETE', '/key', { query: { user: 'deleted' } })).outcome).toBe('200');
    held.release();
    expect((await late).outcome).toBe('409 key_changed');
    expect((await read(account, 'deleted')).outcome).toBe('404 key_not_found');
  });
});

describe('a deleted key', () => {
  test('leaves nothing of its recovery, and a new one of its name has none', async () => {
    const shares = await recoverable(account, 'gone', custodians);
    expect(await vault.raw.exists(redisKeys.recovery(account.aid, 'gone'))).toBe(1);
    await account.send('DELETE', '/key', { query: { user: 'gone' } });
    expect(await vault.raw.exists(redisKeys.recovery(account.aid, 'gone'))).toBe(0);
    await account.key('gone');
    expect((await read(account, 'gone')).outcome).toBe('404 recovery_not_found');
    expect((await recoverWith(account, 'gone', shares)).outcome).toBe('403 recovery_refused');
  });

  test('and a deleted account neither', async () => {
    const owner = await vault.account();
    await recoverable(owner, 'u', custodians);
    await vault.opened.services.accounts.remove(owner.name);
    await vault.opened.sweep();
    expect(await vault.raw.keys(`*${owner.aid}*kr:*`)).toEqual([]);
  });
});

describe('an interrupted recovery', () => {
  test('of a server that died behind the records is finished by the next unlock, on another one', async () => {
    const user = 'died';
    const shares = await recoverable(account, user, custodians);
    const token = await account.store(user, { number: '4111111111111111' });
    const reader = await createRetrieve(account, user);
    const { crypto, services, stores } = vault.opened;
    const key = await services.keyOpener.find(account, user);
    const { record = key.record, recovery } = await stores.keyStore.readPair(account.aid, user);
    const secretOf = (text: string) => new Secret(new TextEncoder().encode(text));
    const next = await crypto.recoverKey({
      ...{ key, record, recovery, shares: shares.map(secretOf), to: secretOf(NEW) },
    });
    const changed = { ...key, gen: key.gen + 1, read: { record, recovery }, next };
    expect(await stores.keyStore.change(changed)).toBe(true);
    expect(await stores.keyStore.changesLeft(account.aid)).toEqual([{ kid: key.kid, gen: 2 }]);
    const second = await vault.secondServer();
    expect(await opening(user, token, account.via(second.handle))).toEqual([NEW]);
    expect((await retrieve(second, reader, { query: { token } })).outcome).toBe('410 endpoint_gone');
    expect(await stores.keyStore.changesLeft(account.aid)).toEqual([]);
    await second.close();
  });

  test('before the records changes nothing, and the shares open the key as before', async () => {
    const user = 'before';
    const shares = await recoverable(account, user, custodians);
    const token = await account.store(user, { number: '4111111111111111' });
    failNext(vault.opened.stores.keyStore, 'change', new VaultError('store_unavailable'));
    expect((await recoverWith(account, user, shares)).outcome).toBe('503 store_unavailable');
    expect(await opening(user, token)).toEqual([PASSPHRASE]);
    expect((await recoverWith(account, user, shares)).outcome).toBe('200');
  });
});

describe('a record that somebody has put back or taken away', () => {
  test.each(['an older one', 'none'])(
    '%s: nothing is done with it, and a new recovery ends that',
    async (what) => {
      const user = what.replaceAll(' ', '-');
      const name = redisKeys.recovery(account.aid, user);
      const old = await recoverable(account, user, custodians);
      const copy = (await vault.raw.getBuffer(name)) ?? Buffer.alloc(0);
      await make(account, user, custodians, 2);
      await (what === 'none' ? vault.raw.del(name) : vault.raw.set(name, copy));
      for (const answer of [
        await change(account, user, PASSPHRASE, OTHER),
        await recoverWith(account, user, old),
      ]) {
        expect(answer.outcome).toBe('500 integrity_failed');
      }
      expect((await make(account, user, custodians, 2)).outcome).toBe('200');
      expect((await change(account, user, PASSPHRASE, OTHER)).outcome).toBe('200');
      expect((await recoverWith(account, user, await sharesOf(account, user, custodians))).outcome).toBe(
        '200',
      );
    },
  );
});
