import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createRetrieveClient } from '../../sdk/calls/retrieve-client.ts';
import {
  type DecryptedItem,
  type NewRetrieveEndpoint,
  type RetrieveClient,
  retrieveClient,
  VaultConnectionError,
} from '../../sdk/index.ts';
import { createTransport } from '../../sdk/transport/transport.ts';
import {
  busyAtFirst,
  CARD,
  fetchOf,
  type Live,
  losingFirstReply,
  openLive,
  outcomeOf,
  watchingCancel,
} from './live.ts';
import { createTestClock } from './peer.ts';

const BASE = 'http://localhost';
const LIMIT_MS = 60_000;
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

  test('masks and changes what it returns', async () => {
    const { sdk } = live.owner;
    const [, token = ''] = tokens;
    const operations = [{ name: 'stringify', input_field: 'n', output_field: 'text' }];
    await sdk.rules.create({ id: 'as-text', operations });
    const masking = await sdk.retrieve.create({
      user: 'customers',
      rules: ['as-text'],
      mask_fields: ['card_number'],
      return_card_metadata: true,
    });
    expect(await deskOf(masking).decrypt({ token })).toMatchObject({
      card_number: '************1111',
      text: '1',
      card_metadata: { brand: 'visa' },
    });
    await sdk.rules.delete({ id: 'as-text' });
    expect(await outcomeOf(() => deskOf(masking).decrypt({ token }))).toBe('404 rule_not_found');
  });

  test('is gone when its time is over, and refuses every other secret', async () => {
    const { owner, passTime } = live;
    const short = await owner.sdk.retrieve.create({ user: 'customers', ttl: '10m' });
    const capturing = await owner.sdk.capture.create({ user: 'customers' });
    passTime(601_000);
    expect(await outcomeOf(() => deskOf(short).list())).toBe('410 endpoint_gone');
    expect(await outcomeOf(() => deskOf(short).decryptAll().next())).toBe('410 endpoint_gone');
    expect(await outcomeOf(() => deskOf({ ...made, secret: short.secret }).list())).toBe(
      '403 endpoint_refused',
    );
    const { unique_id, secret } = capturing;
    expect(await outcomeOf(() => owner.sdk.retrieve.listItems({ unique_id, secret }))).toBe(
      '403 endpoint_refused',
    );
  });

  test('cannot be created twice under one id', async () => {
    const { sdk } = live.owner;
    const again = { user: 'customers', unique_id: 'call-centre' };
    expect(await outcomeOf(() => sdk.retrieve.create(again))).toBe('409 endpoint_exists');
    expect(await outcomeOf(() => sdk.capture.create(again))).toBe('409 endpoint_exists');
  });
});

describe('on a way that fails', () => {
  test.each([
    ['a lost reply', () => losingFirstReply(live.vault.handle), [125]],
    ['a busy service', () => busyAtFirst(live.vault.handle, 3), [3_125]],
  ] as const)('%s is asked for again', async (_, fetchOver, pauses) => {
    const { clock, pausesMs } = createTestClock(LIMIT_MS);
    const transport = createTransport({ baseUrl: BASE, timeoutMs: LIMIT_MS, fetch: fetchOver() }, clock);
    const calls = createRetrieveClient(transport, made);
    expect(await Array.fromAsync(calls.decryptAll())).toHaveLength(COUNT);
    expect(pausesMs).toEqual([...pauses]);
  });

  test('leaving the loop cancels the reply', async () => {
    const { fetch, cancelled } = watchingCancel(live.vault.handle);
    const desk = deskOf(made, fetch);
    for await (const { token } of desk.decryptAll()) {
      expect(token).toBe(tokens[0] ?? '');
      break;
    }
    await cancelled;
  });

  test('an aborted signal ends the loop with its reason', async () => {
    const controller = new AbortController();
    const reason = new Error('The caller hung up.');
    const items = deskOf(made).decryptAll({ limit: 1 }, { signal: controller.signal });
    expect((await items.next()).value).toMatchObject({ token: tokens[0] ?? '' });
    controller.abort(reason);
    expect(await items.next().catch((thrown: unknown) => thrown)).toBe(reason);
    const gone = { signal: AbortSignal.abort(reason) };
    expect(
      await deskOf(made)
        .list({}, gone)
        .catch((thrown: unknown) => thrown),
    ).toBe(reason);
  });

  test('a reply that breaks off throws after what had arrived', async () => {
    const handle = live.vault.handle;
    const fetch = async (url: string, init: RequestInit): Promise<Response> => {
      const text = await (await handle(new Request(url, init))).text();
      return new Response(text.slice(0, -3));
    };
    const desk = deskOf(made, fetch);
    const items = desk.decryptAll();
    for (let n = 0; n < COUNT - 1; n += 1) {
      expect((await items.next()).done).toBe(false);
    }
    expect(await items.next().catch((thrown: unknown) => thrown)).toBeInstanceOf(VaultConnectionError);
  });
});
