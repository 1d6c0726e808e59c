import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { holdNext } from '../hold.ts';
import { namesOf, walk } from '../walk.ts';

let vault: TestVault;

beforeAll(async () => {
  vault = await openTestVault();
});
afterAll(() => vault.close());

describe('a reply without a limit', () => {
  test.each([false, true])(
    'does not skip an item that is updated before the reply comes to it: decrypt_all=%p',
    async (decrypt_all) => {
      const client = await vault.account();
      await client.key('long');
      const token = await client.store('long', { number: '1' });
      const { itemStore } = vault.opened.stores;
      const place = itemStore.bucketOf(await vault.kidOf(client, 'long'), token);
      // Positions of items that are gone fill what is read of the bucket at first, so that the item comes later.
      const gone = Array.from({ length: 300 }, (_, n) => [n + 1, `gone-${n}`]).flat();
      await vault.raw.zadd(redisKeys.times(place), ...gone);
      const held = holdNext(itemStore, 'positions', { skip: itemStore.buckets });
      const query = { user: 'long', limit: -1, decrypt_all };
      const reply = client.send('GET', '/vault', {
        query,
        ...(decrypt_all ? { passphrase: PASSPHRASE } : {}),
      });
      await held.reached;
      await client.sdk.vault.update({ user: 'long', token, data: { moved: true } });
      held.release();
      expect(namesOf((await reply).as<Tree>())).toEqual([`long ${token}`]);
    },
  );
});

describe('a reply that has room for all', () => {
  const filters: readonly Query[] = [
    {},
    { limit: 1 },
    { limit: 5 },
    { limit: -1 },
    { reference: 'r' },
    { reference_prefix: 'r' },
  ];
  test.each(filters)('does not skip an item that is updated while it is being made: %p', async (filter) => {
    const client = await vault.account();
    await client.key('one');
    const token = await client.store('one', { number: '1' }, { reference: 'r' });
    for (const step of ['newest', 'positions', 'readMany'] as const) {
      // Just before the listing takes this step for the first time, the item moves.
      const held = holdNext(vault.opened.stores.itemStore, step);
      const walking = walk(client, { user: 'one', ...filter });
      // A listing by reference needs no positions.
      await Promise.race([held.reached, walking]);
      await client.sdk.vault.update({ user: 'one', token, reference: 'r', data: { step } });
      held.release();
      expect([step, [...new Set(await walking)]]).toEqual([step, [`one ${token}`]]);
    }
  });

  test('shows every item each time, while all of them are updated again and again', async () => {
    const client = await vault.account();
    await client.key('many');
    const tokens = await Promise.all(
      Array.from({ length: 60 }, (_, n) => client.store('many', { number: `${n}` })),
    );
    let stop = false;
    const updating = [0, 1, 2].map(async (writer) => {
      for (let n = writer; !stop; n += 3) {
        await client.sdk.vault.update({ user: 'many', token: tokens[n % 60] ?? '', data: { n } });
      }
    });
    const missing: number[] = [];
    for (let n = 0; n < 40; n++) {
      const seen = new Set(await walk(client, { user: 'many' }));
      missing.push(60 - seen.size);
    }
    stop = true;
    await Promise.all(updating);
    expect(missing).toEqual(Array(40).fill(0));
  });
});
