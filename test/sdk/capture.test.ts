import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createCaptureCalls, submitTo } from '../../sdk/calls/capture.ts';
import { type CaptureClient, captureClient, type NewCaptureEndpoint } from '../../sdk/index.ts';
import { createTransport } from '../../sdk/transport/transport.ts';
import { CARD, cardFor, fetchOf, type Live, losingFirstReply, openLive, outcomeOf } from './live.ts';
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
});

describe('a capture that is sent again', () => {
  const itemsOf = async (reference: string): Promise<number> => {
    const { data } = await live.owner.sdk.vault.list({ user: 'customers', reference });
    return data['customers']?.length ?? 0;
  };

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
