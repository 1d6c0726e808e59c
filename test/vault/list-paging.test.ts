import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../sdk/index.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault } from '../helpers/vault.ts';
import { namesOf, walk as walkAs } from '../helpers/walk.ts';

const USERS = ['a', 'b', 'c', 'd', 'e'];
const ITEMS = 500;

const vault = await openTestVault();
const account = await vault.account();
for (const user of USERS) {
  await account.key(user);
}
const users = Array.from({ length: ITEMS }, (_, n) => USERS[(n % 17) % 5] ?? '');
await Promise.all(
  users.map((user, n) => account.store(user, { number: `${n}` }, { reference: `ref-${n % 10}` })),
);
afterAll(() => vault.close());

function list(query: Query, client = account): Promise<Answer> {
  return client.send('GET', '/vault/', { query });
}
function walk(
  query: Query,
  between?: (page: string[]) => Promise<unknown>,
  client = account,
): Promise<string[]> {
  return walkAs(client, query, between);
}

describe('a walk without writes', () => {
  test('is the whole listing, each item once, in its order, whatever the size of its pages', async () => {
    const whole = namesOf((await list({ limit: -1 })).as<Tree>());
    expect(new Set(whole).size).toBe(ITEMS);
    for (const limit of [7, 100, 256, 499, 500, 501]) {
      expect(await walk({ limit })).toEqual(whole);
    }
    expect(await walk({ limit: 1, user: 'e' })).toEqual(whole.filter((name) => name.startsWith('e ')));
    const bySdk = await Array.fromAsync(account.sdk.vault.pages({ limit: 123 }), ({ data }) => namesOf(data));
    expect(bySdk.flat()).toEqual(whole);
  });

  test('is the same under a filter', async () => {
    const whole = namesOf((await list({ limit: -1, reference: 'ref-3' })).as<Tree>());
    expect(whole).toHaveLength(ITEMS / 10);
    expect(await walk({ limit: 7, reference: 'ref-3' })).toEqual(whole);
    const prefixed = namesOf((await list({ limit: -1, user: 'b', reference_prefix: 'ref-' })).as<Tree>());
    expect(await walk({ limit: 11, user: 'b', reference_prefix: 'ref-' })).toEqual(prefixed);
  });

  test('every full page but the last has as many items as asked for', async () => {
    const sizes: number[] = [];
    await walk({ limit: 60 }, async (page) => sizes.push(page.length));
    expect(sizes).toEqual(Array(8).fill(60));
  });

  test('items of the same time come in the order of their tokens', async () => {
    const client = await vault.account();
    await client.key('tie');
    const tokens = await Promise.all(
      Array.from({ length: 40 }, (_, n) => client.store('tie', { number: `${n}` })),
    );
    const kid = await vault.kidOf(client, 'tie');
    // One in each bucket at the same time; no bucket ever gives a time twice.
    const inBuckets = new Map(
      tokens.map((token) => [vault.opened.stores.itemStore.bucketOf(kid, token).number, token]),
    );
    for (const token of inBuckets.values()) {
      await vault.raw.zadd(redisKeys.times(vault.opened.stores.itemStore.bucketOf(kid, token)), 1_000, token);
    }
    const walked = await walk({ limit: 3 }, undefined, client);
    expect(walked).toHaveLength(40);
    expect(walked.slice(0, inBuckets.size)).toEqual(
      [...inBuckets.values()].sort().map((token) => `tie ${token}`),
    );
  });
});

