/** The SDK of a payment service as its maker publishes it, which is given the relay's `fetch`. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import Stripe from 'stripe';
import { type Relay, Vault, vaultPlaceholder } from '../../sdk/index.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { CARD } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect } from '../helpers/relay.ts';
import type { PartyReply } from '../helpers/third-party.ts';
import { ALL_BLOCKS } from '../pages/code-blocks.ts';

const NUMBER = CARD.card_number;

const { vault, party, item } = await openProxySetting();
const front = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => vault.handle(request) });
const { made } = await credentialClient(vault.handle, item.account, ['proxy:send']);
const client = new Vault({ baseUrl: front.url.origin, credential: made.secret, passphrase: PASSPHRASE });
afterAll(() => front.stop(true));

/** The paths that the guide has for a service. */
function presetOf(service: string): readonly string[] {
  const guide = readFileSync(new URL('../../docs/guides/relay.md', import.meta.url), 'utf8');
  const line = guide.split('\n').find((text) => text.startsWith(`| ${service} | `)) ?? '';
  const [paths] = /\[.*\]/.exec(line) ?? [];
  return JSON.parse(paths ?? 'null');
}

function json(body: object, status = 200, headers: PartyReply['headers'] = []): PartyReply {
  return { status, body: JSON.stringify(body), headers: [['Content-Type', 'application/json'], ...headers] };
}

describe('stripe', async () => {
  const headers = [{ Authorization: 'Bearer sk_test_of_the_shop' }];
  const id = await connect(item.account, party, { headers, paths: ['/v1'], reply: presetOf('Stripe') });
  const { fetch } = client.relay(id, { user: item.user });
  const httpClient = Stripe.createFetchHttpClient(fetch as typeof globalThis.fetch);
  const stripe = new Stripe('unused', { httpClient });

  const card = () => ({
    number: vaultPlaceholder(item.token, 'card_number'),
    exp_month: Number(CARD.expiry_month),
    exp_year: Number(CARD.expiry_year),
    cvc: vaultPlaceholder(item.token, 'cvv'),
  });

  test('makes a payment method of a card that it does not see', async () => {
    const made = { id: 'pm_1', object: 'payment_method', type: 'card', card: { last4: '1111' } };
    party.script('/v1/payment_methods', json(made, 200, [['Request-Id', 'req_1']]));
    const method = await stripe.paymentMethods.create(
      { type: 'card', card: card(), metadata: { order: 'ü & 1' } },
      { idempotencyKey: 'order-1001' },
    );
    expect([method.id, method.card?.last4, method.lastResponse.statusCode]).toEqual(['pm_1', '1111', 200]);
    expect(method).toEqual({ id: 'pm_1', object: 'payment_method', card: { last4: '1111' } } as never);
    const [received] = party.calls('/v1/payment_methods');
    expect(new URLSearchParams(received?.text).get('card[number]')).toBe(NUMBER);
    expect(new URLSearchParams(received?.text).get('card[cvc]')).toBe(CARD.cvv);
    expect(new URLSearchParams(received?.text).get('metadata[order]')).toBe('ü & 1');
    expect(received?.header('authorization')).toBe('Bearer sk_test_of_the_shop');
    expect(received?.header('idempotency-key')).toBe('order-1001');
    expect(received?.header('user-agent')).toStartWith('Stripe/v1 NodeBindings/');
    expect(received?.header('stripe-version')).toMatch(/^\d{4}-/);
    expect(received?.head).not.toMatch(/x-vault|vak1_/i);
    const sent = decodeURIComponent(`${received?.head}${received?.text}`);
    expect([PASSPHRASE, item.token, '{{', 'unused'].filter((text) => sent.includes(text))).toEqual([]);
  });

  test('hears that a card was declined as it always does, and of the echoed number nothing', async () => {
    const error = {
      ...{ type: 'card_error', code: 'card_declined', decline_code: 'generic_decline' },
      message: `The card ${NUMBER} was declined.`,
    };
    party.script('/v1/payment_intents', json({ error }, 402));
    const charged = stripe.paymentIntents.create({
      ...{ amount: 1000, currency: 'eur', confirm: true },
      payment_method_data: { type: 'card', card: card() } as never,
    });
    const refused = await charged.catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(Stripe.errors.StripeCardError);
    expect(refused).toMatchObject({
      code: 'card_declined',
      decline_code: 'generic_decline',
      statusCode: 402,
    });
    expect(JSON.stringify(refused)).not.toContain(NUMBER);
  });

  test('reports what the vault rejects, as the guide says', async () => {
    const broken = {
      number: vaultPlaceholder(`${item.token}0`, 'card_number'),
      exp_month: 1,
      exp_year: 2031,
    };
    const refused = await stripe.paymentMethods
      .create({ type: 'card', card: broken })
      .catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({
      type: 'StripeInvalidRequestError',
      rawType: 'vault_error',
      code: 'placeholder_unknown',
      message: 'The body has a placeholder whose token does not exist, or has another reference.',
    });
    const headers = new Map(Object.entries(Object(refused).headers));
    expect([headers.has('x-request-id'), headers.has('x-vault-request-id')]).toEqual([true, false]);
  });
});

