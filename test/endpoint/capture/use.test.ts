import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { LogEntry } from '../../../sdk/index.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use, useEndpoint } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const NUMBER = '4111111111111111';
const CARD = { card_number: NUMBER, expiry: '12/30' };
const HASHED = ['full', 'luhn', 'partial_8_start', 'partial_8_end', 'partial_middle_6_4'];

interface Captured {
  readonly token: string;
  readonly user: string;
  readonly reference: string;
  readonly card_metadata?: {
    readonly bin: string;
    readonly brand: string;
    readonly issuer: readonly object[];
  };
}

let vault: TestVault;
let account: AccountClient;
let shop: MadeEndpoint;
let endpoints = 0;

beforeAll(async () => {
  vault = await openTestVault({ trustedProxies: ['127.0.0.0/8'] });
  account = await vault.account();
  await account.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop' });
});
afterAll(() => vault.close());

function make(query: Query = {}): Promise<MadeEndpoint> {
  endpoints += 1;
  return createCapture(account, 'u', { unique_id: `endpoint-${endpoints}`, ...query });
}
function post(endpoint: MadeEndpoint, use: Use = {}): Promise<Answer> {
  return capture(vault, endpoint, { body: CARD, ...use });
}
function captured(answer: Answer): Captured {
  expect(answer.outcome).toBe('200');
  return answer.as<Captured>();
}
async function logOf({ token, reference }: Captured): Promise<readonly LogEntry[]> {
  const answer = await account.send('GET', '/vault/metadata', { query: { user: 'u', token, reference } });
  expect(answer.outcome).toBe('200');
  return answer.as<LogEntry[]>();
}

describe('the reply', () => {
  test('is token, user and reference, and nothing else', async () => {
    const answer = await post(shop);
    const { token } = captured(answer);
    expect(answer.json).toEqual({ token, user: 'u', reference: 'shop' });
    expect(await account.open('u', token, { reference: 'shop' })).toBe(JSON.stringify(CARD));
  });

  test('has the headers of the API, those for other origins, and no cookie', async () => {
    const answers = [
      await post(shop),
      await post(shop, { secret: 'vcs1_wrong' }),
      await post(shop, { body: '{' }),
      await post(shop, { query: { algorithm: 'x' } }),
      await post(shop, { body: 'x'.repeat(262_145) }),
      await useEndpoint(vault, 'POST', '/v1/capture/unknown', { secret: shop.secret, body: CARD }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 400, 400, 413, 403]);
    for (const { headers } of answers) {
      expect(Object.fromEntries(headers)).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-expose-headers':
          'X-Vault-Next-Token, X-Request-Id, Idempotency-Replayed, Retry-After',
        'cache-control': 'no-store',
        'content-type': 'application/json',
      });
      expect(headers.get('x-request-id')).toMatch(/./);
      expect(headers.get('set-cookie')).toBeNull();
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    }
  });

  test('does not ask for an account, and a wrong one does not matter', async () => {
    const wrong = ['Basic bm9ib2R5Ondyb25n', 'Basic !', 'Bearer x', ''];
    for (const authorization of wrong) {
      expect((await post(shop, { headers: { authorization } })).outcome).toBe('200');
    }
    const headers = { origin: 'https://shop.test', 'sec-fetch-site': 'cross-site', cookie: 'a=b' };
    expect((await post(shop, { headers })).outcome).toBe('200');
  });
});

describe('the reference', () => {
  test.each(['customer 7', 'ü 密碼 🔑', '{{x}}', '../a?b=c&d', 'x'.repeat(255), ' '])(
    'is the one in the query: %p',
    async (reference) => {
      const { token, ...rest } = captured(await post(shop, { query: { reference } }));
      expect(rest).toEqual({ user: 'u', reference });
      expect(await account.open('u', token, { reference })).toBe(JSON.stringify(CARD));
    },
  );

  test('of the endpoint is needed to open what was stored without another', async () => {
    const { token } = captured(await post(shop));
    const bare = await account.send('GET', '/vault', { query: { user: 'u', token }, passphrase: PASSPHRASE });
    expect(bare.outcome).toBe('400 reference_required');
  });
});

describe('the number', () => {
  test.each(['number', 'card_number', 'n', 'account_number'])('may come as %s in the query', async (name) => {
    const { token } = captured(
      await post(shop, { body: { holder: 'Ada' }, query: { [name]: '4000000000000028' } }),
    );
    expect(token).toBe(await account.store('u', { number: '4000000000000028' }, { reference: 'shop' }));
    const again = captured(
      await post(shop, { body: { holder: 'Ada' }, query: { [name]: '4000000000000028' } }),
    );
    expect(await account.open('u', again.token, { reference: 'shop' })).toBe('{"holder":"Ada"}');
  });

  test.each(['card_number', 'account_number', 'n', 'number'])('in the body as %s beats it', async (name) => {
    const { token } = captured(await post(shop, { body: { [name]: '222' }, query: { number: '111' } }));
    expect(token).toBe(await account.store('u', { number: '222' }, { reference: 'shop' }));
  });

  test.each([
    ['nothing', {}, {}],
    ['nested ones alone', { card: { number: NUMBER } }, {}],
    ['no digit', { card_number: 'abc' }, { number: 'abc' }],
    ['a fraction', { card_number: 1.5 }, {}],
  ])('is missing with %s', async (_, body, query) => {
    expect((await post(shop, { body, query })).outcome).toBe('400 number_missing');
  });
});

