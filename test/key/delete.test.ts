import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', cvv: '123' };

const vault = await openTestVault();
const account = await vault.account();
afterAll(() => vault.close());

function remove(user: string, safe?: string | boolean, client = account): Promise<Answer> {
  return client.send('DELETE', '/key/', { query: { user, safe } });
}
function store(user: string, body: unknown = CARD, client = account): Promise<Answer> {
  return client.send('POST', '/vault', { query: { user }, passphrase: PASSPHRASE, body });
}
function open(user: string, token: string, client = account): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user, token }, passphrase: PASSPHRASE });
}
function kidOf(user: string): Promise<string> {
  return vault.kidOf(account, user);
}
function namesOf(kid: string): Promise<string[]> {
  return vault.raw.keys(`{${kid}.*`);
}

async function newKey(user: string): Promise<string> {
  await account.key(user);
  return account.store(user, CARD);
}

describe('deleting safely', () => {
  test('refuses while the key holds data, and changes nothing', async () => {
    const token = await newKey('safe');
    for (const safe of [undefined, 'true', 't', '1']) {
      expect((await remove('safe', safe)).outcome).toBe('409 key_not_empty');
    }
    for (const safe of ['', 'yes', 'TRUE', '2']) {
      const refused = await remove('safe', safe);
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.safe']);
    }
    expect((await open('safe', token)).text).toBe(JSON.stringify(CARD));
    expect((await store('safe')).status).toBe(200);
  });

  test('takes a key that never held anything', async () => {
    await account.key('never-held');
    expect(Object.keys(await account.sdk.keys.delete({ user: 'never-held' }))).toEqual(['message']);
    expect((await store('never-held')).outcome).toBe('404 key_not_found');
    expect((await account.sdk.keys.list()).data).not.toContainEqual({ user: 'never-held' });
  });

  test('takes a key whose items were all deleted', async () => {
    const token = await newKey('emptied');
    await account.sdk.vault.delete({ user: 'emptied', token });
    expect((await remove('emptied')).outcome).toBe('200');
  });
});

describe('deleting with all data', () => {
  test.each(['false', 'f', '0'])('safe=%s makes everything under the key unreachable', async (safe) => {
    const user = `unsafe-${safe}`;
    const token = await newKey(user);
    const kid = await kidOf(user);
    expect((await remove(user, safe)).outcome).toBe('200');
    const after = await Promise.all([
      open(user, token),
      store(user),
      account.send('GET', '/vault', { query: { user } }),
      account.send('GET', '/vault', { query: { user, token } }),
      account.send('GET', '/vault/metadata', { query: { user, token } }),
      account.send('DELETE', '/vault', { query: { user, token } }),
      remove(user),
    ]);
    expect(after.map(({ outcome }) => outcome)).toEqual(after.map(() => '404 key_not_found'));
    // Closed fences stay for a day, against requests that began before; nothing that holds data does.
    expect((await namesOf(kid)).filter((name) => !name.endsWith('}f'))).toEqual([]);
  });

  test('what an interrupted deletion left behind goes at the next sweep, and was unreachable before', async () => {
    const token = await newKey('interrupted');
    const kid = await kidOf('interrupted');
    const held = holdNext(vault.opened.stores.keyStore, 'purge');
    const removing = remove('interrupted', false);
    await held.reached;
    expect((await open('interrupted', token)).outcome).toBe('404 key_not_found');
    expect((await namesOf(kid)).some((name) => name.endsWith(`}i${token}`))).toBe(true);
    await vault.opened.sweep();
    expect((await namesOf(kid)).filter((name) => !name.endsWith('}f'))).toEqual([]);
    held.release();
    expect((await removing).status).toBe(200);
  });
});

describe('refusals', () => {
  test('a key of another account is not there', async () => {
    await account.key('of-mine');
    expect((await remove('of-mine', false, await vault.account())).outcome).toBe('404 key_not_found');
    expect((await store('of-mine')).status).toBe(200);
  });

  test('the identifier is needed', async () => {
    expect((await account.send('DELETE', '/key/')).field).toBe('query.key');
  });
});