/** What a third party repeats of a request, in members that no preset may name. */
const ECHO = `order ${NUMBER}`;
const DECLINED = { category: 'PAYMENT_METHOD_ERROR', code: 'GENERIC_DECLINE' };
const MOLLIE_LINKS = { self: { href: ECHO }, dashboard: { href: ECHO } };

/** A service, a reply of it as its documentation shows it, and what its SDK gets of that. */
const REPLIES: readonly (readonly [string, string, number, object, object])[] = [
  [
    'Adyen',
    'a payment',
    200,
    {
      ...{ pspReference: 'NC6HT9CRT65ZGN82', resultCode: 'Authorised', merchantReference: ECHO },
      ...{ amount: { currency: 'EUR', value: 1000 }, paymentMethod: { brand: 'visa', type: 'scheme' } },
      additionalData: { cardSummary: '1111', 'metadata.order': ECHO },
    },
    { pspReference: 'NC6HT9CRT65ZGN82', resultCode: 'Authorised' },
  ],
  [
    'Adyen',
    'a refusal',
    200,
    {
      ...{ pspReference: 'NC6HT9CRT65ZGN82', resultCode: 'Refused', refusalReasonCode: '2' },
      ...{ refusalReason: ECHO, merchantReference: ECHO },
    },
    { pspReference: 'NC6HT9CRT65ZGN82', resultCode: 'Refused', refusalReasonCode: '2' },
  ],
  [
    'Adyen',
    'a redirect for 3D Secure',
    200,
    {
      resultCode: 'RedirectShopper',
      action: {
        ...{ type: 'redirect', method: 'GET', paymentMethodType: 'scheme', paymentData: btoa(ECHO) },
        url: 'https://checkoutshopper-test.adyen.com/checkoutshopper/threeDS/redirect/Q8Q',
        data: { MD: 'OEVu', TermUrl: ECHO },
      },
    },
    {
      resultCode: 'RedirectShopper',
      action: {
        ...{ type: 'redirect', method: 'GET' },
        url: 'https://checkoutshopper-test.adyen.com/checkoutshopper/threeDS/redirect/Q8Q',
      },
    },
  ],
  [
    'Adyen',
    'a refund',
    201,
    {
      ...{ pspReference: 'QFQTPCQ8HXSKGK82', status: 'received', reference: ECHO, merchantAccount: ECHO },
      ...{ paymentPspReference: ECHO, amount: { currency: 'EUR', value: 500 } },
    },
    { pspReference: 'QFQTPCQ8HXSKGK82', status: 'received' },
  ],
  [
    'Adyen',
    'a validation error',
    422,
    { status: 422, errorCode: '130', errorType: 'validation', message: ECHO, pspReference: 'QFQT' },
    { status: 422, errorCode: '130', errorType: 'validation', pspReference: 'QFQT' },
  ],
  [
    'Mollie',
    'a payment for which the customer is redirected',
    201,
    {
      ...{ resource: 'payment', id: 'tr_7UhSN1zuXS', mode: 'live', status: 'open', description: ECHO },
      ...{ createdAt: '2024-03-20T09:13:37+00:00', metadata: { order: ECHO }, redirectUrl: ECHO },
      _links: { ...MOLLIE_LINKS, checkout: { href: 'https://www.mollie.com/checkout/7', type: 'text/html' } },
    },
    {
      ...{ resource: 'payment', id: 'tr_7UhSN1zuXS', mode: 'live', status: 'open' },
      createdAt: '2024-03-20T09:13:37+00:00',
      _links: { checkout: { href: 'https://www.mollie.com/checkout/7' } },
    },
  ],
  [
    'Mollie',
    'a failed payment',
    200,
    {
      ...{ resource: 'payment', id: 'tr_7UhSN1zuXS', status: 'failed', _links: MOLLIE_LINKS },
      details: {
        failureReason: 'insufficient_funds',
        failureMessage: ECHO,
        cardLabel: 'Visa',
        cardHolder: ECHO,
      },
      statusReason: { code: 'insufficient_funds', message: ECHO },
    },
    {
      ...{ resource: 'payment', id: 'tr_7UhSN1zuXS', status: 'failed' },
      details: { failureReason: 'insufficient_funds', cardLabel: 'Visa' },
      statusReason: { code: 'insufficient_funds' },
    },
  ],
  [
    'Mollie',
    'a refund',
    201,
    { resource: 'refund', id: 're_4q', status: 'pending', paymentId: ECHO, description: ECHO },
    { resource: 'refund', id: 're_4q', status: 'pending' },
  ],
  [
    'Mollie',
    'a validation error',
    422,
    { status: 422, title: 'Unprocessable Entity', detail: ECHO, field: ECHO, _links: MOLLIE_LINKS },
    { status: 422, title: 'Unprocessable Entity' },
  ],
  [
    'Square',
    'a payment',
    200,
    {
      payment: {
        ...{ id: 'GQTF', status: 'COMPLETED', created_at: '2021-10-13T21:14:29.577Z', note: ECHO },
        ...{ reference_id: ECHO, amount_money: { amount: 1000, currency: 'USD' }, source_type: 'CARD' },
        card_details: {
          status: 'CAPTURED',
          card: { card_brand: 'VISA', last_4: '1111', exp_month: 11, bin: '411111', cardholder_name: ECHO },
          statement_description: ECHO,
        },
      },
    },
    {
      payment: {
        ...{ id: 'GQTF', status: 'COMPLETED', created_at: '2021-10-13T21:14:29.577Z' },
        card_details: { status: 'CAPTURED', card: { card_brand: 'VISA', last_4: '1111' } },
      },
    },
  ],
  [
    'Square',
    'a decline',
    400,
    {
      errors: [{ ...DECLINED, detail: ECHO }],
      payment: { id: 'GQTF', status: 'FAILED', note: ECHO },
    },
    { errors: [DECLINED], payment: { id: 'GQTF', status: 'FAILED' } },
  ],
  [
    'Square',
    'a validation error',
    400,
    { errors: [{ category: 'INVALID_REQUEST_ERROR', code: 'INVALID_VALUE', detail: ECHO, field: ECHO }] },
    { errors: [{ category: 'INVALID_REQUEST_ERROR', code: 'INVALID_VALUE' }] },
  ],
  [
    'Square',
    'a refund',
    200,
    { refund: { id: 'bP9m', status: 'PENDING', created_at: '2021', payment_id: ECHO, reason: ECHO } },
    { refund: { id: 'bP9m', status: 'PENDING', created_at: '2021' } },
  ],
  [
    'Square',
    'a stored card',
    200,
    {
      card: {
        ...{ id: 'ccof:uIbf', card_brand: 'VISA', last_4: '1111', enabled: true },
        ...{ cardholder_name: ECHO, customer_id: ECHO, reference_id: ECHO },
      },
    },
    { card: { id: 'ccof:uIbf', card_brand: 'VISA', last_4: '1111', enabled: true } },
  ],
];

