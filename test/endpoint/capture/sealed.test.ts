import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { SealingKey } from '../../../sdk/index.ts';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use, useEndpoint } from '../../helpers/endpoints.ts';
import { type Names, postSealed, SEALED, sealFor, sealingKey } from '../../helpers/sealing.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const DAY = 86_400_000;
const START = Date.parse('2026-03-01T12:00:00.000Z');
const CARD = { card_number: '4111111111111111', expiry: '12/30' };

let clock = START;
let vault: TestVault;
let account: AccountClient;
let shop: MadeEndpoint;
let second: TestVault;
let days = 0;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock });
  second = await vault.secondServer();
  account = await vault.account();
  await account.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop', ttl: '0' });
});
/** Each test has days of its own, so that none finds what another one has left. */
beforeEach(() => {
  days += 10;
  clock = START + days * DAY;
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

async function post(
  names: Names = ['shop'],
  use: Use = {},
  key?: SealingKey,
  endpoint = shop,
): Promise<Answer> {
  const body = await sealFor(key ?? (await sealingKey(vault)), names, CARD);
  return postSealed(vault, endpoint, body, use);
}
async function stored(answer: Answer): Promise<string> {
  expect(answer.outcome).toBe('200');
  const { token, reference } = answer.as<{ token: string; reference: string }>();
  return account.open('u', token, { reference });
}

describe('the key', () => {
  test('is the same for every id, whether there is such an endpoint or not, and for every server', async () => {
    const keys = await Promise.all([
      ...['shop', 'nobody', 'a b', '%F0'].map((id) => sealingKey(vault, id)),
      sealingKey(second, 'shop'),
    ]);
    expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(1);
    expect(keys[0]).toEqual({
      kid: expect.stringMatching(/^\d+-[0-9a-f]{16}$/),
      suite: 'P256-HKDF-SHA256-AES256GCM',
      public_key: expect.stringMatching(/^[\w-]{87}$/),
      expires_at: new Date(clock - 12 * 3_600_000 + 2 * DAY).toISOString().replace('.000', ''),
    });
  });

  test('may be cached for an hour, by any page', async () => {
    const { headers } = await useEndpoint(vault, 'GET', '/v1/capture/shop/sealing-key');
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });

  test('is one, however many servers create it at once', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, (_, i) => sealingKey(i % 2 ? second : vault)));
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(1);
    expect(await vault.raw.hlen(redisKeys.sealingKeys)).toBe(1);
  });

  test('is sealed in Redis, and goes by itself', async () => {
    const { kid } = await sealingKey(vault);
    const [record] = await vault.raw.hvalsBuffer(redisKeys.sealingKeys);
    expect(record?.subarray(0, 4).toString('hex')).toBe('01200100');
    expect(kid).toStartWith(String(Math.floor(clock / DAY)));
    expect(Math.abs((await vault.raw.pttl(redisKeys.sealingKeys)) - 1.5 * DAY)).toBeLessThan(60_000);
  });
});

describe('a sealed body', () => {
  test.each([
    ['', ['shop'], {}],
    ['with a reference', ['shop', 'order ä'], { query: { reference: 'order ä' } }],
    ['with an idempotency key', ['shop', undefined, 'k 1'], { idempotencyKey: 'k 1' }],
    ['with both', ['shop', 'r', 'k 2'], { query: { reference: 'r' }, idempotencyKey: 'k 2' }],
  ] as const)('is stored as the body that it holds %s', async (_, names, use) => {
    expect(JSON.parse(await stored(await post(names, use)))).toEqual(CARD);
  });

  test('is taken at another server than the one that gave the key', async () => {
    const key = await sealingKey(vault);
    const answer = await postSealed(second, shop, await sealFor(key, ['shop'], CARD));
    expect(JSON.parse(await stored(answer))).toEqual(CARD);
  });

  test('is taken with any spelling of its content type', async () => {
    const body = await sealFor(await sealingKey(vault), ['shop'], CARD);
    const headers = { 'content-type': 'Application/VND.cardvault.sealed+JSON; charset=utf-8' };
    expect((await capture(vault, shop, { body, headers })).outcome).toBe('200');
    expect((await capture(vault, shop, { body, headers: { 'content-type': 'text/plain' } })).outcome).toBe(
      '400 number_missing',
    );
  });

  test('adds to the item of an endpoint with a token', async () => {
    const token = await account.store('u', CARD);
    const one = await createCapture(account, 'u', { unique_id: 'one', token });
    const body = await sealFor(await sealingKey(vault), ['one'], { cvv: '737' });
    expect((await postSealed(vault, one, body)).outcome).toBe('200');
    expect(JSON.parse(await account.open('u', token))).toEqual({ ...CARD, cvv: '737' });
    expect((await postSealed(vault, one, await sealFor(await sealingKey(vault), ['shop'], {}))).outcome).toBe(
      '400 invalid_request',
    );
  });

  test('is parsed as any other, where it opens', async () => {
    const key = await sealingKey(vault);
    const outcomes = ['{', '[]', '{"a":1}', '{"card_number":"4111111111111111","card_number":"1"}'].map(
      async (text) => (await postSealed(vault, shop, await sealFor(key, ['shop'], text))).outcome,
    );
    expect(await Promise.all(outcomes)).toEqual([
      ...['400 invalid_json', '400 invalid_request', '400 number_missing', '400 invalid_json'],
    ]);
  });

  test('goes without an algorithm in the URL that keeps digits: who has recorded it could read them', async () => {
    const body = await sealFor(await sealingKey(vault), ['shop'], CARD);
    for (const algorithm of ['partial_8_start', 'partial_8_end', 'partial_middle_6_4']) {
      const answer = await postSealed(vault, shop, body, { query: { algorithm } });
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.algorithm']);
    }
    await stored(await postSealed(vault, shop, body, { query: { algorithm: 'luhn' } }));
    const own = await createCapture(account, 'u', { unique_id: 'own', algorithm: 'partial_12_start' });
    const token = (await post(['own'], {}, undefined, own)).as<{ token: string }>().token;
    expect(token).toMatch(/^[0-9a-f]{12}1111$/);
  });

  test('goes without a number in the URL', async () => {
    const answer = await post(['shop'], { query: { number: CARD.card_number } });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.number']);
  });

  test('says nothing to who has not the secret', async () => {
    const answer = await post(['shop'], {}, undefined, { ...shop, secret: `vcs1_${'A'.repeat(43)}` });
    expect(answer.outcome).toBe('403 endpoint_refused');
  });
});