describe('a key made anew under the same identifier and passphrase', () => {
  test('is another key: old tokens are unknown, the same card gets another token', async () => {
    const old = await newKey('anew');
    await remove('anew', false);
    const fresh = await newKey('anew');
    expect(fresh).not.toBe(old);
    expect((await open('anew', old)).outcome).toBe('404 token_not_found');
    expect((await account.sdk.vault.list({ user: 'anew' })).data['anew']?.map(({ token }) => token)).toEqual([
      fresh,
    ]);
  });

  test('cannot be opened with the data of the old one put back', async () => {
    const old = await newKey('put-back');
    const kid = await kidOf('put-back');
    const bucket = vault.opened.stores.itemStore.bucketOf(kid, old);
    const item = await vault.raw.dumpBuffer(redisKeys.item(bucket, old));
    await remove('put-back', false);
    await account.key('put-back');
    const place = vault.opened.stores.itemStore.bucketOf(await kidOf('put-back'), old);
    await vault.raw.restore(redisKeys.item(place, old), 0, item ?? '');
    await vault.raw.zadd(redisKeys.times(place), Date.now(), old);
    expect((await open('put-back', old)).outcome).toBe('500 integrity_failed');
  });
});

describe('deletions and stores at once', () => {
  test('nor does it land in a key that was made anew meanwhile, without its passphrase', async () => {
    await account.key('late-anew');
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const storing = store('late-anew');
    await held.reached;
    expect((await remove('late-anew')).status).toBe(200);
    await account.key('late-anew', 'the passphrase of the new key');
    held.release();
    expect((await storing).outcome).toBe('403 passphrase_wrong');
    expect((await account.sdk.vault.list({ user: 'late-anew' })).data['late-anew']).toEqual([]);
  });

  test('stores wait for a deletion that is then refused', async () => {
    const token = await newKey('refused');
    const held = holdNext(vault.opened.stores.keyStore, 'reopen');
    const removing = remove('refused');
    await held.reached;
    const [storing, opening] = [store('refused', { number: '42' }), open('refused', token)];
    held.release();
    expect((await removing).outcome).toBe('409 key_not_empty');
    expect((await storing).outcome).toBe('200');
    expect((await opening).outcome).toBe('200');
  });

  test('a decryption that began before the deletion shows nothing after it', async () => {
    const token = await newKey('late-decrypt');
    const held = holdNext(vault.opened.stores.itemStore, 'appendLog');
    const opening = open('late-decrypt', token);
    await held.reached;
    expect((await remove('late-decrypt', false)).status).toBe(200);
    held.release();
    expect((await opening).outcome).toBe('404 key_not_found');
  });

  test('a store does not land because a second deletion, which came too late, opened the key again', async () => {
    await account.key('reopened');
    const heldStore = holdNext(vault.opened.stores.itemStore, 'write');
    const storing = store('reopened');
    await heldStore.reached;
    const heldClose = holdNext(vault.opened.stores.keyStore, 'close');
    const late = remove('reopened');
    await heldClose.reached;
    expect((await remove('reopened')).status).toBe(200);
    heldClose.release();
    expect((await late).status).not.toBe(200);
    heldStore.release();
    expect((await storing).outcome).toBe('404 key_not_found');
  });

  test('a safe deletion does not take an item that was stored while another deletion opened the key', async () => {
    await account.key('opened-between');
    const heldClose = holdNext(vault.opened.stores.keyStore, 'close');
    const stale = remove('opened-between');
    await heldClose.reached;
    const change = { user: 'opened-between', passphrase: PASSPHRASE, new_passphrase: PASSPHRASE };
    expect((await account.send('PUT', '/key', { body: change })).status).toBe(200);
    const heldRemove = holdNext(vault.opened.stores.keyStore, 'remove');
    const removing = remove('opened-between');
    await heldRemove.reached;
    heldClose.release();
    expect((await stale).outcome).toBe('409 key_changed');
    const storing = store('opened-between');
    // The store lands at once, or it waits for the deletion.
    await Promise.race([storing, Bun.sleep(150)]);
    heldRemove.release();
    const removed = await removing;
    const stored = await storing;
    if (stored.status === 200) {
      expect(removed.outcome).toBe('409 key_not_empty');
      expect((await open('opened-between', stored.as<{ token: string }>().token)).outcome).toBe('200');
    } else {
      expect([removed.outcome, stored.outcome]).toEqual(['200', '404 key_not_found']);
    }
  });
});