describe('the paths that the guide has', async () => {
  const ids = new Map<string, string>();
  for (const service of ['Adyen', 'Mollie', 'Square']) {
    ids.set(service, await connect(item.account, party, { reply: presetOf(service) }));
  }

  test.each(REPLIES)(
    'for %s show %s, and nothing that repeats the caller',
    async (...[name, what, status, body, shown]) => {
      const path = `/${name}/${what.replaceAll(' ', '-')}`;
      const type = name === 'Mollie' ? 'application/hal+json' : 'application/json';
      party.script(path, { status, headers: [['Content-Type', type]], body: JSON.stringify(body) });
      const reply = await client
        .relay(ids.get(name) ?? '', { user: item.user })
        .fetch(path, { method: 'POST' });
      expect([reply.status, await reply.json()]).toEqual([status, shown]);
    },
  );
});

/** What a call of Adyen's library tells its HTTP client of beside address and body. */
interface CallOptions {
  readonly method?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}
type Request = (
  url: string,
  json: string,
  config: object,
  needsKey: boolean,
  options?: CallOptions,
) => Promise<string>;

class HttpClientException extends Error {
  readonly told: object;
  constructor(told: { readonly message: string }) {
    super(told.message);
    this.told = told;
  }
}

/** The library's client, which is asked for as little as the guide asks for. */
class Client {
  readonly httpClient: { readonly request: Request };
  constructor(_config: object, httpClient: { readonly request: Request }) {
    this.httpClient = httpClient;
  }
}

class CheckoutAPI {
  readonly PaymentsApi: { readonly payments: (order: object) => Promise<string> };
  constructor({ httpClient }: Client) {
    const url = 'https://checkout-test.adyen.com/v72/payments';
    this.PaymentsApi = { payments: (order) => httpClient.request(url, JSON.stringify(order), {}, true, {}) };
  }
}

class SquareClient {
  readonly options: object;
  constructor(options: object) {
    this.options = options;
  }
}

/** Libraries that are too large to be installed, as far as the guide's code meets them. */
const STAND_INS = { adyen: { HttpClientException, Client, CheckoutAPI }, SquareClient };

const BLOCKS = ALL_BLOCKS.filter(
  ({ page, info }) => page === 'docs/guides/relay.md' && info === 'javascript',
);
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;