describe('what was sealed for another request does not open', () => {
  const OTHERS: readonly (readonly [string, Names, Use])[] = [
    ['another endpoint', ['kiosk'], {}],
    ['another reference', ['shop', 'a'], { query: { reference: 'b' } }],
    ['no reference', ['shop', 'a'], {}],
    ['a reference where there was none', ['shop'], { query: { reference: 'a' } }],
    ['another idempotency key', ['shop', undefined, 'other 1'], { idempotencyKey: 'other 2' }],
    ['no idempotency key', ['shop', undefined, 'other 3'], {}],
    ['an idempotency key where there was none', ['shop'], { idempotencyKey: 'other 4' }],
    ['the reference as idempotency key', ['shop', 'a'], { idempotencyKey: 'a' }],
  ];
  test.each(OTHERS)('%s', async (_, names, use) => {
    const answer = await post(names, use);
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body']);
  });

  test('nor what is damaged, and all that is said of both is the same', async () => {
    const foreign = await post(['kiosk']);
    const sealed: { kid: string; enc: string; ct: string } = JSON.parse(
      await sealFor(await sealingKey(vault), ['shop'], CARD),
    );
    const changed = { ...sealed, ct: `${sealed.ct.startsWith('A') ? 'B' : 'A'}${sealed.ct.slice(1)}` };
    const offCurve = { ...sealed, enc: Buffer.from(`04${'01'.repeat(64)}`, 'hex').toString('base64url') };
    for (const body of [changed, offCurve, { ...sealed, ct: sealed.ct.slice(0, 22) }]) {
      const answer = await postSealed(vault, shop, JSON.stringify(body));
      const { request_id: _, ...said } = answer.as<Record<string, unknown>>();
      const { request_id: __, ...expected } = foreign.as<Record<string, unknown>>();
      expect(said).toEqual(expected);
    }
    // A thread that has met these still works.
    expect((await post()).outcome).toBe('200');
  });

  test.each([
    ['no JSON', 'x', '400 invalid_json', 'body'],
    ['nothing', '', '400 invalid_request', 'body.kid'],
    ['no ciphertext', { kid: 'k', enc: 'A'.repeat(87) }, '400 invalid_request', 'body.ct'],
    ['a short half', { kid: 'k', enc: 'A', ct: 'A'.repeat(22) }, '400 invalid_request', 'body.enc'],
    ['no base64', { kid: 'k', enc: '*'.repeat(87), ct: 'A'.repeat(22) }, '400 invalid_request', 'body'],
  ] as const)('nor what is malformed: %s', async (_, body, outcome, field) => {
    const answer = await capture(vault, shop, { body, headers: SEALED });
    expect([answer.outcome, answer.field]).toEqual([outcome, field]);
  });
});