describe('the algorithm', () => {
  test.each(HASHED)(
    '%s gives what POST /vault gives, chosen by the endpoint or by the request',
    async (algorithm) => {
      const reference = `for ${algorithm}`;
      const stored = await account.store('u', CARD, { reference, algorithm });
      const byEndpoint = captured(await post(await make({ algorithm }), { query: { reference } }));
      const byRequest = captured(await post(shop, { query: { reference, algorithm } }));
      const over = captured(
        await post(await make({ algorithm: 'uuid' }), { query: { reference, algorithm } }),
      );
      expect([byEndpoint.token, byRequest.token, over.token]).toEqual([stored, stored, stored]);
      expect(await logOf(byEndpoint)).toHaveLength(4);
    },
  );

  test('is full unless somebody says so', async () => {
    const { token } = captured(await post(shop));
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(token).toBe(await account.store('u', CARD, { reference: 'shop' }));
    expect(
      captured(await post(await make({ algorithm: 'luhn' }), { query: { algorithm: 'full' } })).token,
    ).toMatch(/^[0-9a-f]{64}$/);
  });

  test('uuid makes an item of its own each time', async () => {
    const endpoint = await make({ algorithm: 'uuid' });
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(endpoint)));
    const tokens = answers.map((answer) => captured(answer).token);
    expect(new Set(tokens).size).toBe(10);
    for (const token of tokens) {
      expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });
});

describe('card metadata', () => {
  const has = async (endpoint: MadeEndpoint, query: Query): Promise<boolean> => {
    const { card_metadata } = captured(await post(endpoint, { query }));
    if (card_metadata !== undefined) {
      expect(card_metadata).toEqual({ bin: '41111111', brand: 'visa', issuer: [] });
    }
    return card_metadata !== undefined;
  };

  test('comes when the endpoint says so, or the request, which has the last word', async () => {
    const wanting = await make({ return_card_metadata: true });
    expect(await has(shop, {})).toBe(false);
    expect(await has(wanting, {})).toBe(true);
    for (const [text, value] of [
      ['true', true],
      ['t', true],
      ['1', true],
      ['false', false],
      ['f', false],
      ['0', false],
    ] as const) {
      expect(await has(shop, { return_card_metadata: text })).toBe(value);
      expect(await has(wanting, { return_card_metadata: text })).toBe(value);
    }
  });
});

describe('the log', () => {
  const headers = { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'browser of a visitor/1.0' };

  test('names capture as the source, and the visitor', async () => {
    const answer = await post(shop, { headers, query: { reference: 'logged' } });
    const [entry, ...rest] = await logOf(captured(answer));
    expect(rest).toEqual([]);
    expect(entry).toEqual({
      action: 'encrypt',
      source: 'capture',
      ip_address: '203.0.113.7',
      user_agent: 'browser of a visitor/1.0',
      outcome: 'ok',
      actor: account.name,
      endpoint: shop.unique_id,
      request_id: answer.headers.get('x-request-id') ?? '',
      timestamp: entry?.timestamp ?? '',
    });
  });
});

test.each([
  ['reference', ['', 'x'.repeat(256)]],
  ['algorithm', ['', 'FULL', 'md5', 'partial_7_end']],
  ['form_type', ['', 'PCD', 'form', 'capture']],
])('%s is refused with a value that it cannot have', async (name, values) => {
  for (const value of values) {
    const { outcome, field } = await post(shop, { query: { [name]: value } });
    expect([value, outcome, field]).toEqual([value, '400 invalid_request', `query.${name}`]);
  }
});

describe('asking whether an endpoint takes data', () => {
  test('gives its expiry to the secret alone, and stores, logs and bills nothing', async () => {
    const { url, secret, unique_id, expires_at } = await make({ ttl: '45m' });
    const before = await account.send('GET', '/usage');
    const answer = await useEndpoint(vault, 'GET', url, { secret });
    expect(answer.outcome).toBe('200');
    expect(answer.as<unknown>()).toEqual({ unique_id, expires_at });
    for (const [path, other] of [
      [url, `vcs1_${'A'.repeat(43)}`],
      [url, undefined],
      ['/v1/capture/no-such-endpoint', secret],
    ] as const) {
      expect((await useEndpoint(vault, 'GET', path, { secret: other })).outcome).toBe('403 endpoint_refused');
    }
    const after = await account.send('GET', '/usage');
    expect(after.as<{ operations: unknown }>().operations).toEqual(
      before.as<{ operations: unknown }>().operations,
    );
  });
});