describe('a walk while items are stored, updated and deleted', () => {
  /** A key with items, and what a test does to it while it walks. */
  const busyKey = async (items: number): Promise<{ client: AccountClient; tokens: string[] }> => {
    const client = await vault.account();
    await client.key('busy');
    const tokens = await Promise.all(
      Array.from({ length: items }, (_, n) =>
        client.store('busy', { number: `${n}` }, { reference: 'same' }),
      ),
    );
    return { client, tokens };
  };

  test.each([{}, { reference: 'same' }])(
    'misses no item that was there, was stored or was moved on the way: filter %p',
    async (filter) => {
      const { client, tokens } = await busyKey(150);
      const added: string[] = [];
      const moved = new Set<string>();
      let round = 0;
      const walked = await walk(
        { limit: 11, user: 'busy', ...filter },
        async () => {
          round += 1;
          if (round > 12) {
            return;
          }
          const storing = [0, 1, 2].map((n) =>
            client.store('busy', { number: `9${round}${n}` }, { reference: 'same' }),
          );
          const updating = [0, 1, 2].map(async (n) => {
            const token = tokens[(round * 29 + n * 53) % tokens.length] ?? '';
            moved.add(token);
            await client.sdk.vault.update({ user: 'busy', token, reference: 'same', data: { round } });
          });
          added.push(...(await Promise.all(storing)));
          await Promise.all(updating);
        },
        client,
      );
      const seen = walked.map((name) => name.slice('busy '.length));
      expect([...tokens, ...added].filter((token) => !seen.includes(token))).toEqual([]);
      // Only what was moved may come a second time.
      const twice = seen.filter((token, at) => seen.indexOf(token) !== at);
      expect(twice.filter((token) => !moved.has(token))).toEqual([]);
      expect(seen.slice(-5).every((token) => added.includes(token) || moved.has(token))).toBe(true);
    },
  );

  test('loses nothing to writes that are under way during each page', async () => {
    const { client, tokens } = await busyKey(60);
    const added: Promise<string>[] = [];
    let round = 0;
    const walked = await walk(
      { limit: 5, user: 'busy' },
      async () => {
        round += 1;
        if (round < 15) {
          for (let n = 0; n < 4; n++) {
            added.push(client.store('busy', { number: `8${round}${n}` }));
          }
        }
        // The last pages come after all stores have been answered.
        if (round === 15) {
          await Promise.all(added);
        }
      },
      client,
    );
    const seen = new Set(walked.map((name) => name.slice('busy '.length)));
    expect([...tokens, ...(await Promise.all(added))].filter((token) => !seen.has(token))).toEqual([]);
  });

  test('goes on behind items that were deleted, the one that the page ended with too', async () => {
    const { client, tokens } = await busyKey(60);
    const deleted = new Set<string>();
    const walked = await walk(
      { limit: 7 },
      async (page) => {
        for (const name of [page.at(-1), page.at(0)]) {
          const token = (name ?? '').slice('busy '.length);
          await client.sdk.vault.delete({ user: 'busy', token, reference: 'same' });
          deleted.add(token);
        }
      },
      client,
    );
    const seen = new Set(walked.map((name) => name.slice('busy '.length)));
    expect(tokens.filter((token) => !seen.has(token) && !deleted.has(token))).toEqual([]);
    expect(walked.length).toBe(new Set(walked).size);
  });

  test('goes on behind a key that was deleted, and meets keys that were made ahead', async () => {
    const client = await vault.account();
    for (const user of ['k1', 'k3', 'k5']) {
      await client.key(user);
      await Promise.all(Array.from({ length: 6 }, (_, n) => client.store(user, { number: `${n}` })));
    }
    let round = 0;
    const walked = await walk(
      { limit: 4 },
      async () => {
        round += 1;
        if (round === 2) {
          await client.sdk.keys.delete({ user: 'k3', safe: false });
          await client.key('k4');
          await client.store('k4', { number: '1' });
        }
      },
      client,
    );
    const users = walked.map((name) => name.slice(0, 2));
    expect(users.filter((user) => user === 'k1')).toHaveLength(6);
    expect(users.filter((user) => user === 'k4')).toHaveLength(1);
    expect(users.filter((user) => user === 'k5')).toHaveLength(6);
  });

  test('without a limit it ends, though items keep coming and moving', async () => {
    const { client, tokens } = await busyKey(80);
    let stop = false;
    const writer = (async () => {
      for (let n = 0; !stop; n++) {
        await client.sdk.vault.update({
          user: 'busy',
          token: tokens[n % 80] ?? '',
          reference: 'same',
          data: { n },
        });
      }
    })();
    for (let n = 0; n < 5; n++) {
      const seen = namesOf((await list({ limit: -1 }, client)).as<Tree>());
      expect(new Set(seen).size).toBe(80);
    }
    stop = true;
    await writer;
  });
});

describe('next_token', () => {
  const start: Query = { limit: 5, user: 'a', reference_prefix: 'ref', stored_after: '2020-01-01T00:00:00Z' };
  let next_token: string;
  beforeAll(async () => {
    next_token = (await list(start)).headers.get('x-vault-next-token') ?? '';
  });

  test('serves again and again, under another limit too', async () => {
    const first = (await list({ ...start, next_token })).text;
    expect((await list({ ...start, next_token })).text).toBe(first);
    expect((await list({ ...start, limit: 2, next_token })).status).toBe(200);
    expect((await list({ ...start, limit: -1, next_token })).status).toBe(200);
  });

  test('is refused with any other filter', async () => {
    for (const query of [
      { user: 'b' },
      { user: undefined },
      { reference_prefix: 're' },
      { reference_prefix: undefined },
      { reference: 'ref-1' },
      { stored_after: '2020-01-01T00:00:01Z' },
      { stored_after: undefined },
      { stored_before: '2999-01-01T00:00:00Z' },
    ]) {
      const refused = await list({ ...start, ...query, next_token });
      expect([query, refused.outcome, refused.field]).toEqual([
        query,
        '400 cursor_invalid',
        'query.next_token',
      ]);
    }
  });

  test('is refused to another account, and for decrypting', async () => {
    const other = await vault.account();
    await other.key('a');
    expect((await list({ ...start, next_token }, other)).outcome).toBe('400 cursor_invalid');
    const query = { ...start, next_token, decrypt_all: true };
    expect((await account.send('GET', '/vault', { query, passphrase: PASSPHRASE })).outcome).toBe(
      '400 cursor_invalid',
    );
  });
});

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
      const walking = walkAs(client, { user: 'one', ...filter });
      // A listing by reference needs no positions.
      await Promise.race([held.reached, walking]);
      await client.sdk.vault.update({ user: 'one', token, reference: 'r', data: { step } });
      held.release();
      expect([step, [...new Set(await walking)]]).toEqual([step, [`one ${token}`]]);
    }
  });
});