describe('on two servers', () => {
  let second: TestVault;
  let there: AccountClient;
  beforeAll(async () => {
    second = await vault.secondServer();
    there = account.via(second.handle);
  });
  afterAll(() => second.close());

  test('a deletion on one ends the use of the key on the other, which had it unlocked', async () => {
    const token = await newKey('elsewhere');
    expect((await open('elsewhere', token, there)).status).toBe(200);
    expect((await remove('elsewhere', false)).status).toBe(200);
    expect((await open('elsewhere', token, there)).outcome).toBe('404 key_not_found');
    expect((await store('elsewhere', CARD, there)).outcome).toBe('404 key_not_found');
    const all = { query: { user: 'elsewhere', decrypt_all: true }, passphrase: PASSPHRASE };
    expect((await there.send('GET', '/vault', all)).outcome).toBe('404 key_not_found');
  });

  test('a safe deletion on one never takes an item that the other acknowledged', async () => {
    for (let round = 0; round < 4; round++) {
      const user = `apart-${round}`;
      await account.key(user);
      const opened = { query: { user, decrypt_all: true }, passphrase: PASSPHRASE };
      expect((await there.send('GET', '/vault', opened)).status).toBe(200);
      const stores = [0, 1, 2, 3].map((n) => store(user, { number: `80${n}` }, there));
      const [removed, ...stored] = await Promise.all([remove(user), ...stores]);
      for (const { outcome } of stored) {
        expect(outcome).toBe(removed?.status === 200 ? '404 key_not_found' : '200');
      }
      expect(['200', '409 key_not_empty']).toContain(removed?.outcome ?? '');
    }
  });

  test('a deletion and a passphrase change at once leave a key that is gone, or one that works', async () => {
    for (let round = 0; round < 4; round++) {
      const user = `both-${round}`;
      const token = await newKey(user);
      const next = 'the passphrase after the change';
      const body = { user, passphrase: PASSPHRASE, new_passphrase: next };
      const [changed, removed] = await Promise.all([
        there.send('PUT', '/key', { body }),
        Bun.sleep(round * 8).then(() => remove(user, false)),
      ]);
      expect(['200', '404 key_not_found', '409 key_changed']).toContain(changed.outcome);
      const passphrase = changed.status === 200 ? next : PASSPHRASE;
      const after = await account.send('GET', '/vault', { query: { user, token }, passphrase });
      expect(after.outcome).toBe(removed.status === 200 ? '404 key_not_found' : '200');
    }
  });

  test('a key made anew with another passphrase opens with that one on the other', async () => {
    const token = await newKey('anew-elsewhere');
    expect((await open('anew-elsewhere', token, there)).status).toBe(200);
    await remove('anew-elsewhere', false);
    await account.key('anew-elsewhere', 'the passphrase of the new key');
    const storing = {
      query: { user: 'anew-elsewhere' },
      passphrase: 'the passphrase of the new key',
      body: CARD,
    };
    expect((await there.send('POST', '/vault', storing)).outcome).toBe('200');
    expect((await open('anew-elsewhere', token, there)).outcome).toBe('403 passphrase_wrong');
  });

  test('a long deletion, whose closing of the key ran out, still ends its use on the other', async () => {
    const token = await newKey('long');
    expect((await open('long', token, there)).status).toBe(200);
    const kid = await kidOf('long');
    const held = holdNext(vault.opened.stores.keyStore, 'purge');
    const removing = remove('long', false);
    await held.reached;
    const fences = (await namesOf(kid)).filter((name) => name.endsWith('}f'));
    expect(fences.length).toBe(16);
    for (const fence of fences) {
      const until = Number(await vault.raw.hget(fence, 'c'));
      if (until < Date.now() + 60_000) {
        await vault.raw.hset(fence, 'c', Date.now() - 1);
      }
    }
    expect((await open('long', token, there)).outcome).toBe('404 key_not_found');
    expect((await store('long', { number: '17' }, there)).outcome).toBe('404 key_not_found');
    held.release();
    expect((await removing).status).toBe(200);
  });
});
