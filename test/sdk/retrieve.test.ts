import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type DecryptedItem,
  type NewRetrieveEndpoint,
  type RetrieveClient,
  retrieveClient,
} from '../../sdk/index.ts';
import { CARD, fetchOf, type Live, openLive, outcomeOf } from './live.ts';

const BASE = 'http://localhost';
const COUNT = 5;

let live: Live;
let made: NewRetrieveEndpoint;
/** Items 0 to 4, of which the even ones have the reference `even`. */
let tokens: readonly string[];

beforeAll(async () => {
  live = await openLive();
  const stored: string[] = [];
  for (let n = 0; n < COUNT; n += 1) {
    const reference = n % 2 === 0 ? 'even' : undefined;
    // Items of one millisecond are listed by their tokens.
    await Bun.sleep(2);
    stored.push(
      await live.owner.store('customers', { card_number: CARD, n }, { reference, algorithm: 'uuid' }),
    );
  }
  tokens = stored;
  made = await live.owner.sdk.retrieve.create({ user: 'customers', unique_id: 'call-centre', ttl: '0' });
});
afterAll(() => live.vault.close());

function deskOf({ url, secret }: NewRetrieveEndpoint, fetch = fetchOf(live.vault.handle)): RetrieveClient {
  return retrieveClient({ url: `${BASE}${url}`, secret, fetch });
}

/** The same calls, by a third party and by the owner's client. */
const ways: Readonly<Record<string, () => RetrieveClient>> = {
  'by a third party': () => deskOf(made),
  "by the owner's client": () => {
    const { retrieve } = live.owner.sdk;
    return {
      decrypt: (item, options) => retrieve.decrypt({ ...made, ...item }, options),
      decryptText: (item, options) => retrieve.decryptText({ ...made, ...item }, options),
      list: (query, options) => retrieve.listItems({ ...made, ...query }, options),
      pages: (query, options) => retrieve.itemPages({ ...made, ...query }, options),
      decryptAll: (query, options) => retrieve.decryptAll({ ...made, ...query }, options),
    };
  },
};

function numbersOf(items: readonly DecryptedItem[]): unknown[] {
  return items.map(({ data }) => data['n']);
}

describe.each(Object.entries(ways))('reading %s', (_, way) => {
  test('opens one item, with or without a reference', async () => {
    const [even = '', odd = ''] = tokens;
    expect(await way().decrypt({ token: even, reference: 'even' })).toEqual({ card_number: CARD, n: 0 });
    expect(await way().decryptText({ token: odd })).toBe(`{"card_number":"${CARD}","n":1}`);
  });

  test('lists all that the endpoint reaches, or part of it', async () => {
    const { data, next_token } = await way().list();
    expect(Object.keys(data)).toEqual(['customers']);
    expect(data['customers']?.map(({ token }) => token)).toEqual([...tokens]);
    expect(next_token).toBeUndefined();
    const even = await way().list({ reference: 'even' });
    expect(even.data['customers']).toHaveLength(3);
    expect((await way().list({ reference_prefix: 'ev' })).data).toEqual(even.data);
    expect((await way().list({ reference_prefix: 'odd' })).data['customers']).toEqual([]);
  });

  test('walks from page to page', async () => {
    const pages = await Array.fromAsync(way().pages({ limit: 2 }));
    expect(pages.map(({ data }) => data['customers']?.length)).toEqual([2, 2, 1]);
    const from = { limit: 2, ...(pages[0]?.next_token ? { next_token: pages[0].next_token } : {}) };
    expect(await Array.fromAsync(way().pages(from))).toHaveLength(2);
    expect(await outcomeOf(() => way().list({ limit: 2, next_token: 'forged' }))).toBe('400 cursor_invalid');
  });

  test('opens all items, in one reply or in several', async () => {
    expect(numbersOf(await Array.fromAsync(way().decryptAll()))).toEqual([0, 1, 2, 3, 4]);
    expect(numbersOf(await Array.fromAsync(way().decryptAll({ limit: 2 })))).toEqual([0, 1, 2, 3, 4]);
    expect(numbersOf(await Array.fromAsync(way().decryptAll({ reference: 'even' })))).toEqual([0, 2, 4]);
  });

  test('tells what there is not by code', async () => {
    const [even = ''] = tokens;
    expect(await outcomeOf(() => way().decrypt({ token: 'nothing' }))).toBe('404 token_not_found');
    expect(await outcomeOf(() => way().decrypt({ token: even }))).toBe('400 reference_required');
    expect(await outcomeOf(() => way().decrypt({ token: even, reference: 'odd' }))).toBe(
      '404 token_not_found',
    );
  });
});

describe('a retrieval endpoint', () => {
  test('is created, listed and deleted', async () => {
    const { sdk } = live.owner;
    const [token = ''] = tokens;
    const lock = { user: 'customers', token, reference: 'even' };
    const created = await sdk.retrieve.create({ ...lock, unique_id: 'locked', ttl: 'P1D' });
    expect(created).toEqual({
      ...lock,
      url: '/v1/retrieve/locked',
      unique_id: 'locked',
      secret: expect.stringMatching(/^vrs1_[\w-]{43}$/),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    const { secret, ...shown } = created;
    const listed = await sdk.retrieve.list({ user: 'customers' });
    expect(listed).toContainEqual({ ...shown, expired: false });
    expect(await sdk.retrieve.list()).toEqual(listed);
    expect(await sdk.retrieve.delete({ unique_id: 'locked' })).toEqual({ message: expect.any(String) });
    expect(await outcomeOf(() => deskOf(created).list())).toBe('403 endpoint_refused');
    expect(await outcomeOf(() => sdk.retrieve.delete({ unique_id: 'locked' }))).toBe(
      '404 endpoint_not_found',
    );
  });

  test('that is locked reaches nothing else, and works as it was returned', async () => {
    const { sdk } = live.owner;
    const [token = '', other = ''] = tokens;
    const locked = await sdk.retrieve.create({ user: 'customers', token, reference: 'even' });
    expect(await sdk.retrieve.decrypt({ ...locked, token })).toEqual({ card_number: CARD, n: 0 });
    expect(await outcomeOf(() => deskOf(locked).decrypt({ token: other }))).toBe('403 endpoint_out_of_scope');
    expect(await outcomeOf(() => deskOf(locked).list({ reference: 'odd' }))).toBe(
      '403 endpoint_out_of_scope',
    );
    expect((await sdk.retrieve.listItems(locked)).data['customers']).toHaveLength(1);
    expect(numbersOf(await Array.fromAsync(sdk.retrieve.decryptAll(locked)))).toEqual([0]);
  });
});
