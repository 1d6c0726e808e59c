/** How often, how fast and from which pages an endpoint is used, and where it takes its secret and its reference from. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  type Use,
  useEndpoint,
} from '../helpers/endpoints.ts';
import { failNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const CARD = { card_number: '4111111111111111' };

let vault: TestVault;
let account: AccountClient;
beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

const make = (query: Query = {}): Promise<MadeEndpoint> => createCapture(account, 'u', query);
const send = (endpoint: MadeEndpoint, use: Use = {}): Promise<Answer> =>
  capture(vault, endpoint, { body: CARD, ...use });
async function refused(query: Query, kind: 'capture' | 'retrieve' = 'capture') {
  const answer = await account.send('POST', `/${kind}`, {
    query: { user: 'u', ...query },
    passphrase: PASSPHRASE,
  });
  return [answer.outcome, answer.field];
}
async function listed({ unique_id }: MadeEndpoint, kind: 'capture' | 'retrieve' = 'capture') {
  const all = (await account.send('GET', `/${kind}`)).as<{ unique_id: string; uses?: number }[]>();
  return all.find((one) => one.unique_id === unique_id);
}

describe('the secret', () => {
  const basic = (text: string) => `Basic ${btoa(text)}`;
  const sendBy = ({ url }: MadeEndpoint, authorization: string, secret?: string) =>
    useEndpoint(vault, 'POST', url, { secret, body: CARD, headers: { authorization } });

  test('is taken after Bearer, and as the password of Basic with any name', async () => {
    const endpoint = await make();
    for (const authorization of [
      `Bearer ${endpoint.secret}`,
      `bearer  ${endpoint.secret}`,
      basic(`:${endpoint.secret}`),
      basic(`stripe:${endpoint.secret}`),
    ]) {
      expect((await sendBy(endpoint, authorization)).outcome).toBe('200');
    }
    expect((await sendBy(endpoint, `Bearer ${endpoint.secret}`, endpoint.secret)).outcome).toBe('200');
    const { secret, url } = await createRetrieve(account, 'u', {});
    const headers = { authorization: `Bearer ${secret}` };
    expect((await useEndpoint(vault, 'GET', url, { headers })).outcome).toBe('200');
  });

  test('that differs from the one of the header is refused, and anything else beside it is ignored', async () => {
    const [endpoint, other] = [await make(), await make()];
    const answer = await sendBy(endpoint, `Bearer ${other.secret}`, endpoint.secret);
    expect([answer.outcome, answer.field]).toEqual(['400 conflicting_parameters', 'header.Authorization']);
    expect((await sendBy(endpoint, basic('gateway:of another server'), endpoint.secret)).outcome).toBe('200');
    expect((await sendBy(endpoint, `Bearer ${other.secret}`)).outcome).toBe('403 endpoint_refused');
    expect((await sendBy(endpoint, basic(`${account.name}:${account.password}`))).outcome).toBe(
      '403 endpoint_refused',
    );
  });
});

describe('max_uses', () => {
  test('lets exactly so many captures succeed, at two servers at one instant', async () => {
    const second = await vault.secondServer();
    const endpoint = await make({ max_uses: 10 });
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) =>
        capture(n % 2 === 0 ? vault : second, endpoint, { body: CARD, query: { reference: `r${n}` } }),
      ),
    );
    await second.close();
    const outcomes = Map.groupBy(answers, ({ outcome }) => outcome);
    expect(outcomes.get('200')).toHaveLength(10);
    expect(outcomes.get('410 endpoint_used_up')).toHaveLength(990);
    expect(await listed(endpoint)).toMatchObject({ max_uses: 10, uses: 10 });
  }, 60_000);

  test('counts no request that stored nothing, and no repeat of one that did', async () => {
    const endpoint = await make({ max_uses: 2 });
    const use = { idempotencyKey: 'order-1' };
    expect((await send(endpoint, { secret: `${endpoint.secret}x` })).outcome).toBe('403 endpoint_refused');
    expect((await send(endpoint, { body: { name: 'Ada' } })).outcome).toBe('400 number_missing');
    expect((await send(endpoint, use)).outcome).toBe('200');
    expect((await send(endpoint, use)).outcome).toBe('200');
    expect((await listed(endpoint))?.uses).toBe(1);
    expect((await send(endpoint)).outcome).toBe('200');
    expect((await send(endpoint)).outcome).toBe('410 endpoint_used_up');
    expect((await send(endpoint, use)).outcome).toBe('200');
  });

  test('is held by no request whose body is invalid', async () => {
    const endpoint = await make({ max_uses: 1 });
    const { crypto } = vault.opened;
    const opened = Promise.withResolvers<void>();
    const seal = crypto.captureItem.bind(crypto);
    const reading = Promise.withResolvers<void>();
    const spy = spyOn(crypto, 'captureItem').mockImplementationOnce(async (job) => {
      reading.resolve();
      await opened.promise;
      return seal(job);
    });
    const invalid = send(endpoint, { body: { name: 'Ada' } });
    await reading.promise;
    expect((await send(endpoint)).outcome).toBe('200');
    opened.resolve();
    expect((await invalid).outcome).toBe('400 number_missing');
    spy.mockRestore();
    expect(await listed(endpoint)).toMatchObject({ uses: 1 });
    expect((await send(endpoint, { body: { name: 'Ada' } })).outcome).toBe('410 endpoint_used_up');
    const keyed = { body: { name: 'Ada' }, idempotencyKey: 'invalid' };
    expect((await send(endpoint, keyed)).outcome).toBe('410 endpoint_used_up');
  });

  test('counts a request whose reply was lost once, and its repeat gets one', async () => {
    const { stores } = vault.opened;
    const endpoint = await make({ max_uses: 1 });
    const lose = (): void => failNext(stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    const once = () => send(endpoint, { idempotencyKey: 'lost' });
    lose();
    expect((await once()).outcome).toBe('503 store_unavailable');
    lose();
    expect((await once()).outcome).toBe('503 store_unavailable');
    expect((await send(endpoint, { idempotencyKey: 'other' })).outcome).toBe('410 endpoint_used_up');
    expect((await once()).outcome).toBe('200');
    expect(await listed(endpoint)).toMatchObject({ uses: 1 });
  });

  test('is given back by no run of a request that another run has done', async () => {
    const endpoint = await make({ max_uses: 1 });
    const { crypto, stores } = vault.opened;
    failNext(crypto, 'captureItem', new VaultError('overloaded'));
    expect((await send(endpoint, { idempotencyKey: 'twice' })).outcome).toBe('503 overloaded');
    expect(await listed(endpoint)).toMatchObject({ uses: 0 });
    failNext(stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    expect((await send(endpoint, { idempotencyKey: 'twice' })).outcome).toBe('503 store_unavailable');
    failNext(crypto, 'captureItem', new VaultError('overloaded'));
    expect((await send(endpoint, { idempotencyKey: 'twice' })).outcome).toBe('503 overloaded');
    expect(await listed(endpoint)).toMatchObject({ uses: 1 });
    expect((await send(endpoint, { idempotencyKey: 'twice' })).outcome).toBe('200');
    expect((await send(endpoint)).outcome).toBe('410 endpoint_used_up');
  });

  test('of a retrieval counts replies with data, each page of a tree as one', async () => {
    const token = await account.store('u', CARD);
    const endpoint = await createRetrieve(account, 'u', { max_uses: 3 });
    const read = (query: Query) =>
      useEndpoint(vault, 'GET', endpoint.url, { secret: endpoint.secret, query });
    expect((await read({})).outcome).toBe('200');
    expect((await read({ token: '0'.repeat(64) })).outcome).toBe('404 token_not_found');
    expect((await read({ token })).outcome).toBe('200');
    const page = await read({ decrypt_all: true, limit: 1 });
    const next = page.headers.get('x-vault-next-token') ?? undefined;
    expect((await read({ decrypt_all: true, limit: 1, next_token: next })).outcome).toBe('200');
    expect((await read({ token })).outcome).toBe('410 endpoint_used_up');
    expect((await read({})).outcome).toBe('200');
    expect((await listed(endpoint, 'retrieve'))?.uses).toBe(3);
  });

  test.each([0, -1, 1.5, 1_000_001, 'many'])('of %p is refused', async (max_uses) => {
    expect(await refused({ max_uses })).toEqual(['400 invalid_request', 'query.max_uses']);
    expect(await refused({ max_uses }, 'retrieve')).toEqual(['400 invalid_request', 'query.max_uses']);
  });
});

describe('rate', () => {
  test('bounds each address by itself, for requests with the right secret', async () => {
    const endpoint = await make({ rate: '3/h' });
    const wrong = { secret: `${endpoint.secret}x` };
    for (let n = 0; n < 5; n++) {
      expect((await send(endpoint, wrong)).outcome).toBe('403 endpoint_refused');
    }
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(endpoint)));
    expect(answers.filter(({ outcome }) => outcome === '200')).toHaveLength(3);
    const [late] = answers.filter(({ outcome }) => outcome === '429 rate_limited');
    expect(Number(late?.headers.get('retry-after'))).toBeWithin(1, 1_201);
    expect(await listed(endpoint)).toMatchObject({ rate: '3/h' });
    expect((await send(await make({ rate: '3/h' }))).outcome).toBe('200');
  });

  test.each(['3', '3/d', '0/s', '-1/s', '3 / s', '1000000/s', ''])('%p is refused', async (rate) => {
    expect(await refused({ rate })).toEqual(['400 invalid_request', 'query.rate']);
  });
});

describe('origins', () => {
  test('are the only pages that may use it; programs and the vault itself always may', async () => {
    const endpoint = await make({ origins: 'https://shop.example,http://localhost:3000,null' });
    const from = async (origin: string) => (await send(endpoint, { headers: { origin } })).outcome;
    for (const origin of ['https://shop.example', 'http://localhost:3000', 'null']) {
      expect(await from(origin)).toBe('200');
    }
    for (const origin of ['https://evil.example', 'https://shop.example.evil', 'http://shop.example']) {
      expect(await from(origin)).toBe('403 origin_not_allowed');
    }
    expect((await send(endpoint)).outcome).toBe('200');
    const state = await useEndpoint(vault, 'GET', endpoint.url, { secret: endpoint.secret });
    expect(state.json).toMatchObject({
      origins: ['https://shop.example', 'http://localhost:3000', 'null'],
    });
  });

  test.each([
    'shop.example',
    'https://shop.example/',
    'https://shop.example/pay',
    'http://shop.example',
    'https://user@shop.example',
    'ftp://shop.example',
    '*',
  ])('%p is refused', async (origins) => {
    expect(await refused({ origins })).toEqual(['400 invalid_request', 'query.origins']);
  });
});

describe('reference_field', () => {
  const referenceOf = async (endpoint: MadeEndpoint, body: unknown, query: Query = {}) => {
    const { outcome, json } = await send(endpoint, { body, query });
    return outcome === '200' ? Object(json).reference : outcome;
  };

  test('gives each item the reference that its sender names', async () => {
    const endpoint = await make({ reference_field: 'metadata.customer', reference: 'none' });
    const sent = (customer: unknown) => ({ ...CARD, metadata: { customer } });
    expect(await referenceOf(endpoint, sent('cus_1'))).toBe('cus_1');
    expect(await referenceOf(endpoint, sent(4711))).toBe('4711');
    for (const missing of [sent(''), sent(null), { ...CARD, metadata: {} }, CARD]) {
      expect(await referenceOf(endpoint, missing)).toBe('none');
    }
    expect(await referenceOf(endpoint, sent('cus_1'), { reference: 'of-the-query' })).toBe('of-the-query');
    for (const wrong of [sent({ id: 1 }), sent(['a']), sent(true), sent(1.5), sent('x'.repeat(256))]) {
      expect(await referenceOf(endpoint, wrong)).toBe('400 invalid_request');
    }
    for (const number of ['4111111111111111', 'card 4111 1111 1111 1111', 4111111111111111]) {
      expect(await referenceOf(endpoint, sent(number))).toBe('400 reference_sensitive');
    }
    expect(await listed(endpoint)).toMatchObject({ reference_field: 'metadata.customer' });
  });

  const XML = (inner: string) =>
    `<?xml version="1.0"?><o:order no="7"><pan>4111111111111111</pan>${inner}</o:order>`;
  const FORM = (rest: string) => `pan=4111111111111111&${rest}`;
  const PART = 'content-disposition: form-data; name=';

  test.each<[string, string, string, string]>([
    ['an element', 'order.customer', 'application/xml', XML('<x:customer> cus_1 </x:customer>')],
    [
      'an element in pieces',
      'order.customer',
      'text/xml',
      XML('<customer>cus<![CDATA[_1]]><!-- 2 --></customer>'),
    ],
    ['an attribute', 'order.by.@id', 'application/xml', XML('<by id="cus_1">x</by>')],
    ['the second of three', 'order.c[1]', 'application/xml', XML('<c/><c>cus_1</c><c>3</c>')],
    ['a single one as a list', 'order.c[0]', 'application/xml', XML('<c>cus_1</c>')],
    ['any element', 'order.*[*].ref', 'application/xml', XML('<a/><b><ref>cus_1</ref></b>')],
    ['entities', 'order.c', 'application/xml', XML('<c>cus&#95;1</c>')],
    ['a field', 'customer', 'application/x-www-form-urlencoded', FORM('customer=cus%5F1')],
    ['a whole name', '["meta[c.d]"]', 'application/x-www-form-urlencoded', FORM('meta%5Bc.d%5D=cus_1')],
    ['the second value', 'c[1]', 'application/x-www-form-urlencoded', FORM('c=1&c=cus_1')],
    [
      'a part',
      'customer',
      'multipart/form-data; boundary=b',
      `--b\r\n${PART}"pan"\r\n\r\n4111111111111111\r\n--b\r\n${PART}"customer"\r\n\r\ncus_1\r\n--b--\r\n`,
    ],
    ['a column', 'customer', 'text/csv', 'pan,customer\n4111111111111111,cus_1\n'],
    ['JSON', 'a.b', 'application/json', '{"pan":"4111111111111111","a":{"b":"cus_1"}}'],
  ])('is found in %s', async (_, reference_field, type, body) => {
    const endpoint = await make({ smart_parse: true, reference_field, reference: 'none' });
    const { outcome, json } = await send(endpoint, { body, headers: { 'content-type': type } });
    expect([outcome, Object(json).reference]).toEqual(['200', 'cus_1']);
  });

  test.each<[string, string, string, string]>([
    ['several elements', 'order.c', 'application/xml', XML('<c>1</c><c>2</c>')],
    ['an element around others', 'order.c', 'application/xml', XML('<c>1<d>2</d></c>')],
    ['several values', 'c', 'application/x-www-form-urlencoded', FORM('c=1&c=2')],
    ['a long text', 'order.c', 'application/xml', XML(`<c>${'x'.repeat(256)}</c>`)],
  ])('is not %s', async (_, reference_field, type, body) => {
    const endpoint = await make({ smart_parse: true, reference_field });
    const answer = await send(endpoint, { body, headers: { 'content-type': type } });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body']);
  });

  test.each<[string, string, string]>([
    ['application/xml', 'order.c', XML('<c></c>')],
    ['application/xml', 'order.c', XML('')],
    ['application/xml', 'order.c.@no', XML('<c/>')],
    ['application/x-www-form-urlencoded', 'c', FORM('c=')],
    ['text/plain', 'c', 'card 4111111111111111'],
  ])('that a body in %s has not at %p leaves the default', async (type, reference_field, body) => {
    const endpoint = await make({ smart_parse: true, reference_field, reference: 'none' });
    const { json } = await send(endpoint, { body, headers: { 'content-type': type } });
    expect(Object(json).reference).toBe('none');
  });

  test('with a card number in any notation is refused', async () => {
    const endpoint = await make({ smart_parse: true, reference_field: 'order.c' });
    for (const c of ['4111111111111111', '41111&#49;11111 11111', '\u0664111 1111 1111 1111']) {
      const answer = await send(endpoint, {
        body: XML(`<c>${c}</c>`),
        headers: { 'content-type': 'text/xml' },
      });
      expect(answer.outcome).toBe('400 reference_sensitive');
    }
  });

  test('that is no path, or has no place, is refused', async () => {
    const token = await account.store('u', CARD);
    expect(await refused({ reference_field: 'a..b' })).toEqual([
      '400 invalid_request',
      'query.reference_field',
    ]);
    expect(await refused({ reference_field: 'a', token })).toEqual([
      '400 invalid_request',
      'query.reference_field',
    ]);
  });
});