describe('an idempotency key', () => {
  test('is answered for the same bytes, also after their key has gone', async () => {
    const key = await sealingKey(vault);
    const body = await sealFor(key, ['shop', undefined, 'again'], CARD);
    const first = await postSealed(vault, shop, body, { idempotencyKey: 'again' });
    expect(first.outcome).toBe('200');
    await vault.raw.del(redisKeys.sealingKeys);
    clock += DAY - 1;
    const repeat = await postSealed(second, shop, body, { idempotencyKey: 'again' });
    expect([repeat.text, repeat.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
  });

  test('is in conflict with the same body sealed again, and with the body itself', async () => {
    const names = ['shop', undefined, 'twice'] as const;
    expect((await post(names, { idempotencyKey: 'twice' })).outcome).toBe('200');
    expect((await post(names, { idempotencyKey: 'twice' })).outcome).toBe('409 idempotency_conflict');
    const plain = await capture(vault, shop, { body: CARD, idempotencyKey: 'twice' });
    expect(plain.outcome).toBe('409 idempotency_conflict');
  });

  test('is free again after its key was refused', async () => {
    const names = ['shop', undefined, 'renewed'] as const;
    const old = { ...(await sealingKey(vault)), kid: '1-0123456789abcdef' };
    const refused = await post(names, { idempotencyKey: 'renewed' }, old);
    expect(refused.outcome).toBe('409 sealing_key_expired');
    expect((await post(names, { idempotencyKey: 'renewed' })).outcome).toBe('200');
  });
});

describe('rotation', () => {
  test('gives a new key at midnight, and takes the old one until the next', async () => {
    clock = Math.floor(clock / DAY) * DAY + DAY - 1;
    const old = await sealingKey(vault);
    expect((await sealingKey(vault)).kid).toBe(old.kid);
    clock += 1;
    const next = await sealingKey(second);
    expect(next.kid).not.toBe(old.kid);
    expect(next.public_key).not.toBe(old.public_key);
    expect((await sealingKey(vault)).kid).toBe(next.kid);
    clock += DAY - 1;
    for (const at of [vault, second]) {
      expect((await postSealed(at, shop, await sealFor(old, ['shop'], CARD))).outcome).toBe('200');
    }
    expect(Date.parse(old.expires_at)).toBe(clock + 1);
    clock += 1;
    for (const at of [vault, second]) {
      const answer = await postSealed(at, shop, await sealFor(old, ['shop'], CARD));
      expect(answer.outcome).toBe('409 sealing_key_expired');
      expect((await postSealed(at, shop, await sealFor(next, ['shop'], CARD))).outcome).toBe('200');
    }
    await sealingKey(vault);
    expect((await vault.raw.hkeys(redisKeys.sealingKeys)).sort()).toEqual(
      [clock / DAY - 1, clock / DAY].map(String),
    );
  });

  test.each([
    ['unknown', 'whatever'],
    ['of no day', '-0123456789abcdef'],
    ['far ahead', '999999-0123456789abcdef'],
    ['as long as one may be', '9'.repeat(64)],
  ])('a key that is %s is refused', async (_, kid) => {
    const answer = await post(['shop'], {}, { ...(await sealingKey(vault)), kid });
    expect(answer.outcome).toBe('409 sealing_key_expired');
  });

  test('a key of this day that was lost is refused, and the new one is taken', async () => {
    const lost = await sealingKey(vault);
    await vault.raw.del(redisKeys.sealingKeys);
    clock += 60_000;
    const next = await sealingKey(vault);
    expect(next.kid).not.toBe(lost.kid);
    expect((await post(['shop'], {}, lost)).outcome).toBe('409 sealing_key_expired');
    expect((await post(['shop'], {}, next)).outcome).toBe('200');
  });

  test('a damaged record is no key', async () => {
    const key = await sealingKey(vault);
    await vault.raw.hset(redisKeys.sealingKeys, key.kid.split('-')[0] ?? '', 'damaged');
    clock += 60_000;
    expect((await useEndpoint(vault, 'GET', '/v1/capture/shop/sealing-key')).outcome).toBe(
      '500 integrity_failed',
    );
    expect((await post(['shop'], {}, key)).outcome).toBe('500 integrity_failed');
  });
});

describe('an endpoint that requires sealed bodies', () => {
  let strict: MadeEndpoint;
  beforeAll(async () => {
    strict = await createCapture(account, 'u', { unique_id: 'strict', require_sealed: true, ttl: '0' });
  });

  test('takes no other', async () => {
    const plain = await capture(vault, strict, { body: CARD });
    expect(plain.outcome).toBe('400 sealing_required');
    expect((await post(['strict'], {}, undefined, strict)).outcome).toBe('200');
    const guess = await capture(vault, strict, { body: CARD, secret: shop.secret });
    expect(guess.outcome).toBe('403 endpoint_refused');
  });

  test('says so in lists and when it is asked', async () => {
    const list = (await account.send('GET', '/capture')).as<readonly Record<string, unknown>[]>();
    const shown = Object.fromEntries(list.map((each) => [each['unique_id'], each['require_sealed']]));
    expect(shown).toMatchObject({ shop: undefined, strict: true });
    const check = await useEndpoint(vault, 'GET', strict.url, { secret: strict.secret });
    expect(check.json).toEqual({ unique_id: 'strict', expires_at: null, require_sealed: true });
    const other = await useEndpoint(vault, 'GET', shop.url, { secret: shop.secret });
    expect(other.json).toEqual({ unique_id: 'shop', expires_at: null });
  });

  test('can be for one item', async () => {
    const token = await account.store('u', CARD);
    const query = { unique_id: 'strict-one', token, require_sealed: true };
    const one = await createCapture(account, 'u', query);
    expect((await capture(vault, one, { body: { cvv: '1' } })).outcome).toBe('400 sealing_required');
    const made = await account.send('POST', '/capture', {
      query: { user: 'u', unique_id: 'x', require_sealed: 'maybe' },
      passphrase: PASSPHRASE,
    });
    expect(made.field).toBe('query.require_sealed');
  });
});
