import { afterAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault } from '../helpers/vault.ts';

let numbers = 0;

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

function newItem(): Promise<string> {
  numbers += 1;
  return account.store('u', { number: `${numbers}` });
}
function update(token: string, body: object, client = account): Promise<Answer> {
  return client.send('POST', '/vault/update', { query: { user: 'u', token }, passphrase: PASSPHRASE, body });
}
function remove(token: string): Promise<Answer> {
  return account.send('DELETE', '/vault', { query: { user: 'u', token } });
}
async function open(token: string): Promise<Record<string, unknown>> {
  return JSON.parse(await account.open('u', token));
}

/** Writers that each add members of their own, one after another; gives the members that were acknowledged. */
async function writers(token: string, count: number, updates: number, clients: readonly AccountClient[]) {
  const acknowledged: string[] = [];
  const refused: string[] = [];
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; n < updates; n++) {
      const marker = `w${writer}u${n}`;
      const answer = await update(token, { [marker]: n }, clients[writer % clients.length]);
      if (answer.status === 200) {
        acknowledged.push(marker);
      } else {
        refused.push(answer.outcome);
      }
    }
  };
  await Promise.all(Array.from({ length: count }, (_, writer) => write(writer)));
  return { acknowledged, refused };
}

describe('concurrent updates of one item', () => {
  test('from two servers at once none is lost, and none is refused', async () => {
    const second = await vault.secondServer();
    try {
      const token = await newItem();
      const { acknowledged, refused } = await writers(token, 8, 10, [account, account.via(second.handle)]);
      const item = await open(token);
      expect(acknowledged.filter((marker) => !(marker in item))).toEqual([]);
      expect(Object.keys(item)).toHaveLength(acknowledged.length + 1);
      expect(refused).toEqual([]);
    } finally {
      await second.close();
    }
  }, 60_000);

  test('a reader sees each version whole', async () => {
    const token = await newItem();
    let stop = false;
    const writing = (async () => {
      for (let n = 0; !stop; n++) {
        await update(token, { left: n, right: n, cvv: `${n}` });
      }
    })();
    for (let n = 0; n < 60; n++) {
      const { left, right, cvv } = await open(token);
      expect([right, cvv]).toEqual([left, left === undefined ? undefined : `${left}`]);
    }
    stop = true;
    await writing;
  });
});

test('an update against a store of the same number: one comes after the other, nothing is mixed', async () => {
  for (let round = 0; round < 10; round++) {
    const body = { number: `90${round}`, stored: 1 };
    const token = await account.store('u', body);
    const [stored, updated] = await Promise.all([
      account.store('u', { ...body, stored: 2 }),
      update(token, { updated: round }),
    ]);
    expect([stored, updated.outcome]).toEqual([token, '200']);
    const item = await open(token);
    expect([
      JSON.stringify({ ...body, stored: 2 }),
      JSON.stringify({ ...body, stored: 2, updated: round }),
    ]).toContain(JSON.stringify(item));
  }
});

describe('an update against a deletion', () => {
  const isGone = async (token: string): Promise<void> => {
    const kid = await vault.kidOf(account, 'u');
    const place = vault.opened.stores.itemStore.bucketOf(kid, token);
    expect(await vault.raw.exists(redisKeys.item(place, token))).toBe(0);
    expect(await vault.raw.zscore(redisKeys.times(place), token)).toBeNull();
    const query = { user: 'u', token };
    expect((await account.send('GET', '/vault', { query, passphrase: PASSPHRASE })).outcome).toBe(
      '404 token_not_found',
    );
  };

  test('that ends before the update lands: the item stays gone', async () => {
    const token = await newItem();
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const updating = update(token, { late: true });
    await held.reached;
    expect((await remove(token)).outcome).toBe('200');
    held.release();
    expect((await updating).outcome).toBe('404 token_not_found');
    await isGone(token);
  });

  test('that looked at the item before the update: it goes all the same, and nothing stays behind', async () => {
    const token = await account.store('u', { number: '7777', cvv: '1' }, { reference: 'r' });
    const held = holdNext(vault.opened.stores.itemStore, 'remove');
    const query = { user: 'u', token, reference: 'r' };
    const removing = account.send('DELETE', '/vault', { query });
    await held.reached;
    const sending = { query, passphrase: PASSPHRASE, body: { cvv: '2' } };
    expect((await account.send('POST', '/vault/update', sending)).outcome).toBe('200');
    held.release();
    expect((await removing).outcome).toBe('200');
    expect((await vault.raw.keys(`*${token}`)).filter((name) => !name.includes('{d:'))).toEqual([]);
    expect((await account.sdk.vault.list({ user: 'u', reference: 'r' })).data['u']).toEqual([]);
  });

  test('in any order, with many of both: after a deletion that was acknowledged the item is gone', async () => {
    for (let round = 0; round < 12; round++) {
      const token = await newItem();
      const attempts = [
        update(token, { a: 1 }),
        remove(token),
        update(token, { b: 1 }),
        account.send('GET', '/vault', { query: { user: 'u', token }, passphrase: PASSPHRASE }),
        remove(token),
        update(token, { c: 1 }),
      ];
      const outcomes = (await Promise.all(attempts)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome !== '200' && outcome !== '404 token_not_found')).toEqual(
        [],
      );
      expect([outcomes[1], outcomes[4]].toSorted()).toEqual(['200', '404 token_not_found']);
      await isGone(token);
    }
  });
});
