import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createCaptureCalls, submitTo } from '../../sdk/calls/capture.ts';
import {
  type CaptureClient,
  captureClient,
  type NewCaptureEndpoint,
  VaultApiError,
} from '../../sdk/index.ts';
import { createTransport } from '../../sdk/transport/transport.ts';
import {
  busyAtFirst,
  CARD,
  cardFor,
  fetchOf,
  type Live,
  losingFirstReply,
  openLive,
  outcomeOf,
} from './live.ts';
import { createTestClock } from './peer.ts';

const BASE = 'http://localhost';
const LIMIT_MS = 60_000;

let live: Live;
let made: NewCaptureEndpoint;

beforeAll(async () => {
  live = await openLive();
  made = await live.owner.sdk.capture.create({ user: 'customers', ttl: '0' });
});
afterAll(() => live.vault.close());

function checkoutOf({ url, secret }: NewCaptureEndpoint): CaptureClient {
  return captureClient({ url: `${BASE}${url}`, secret, fetch: fetchOf(live.vault.handle) });
}

describe('capture', () => {
  test('is created, listed, used and deleted', async () => {
    const { owner } = live;
    const created = await owner.sdk.capture.create({
      user: 'customers',
      unique_id: 'web-shop',
      ttl: 'PT45M',
    });
    expect(created).toEqual({
      url: '/v1/capture/web-shop',
      unique_id: 'web-shop',
      secret: expect.stringMatching(/^vcs1_[\w-]{43}$/),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    const { secret, ...shown } = created;
    const listed = await owner.sdk.capture.list({ user: 'customers' });
    expect(listed).toContainEqual({ ...shown, user: 'customers', expired: false });
    expect(await owner.sdk.capture.list()).toEqual(listed);

    const captured = await owner.sdk.capture.submit(cardFor(created));
    expect(captured).toEqual({ token: expect.any(String), user: 'customers', reference: 'web-shop' });
    expect(JSON.parse(await owner.open('customers', captured.token, { reference: 'web-shop' }))).toEqual({
      card_number: CARD,
    });

    const { message } = await owner.sdk.capture.delete({ unique_id: 'web-shop' });
    expect(message).toBeString();
    expect(await outcomeOf(() => owner.sdk.capture.submit(cardFor(created)))).toBe('403 endpoint_refused');
    expect(await outcomeOf(() => owner.sdk.capture.delete({ unique_id: 'web-shop' }))).toBe(
      '404 endpoint_not_found',
    );
  });

  test('takes all that storing takes, from whoever has the secret alone', async () => {
    const text = `{"card_number":"${CARD}","big":12345678901234567890,"price":1.10}`;
    const captured = await checkoutOf(made).submit({
      data: text,
      reference: 'order & 1',
      algorithm: 'luhn',
      return_card_metadata: true,
      ttl: 'P1D',
      metadata: { tier: 'gold, new' },
    });
    expect(captured).toMatchObject({ reference: 'order & 1', card_metadata: { bin: '41111111' } });
    expect(captured.token).toMatch(/^9\d{15}$/);
    const { data: tree } = await live.owner.sdk.vault.list({
      user: 'customers',
      metadata: { tier: 'gold, new' },
    });
    expect(tree['customers']).toEqual([
      expect.objectContaining({ token: captured.token, expires_at: captured.expires_at }),
    ]);
    expect(await live.owner.open('customers', captured.token, { reference: 'order & 1' })).toBe(text);

    const numbered = await checkoutOf(made).submit({
      data: { name: 'Zoë' },
      number: CARD,
      form_type: 'custom',
    });
    const where = { user: 'customers', token: numbered.token, reference: numbered.reference };
    const [entry] = (await live.owner.sdk.vault.log(where)).data;
    expect(entry).toMatchObject({ action: 'encrypt', source: 'form' });
  });

  test('runs the rules of the endpoint', async () => {
    const { sdk } = live.owner;
    const operations = [
      { name: 'substr', input_field: 'year', output_field: 'short', arguments: { start: -2 } },
    ];
    await sdk.rules.create({ id: 'short-year', operations });
    const ruled = await sdk.capture.create({ user: 'customers', rules: ['short-year'] });
    const { token, reference } = await sdk.capture.submit({ ...ruled, data: { number: CARD, year: '2031' } });
    const stored = await sdk.vault.decrypt({ user: 'customers', token, reference });
    expect(stored).toEqual({ number: CARD, year: '2031', short: '31' });
  });
});

describe('a capture that is sent again', () => {
  const itemsOf = async (reference: string): Promise<number> => {
    const { data } = await live.owner.sdk.vault.list({ user: 'customers', reference });
    return data['customers']?.length ?? 0;
  };

  test('is answered with the first reply, and a different one under its key is refused', async () => {
    const options = { idempotencyKey: 'order-4711' };
    const item = cardFor({}, { algorithm: 'uuid', reference: 'replayed' });
    const first = await checkoutOf(made).submit(item, options);
    expect(await checkoutOf(made).submit(item, options)).toEqual(first);
    expect((await checkoutOf(made).submit(item)).token).not.toBe(first.token);
    expect(await itemsOf('replayed')).toBe(2);
    const other = { ...item, data: { card_number: '5555555555554444' } };
    expect(await outcomeOf(() => checkoutOf(made).submit(other, options))).toBe('409 idempotency_conflict');
  });

  test('because its reply was lost stores one item', async () => {
    const { clock, pausesMs } = createTestClock(LIMIT_MS);
    const fetch = losingFirstReply(live.vault.handle);
    const transport = createTransport({ baseUrl: BASE, timeoutMs: LIMIT_MS, fetch }, clock);
    const item = cardFor(made, { algorithm: 'uuid', reference: 'lost' });
    const { token } = await submitTo(transport, made, item, undefined);
    expect(pausesMs).toEqual([125]);
    expect(await itemsOf('lost')).toBe(1);
    expect(await live.owner.open('customers', token, { reference: 'lost' })).toContain(CARD);
  });

  test('because the service was busy waits as it was asked to', async () => {
    const { clock, pausesMs } = createTestClock(LIMIT_MS);
    const fetch = busyAtFirst(live.vault.handle, 2);
    const transport = createTransport({ baseUrl: BASE, timeoutMs: LIMIT_MS, fetch }, clock);
    await submitTo(transport, made, cardFor(made, { algorithm: 'uuid', reference: 'busy' }), undefined);
    expect(pausesMs).toEqual([2_125]);
    expect(await itemsOf('busy')).toBe(1);
  });

  test('is not, when a creation lost its reply: its secret would be another one', async () => {
    const { clock } = createTestClock(LIMIT_MS);
    const fetch = losingFirstReply(live.vault.handle);
    const authorization = `Basic ${Buffer.from(`${live.owner.name}:${live.owner.password}`).toString('base64')}`;
    const transport = createTransport({ baseUrl: BASE, timeoutMs: LIMIT_MS, fetch, authorization }, clock);
    const calls = createCaptureCalls(transport, 'a passphrase for tests, äöü & 100% +');
    expect(await outcomeOf(() => calls.create({ user: 'customers', unique_id: 'lost' }))).toStartWith(
      'VaultConnectionError',
    );
    expect((await calls.list()).filter(({ unique_id }) => unique_id === 'lost')).toHaveLength(1);
  });
});

describe('what a capture endpoint refuses', () => {
  test('is told by code', async () => {
    const { sdk } = live.owner;
    const retrieval = await sdk.retrieve.create({ user: 'customers' });
    const submit = (item: Parameters<typeof sdk.capture.submit>[0]) =>
      outcomeOf(() => sdk.capture.submit(item));
    expect(await submit(cardFor({ ...made, secret: `${made.secret.slice(0, -1)}_` }))).toBe(
      '403 endpoint_refused',
    );
    expect(await submit(cardFor({ ...made, unique_id: 'nobody' }))).toBe('403 endpoint_refused');
    expect(await submit(cardFor({ ...retrieval, url: undefined }))).toBe('403 endpoint_refused');
    expect(await submit({ ...made, data: { name: 'none' } })).toBe('400 number_missing');
    expect(await submit({ ...made, data: '{' })).toBe('400 invalid_json');
    expect(await submit(cardFor(made, { algorithm: 'none' }))).toBe('400 invalid_request');
  });

  test('names the place of the fault, and its request id', async () => {
    const error = await live.owner.sdk.capture
      .submit(cardFor(made, { reference: '' }))
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(VaultApiError);
    expect(error).toMatchObject({ status: 400, field: 'query.reference', requestId: expect.any(String) });
  });

  test('tells a rule that is missing or asks for too much', async () => {
    const { sdk } = live.owner;
    const missing = await sdk.capture.create({ user: 'customers', rules: ['nowhere'] });
    expect(await outcomeOf(() => sdk.capture.submit(cardFor(missing)))).toBe('404 rule_not_found');
    const template = `{"text":"${'{{{text}}}'.repeat(8)}"}`;
    await sdk.rules.create({ id: 'grow', operations: [{ name: 'template', arguments: { template } }] });
    const growing = await sdk.capture.create({ user: 'customers', rules: ['grow'] });
    const data = { card_number: CARD, text: 'x'.repeat(200_000) };
    expect(await outcomeOf(() => sdk.capture.submit({ ...growing, data }))).toBe('400 rule_limit');
  });

  test('tells creations that cannot be', async () => {
    const { sdk } = live.owner;
    const create = (given: Parameters<typeof sdk.capture.create>[0]) =>
      outcomeOf(() => sdk.capture.create(given));
    const { unique_id } = made;
    expect(await create({ user: 'customers', unique_id })).toBe('409 endpoint_exists');
    expect(await create({ user: 'nobody' })).toBe('404 key_not_found');
    expect(await create({ user: 'customers', passphrase: 'not the one' })).toBe('403 passphrase_wrong');
    expect(await create({ user: 'customers', ttl: 'soon' })).toBe('400 invalid_request');
    expect(await outcomeOf(() => sdk.capture.list({ user: 'nobody' }))).toBe('404 key_not_found');
  });

  test('is gone when its time is over, and when the passphrase changed', async () => {
    const { owner, passTime } = live;
    const short = await owner.sdk.capture.create({ user: 'customers', ttl: '10m' });
    await owner.key('moving', 'the first one');
    const stopped = await owner.sdk.capture.create({ user: 'moving', passphrase: 'the first one' });
    await owner.sdk.keys.changePassphrase({
      user: 'moving',
      passphrase: 'the first one',
      new_passphrase: 'second one',
    });
    expect(await outcomeOf(() => checkoutOf(stopped).submit(cardFor({})))).toBe('410 endpoint_gone');
    expect((await checkoutOf(short).submit(cardFor({}))).user).toBe('customers');
    // Endpoints live to the end of the second.
    passTime(601_000);
    expect(await outcomeOf(() => checkoutOf(short).submit(cardFor({})))).toBe('410 endpoint_gone');
  });

  test('an aborted signal ends a capture with its reason', async () => {
    const reason = new Error('The shopper left.');
    const signal = AbortSignal.abort(reason);
    expect(
      await checkoutOf(made)
        .submit(cardFor({}), { signal })
        .catch((thrown) => thrown),
    ).toBe(reason);
  });
});