describe('the code of the guide', () => {
  /** Runs the first block and the one that has `words`; gives what the second one names `result`. */
  async function runGuide(words: string, relay: Relay, result: string): Promise<unknown> {
    const code = BLOCKS.filter(({ code }, at) => at === 0 || code.includes(words)).map(({ code }) => code);
    expect(code).toHaveLength(2);
    const known = { ...STAND_INS, Stripe, vaultPlaceholder, token: item.token, relay };
    const body = code.join('').replaceAll(/^import .*$/gm, '');
    const run = new AsyncFunction(...Object.keys(known), `${body}return ${result};`);
    return run(...Object.values(known));
  }

  async function relayOf(service: string, headers: readonly object[]): Promise<Relay> {
    const settings = { headers, reply: presetOf(service) };
    return client.relay(await connect(item.account, party, settings), { user: item.user });
  }

  test('is all of it run here', () => {
    expect(BLOCKS).toHaveLength(4);
  });

  test('makes a payment method with stripe', async () => {
    party.script('/v1/payment_methods', json({ id: 'pm_3', object: 'payment_method' }));
    const relay = await relayOf('Stripe', [{ Authorization: 'Bearer sk_test_of_the_shop' }]);
    await runGuide('new Stripe(', relay, 'stripe');
    const received = party.calls('/v1/payment_methods').at(-1);
    expect(new URLSearchParams(received?.text).get('card[number]')).toBe(NUMBER);
    expect(received?.header('authorization')).toBe('Bearer sk_test_of_the_shop');
    expect(received?.header('idempotency-key')).toBe('order-1001');
  });

  test('gives square what the vault wants', async () => {
    const payment = { id: 'GQTF', status: 'COMPLETED' };
    party.script('/v2/payments', json({ payment: { ...payment, note: NUMBER } }));
    const relay = await relayOf('Square', [{ Authorization: 'Bearer EAAA_of_the_shop' }]);
    const { options } = (await runGuide('new SquareClient(', relay, 'square')) as {
      readonly options: { token: string; baseUrl: string; headers: Readonly<Record<string, string>> };
    };
    const reply = await fetch(`${options.baseUrl}/v2/payments`, {
      method: 'POST',
      headers: {
        ...options.headers,
        Authorization: `Bearer ${options.token}`,
        'Content-Type': 'application/json',
      },
      // As the library sends it.
      body: JSON.stringify({
        ...{ source_id: vaultPlaceholder(item.token, 'card_number'), idempotency_key: 'order-1001' },
        amount_money: { amount: 1000, currency: 'EUR' },
      }),
    });
    expect([reply.status, await reply.json()]).toEqual([200, { payment }]);
    const received = party.calls('/v2/payments').at(-1);
    expect(JSON.parse(received?.text ?? '')).toEqual({
      ...{ source_id: NUMBER, idempotency_key: 'order-1001' },
      amount_money: { amount: 1000, currency: 'EUR' },
    });
    expect(received?.header('authorization')).toBe('Bearer EAAA_of_the_shop');
  });

  test("charges with Adyen's library, whose query, headers, keys and errors stay", async () => {
    party.script(
      '/v72/payments',
      json({ resultCode: 'Authorised' }),
      json({ status: 422, errorCode: '101', message: NUMBER }, 422),
    );
    party.script('/v72/sessions/CS1', json({ status: 'completed' }));
    const relay = await relayOf('Adyen', [{ 'X-API-Key': 'AQE_of_the_shop' }]);
    const { request } = (await runGuide('async request(', relay, 'httpClient')) as { request: Request };
    const [charged] = party.calls('/v72/payments');
    expect(JSON.parse(charged?.text ?? '').paymentMethod).toMatchObject({ number: NUMBER, cvc: CARD.cvv });
    expect(charged?.header('x-api-key')).toBe('AQE_of_the_shop');

    const url = 'https://checkout-test.adyen.com/v72';
    const asked = { method: 'GET', params: { result: 'a&b' }, headers: { Shop: '1' }, idempotencyKey: 'k' };
    expect(await request(`${url}/sessions/CS1`, '', {}, true, asked)).toBe('{"status":"completed"}');
    const [got] = party.calls('/v72/sessions/CS1');
    expect([got?.method, got?.target]).toEqual(['GET', '/v72/sessions/CS1?result=a%26b']);
    expect([got?.header('shop'), got?.header('idempotency-key')]).toEqual(['1', 'k']);

    const shown = JSON.stringify({ status: 422, errorCode: '101' });
    const body = JSON.stringify({ number: vaultPlaceholder(item.token, 'card_number') });
    const refused = await request(`${url}/payments`, body, {}, true).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(HttpClientException);
    expect(refused).toMatchObject({ told: { statusCode: 422, errorCode: '101', responseBody: shown } });
  });
});
