import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Route } from '../../../server/http/plugins/route.ts';
import { ROUTES } from '../../../server/http/routes/table.ts';
import { type AccountClient, type Answer, basicAuth, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  type Use,
  useEndpoint,
} from '../../helpers/endpoints.ts';
import { isSharedByCaptures } from '../../helpers/redis.ts';
import { sealingKey } from '../../helpers/sealing.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const NUMBER = '4111111111111111';
const CARD = { card_number: NUMBER, holder: 'Canary Holder' };

let vault: TestVault;
let account: AccountClient;
let stranger: AccountClient;
let shop: MadeEndpoint;
let token: string;

beforeAll(async () => {
  vault = await openTestVault({ authFailuresMax: 0 });
  account = await vault.account();
  stranger = await vault.account();
  await account.key('u');
  await stranger.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop' });
  await createRetrieve(account, 'u', { unique_id: 'reader' });
  const operations = [{ name: 'noop', input_field: 'a', output_field: 'a', arguments: {} }];
  expect((await account.send('POST', '/rule', { query: { id: 'rule' }, body: operations })).outcome).toBe(
    '200',
  );
  const answer = await capture(vault, shop, { body: CARD });
  token = answer.as<{ token: string }>().token;
  // Whoever asks first on a day makes the key of the day.
  await sealingKey(vault);
});
afterAll(() => vault.close());

async function contentOf(name: string): Promise<unknown> {
  const { raw } = vault;
  switch (await raw.type(name)) {
    case 'hash':
      return Object.entries(await raw.hgetallBuffer(name))
        .map(([field, value]) => `${field} ${value.toString('base64')}`)
        .sort();
    case 'zset':
      return raw.zrange(name, '0', '-1', 'WITHSCORES');
    case 'set':
      return (await raw.smembers(name)).sort();
    default:
      return (await raw.getBuffer(name))?.toString('base64');
  }
}

/** What no request leaves as it was: counts of uses, and the security logs, which name every refusal. */
const NOTED = /^\{a:[^}]*\}(u:|log$)|^\{audit\}$/;

/** Everything in Redis but for what was noted, and what lasts two minutes. */
async function everything(): Promise<Readonly<Record<string, unknown>>> {
  const names = (await vault.raw.keys('*'))
    .filter((name) => !NOTED.test(name) && !isSharedByCaptures(name))
    .sort();
  const contents = await Promise.all(names.map(contentOf));
  return Object.fromEntries(names.map((name, n) => [name, contents[n]]));
}

/** A query and a body with which the owner could do what each of the routes is for. */
function QUERY(): Query {
  return {
    user: 'u',
    token,
    reference: 'shop',
    id: 'rule',
    unique_id: 'made-by-a-secret',
    key: 'k',
    safe: false,
    requester_id: 'sim',
    new_password: 'a password that a secret set',
  };
}
const BODY = {
  ...CARD,
  user: 'u',
  new_passphrase: 'a passphrase that a secret set',
  operations: [],
  key: 'k',
  value: 'v',
  request: { method: 'POST', url: 'https://1.1.1.1/' },
  webhook: { url: 'https://1.1.1.1/' },
  recipients: ['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'],
};

/** The members that a route knows. */
function known(members: Readonly<Record<string, unknown>>, schemas: object): Query {
  return Object.fromEntries(Object.entries(members).filter(([name]) => name in schemas)) as Query;
}

/** What is stored may have any member, what is done only those that it knows. */
function bodyOf({ body, operationId }: Route): object {
  const { request, webhook, ...rest } = BODY;
  if (body.kind === 'json') {
    return known({ ...BODY, items: [{ token }] }, body.schema['properties']);
  }
  if (operationId === 'storeItems') {
    return { user: 'u', items: [{ data: { n: '1' } }] };
  }
  if (operationId === 'requestNetworkToken' || operationId === 'createCaptureEndpoint') {
    return { webhook };
  }
  return operationId.startsWith('proxy') ? { request, webhook } : rest;
}

function pathsOf({ path }: Route): readonly string[] {
  return path.includes('{') ? ['shop', 'reader'].map((id) => path.replace(/\{\w+\}/, id)) : [path];
}

/** Every place of a request that a secret might be put in. */
const places: readonly (readonly [string, (secret: string) => Use])[] = [
  ['the header of capturing', (secret) => ({ headers: { 'x-vault-capture-secret': secret } })],
  ['the header of retrieving', (secret) => ({ headers: { 'x-vault-retrieve-secret': secret } })],
  ['the header of the passphrase', (secret) => ({ headers: { 'x-vault-passphrase': secret } })],
  [
    'the password of the account',
    (secret) => ({ headers: { authorization: basicAuth(account.name, secret) } }),
  ],
  ['the password of the id', (secret) => ({ headers: { authorization: basicAuth('shop', secret) } })],
  ['a bearer token', (secret) => ({ headers: { authorization: `Bearer ${secret}` } })],
  ['a cookie', (secret) => ({ headers: { cookie: `secret=${secret}; X-Vault-Capture-Secret=${secret}` } })],
  ['the query', (secret) => ({ query: { secret, passphrase: secret, 'X-Vault-Capture-Secret': secret } })],
  ['the body', (secret) => ({ body: { ...BODY, secret, passphrase: secret } })],
  [
    'all of them',
    (secret) => ({
      headers: {
        'x-vault-capture-secret': secret,
        'x-vault-retrieve-secret': secret,
        'x-vault-passphrase': secret,
      },
      query: { secret, passphrase: secret },
      body: { ...BODY, secret, passphrase: secret },
    }),
  ],
];

function sendTo({ method }: Route, path: string, { query, body = BODY, headers }: Use): Promise<Answer> {
  return useEndpoint(vault, method, path, {
    query: { ...QUERY(), ...query },
    ...(method === 'POST' || method === 'PUT' ? { body } : {}),
    ...(headers === undefined ? {} : { headers }),
  });
}

function isCapture({ auth }: Route): boolean {
  return auth === 'capture_secret';
}
const OTHERS = ROUTES.filter((route) => !isCapture(route));
function showsNothing(answer: Answer): void {
  for (const hidden of [NUMBER, CARD.holder, token, shop.secret]) {
    expect(answer.text).not.toContain(hidden);
  }
}

describe('a capture secret alone, in any place of any request, does nothing but capture', () => {
  test('the routes are all there, and make more than sixty cases', () => {
    expect(ROUTES.filter(isCapture).map(({ method, path }) => `${method} ${path}`)).toEqual([
      ...['POST /v1/capture/{unique_id}', 'GET /v1/capture/{unique_id}'],
    ]);
    expect(OTHERS.length * places.length).toBeGreaterThan(60);
  });

  test.each(OTHERS.map((route) => [route.operationId, route] as const))('%s', async (_, route) => {
    const before = await everything();
    for (const [place, use] of places) {
      for (const path of pathsOf(route)) {
        const answer = await sendTo(route, path, use(shop.secret));
        if (route.auth !== 'public') {
          const refused = route.auth === 'basic' ? '401 unauthenticated' : '403 endpoint_refused';
          expect([place, path, answer.outcome]).toEqual([place, path, refused]);
        }
        showsNothing(answer);
      }
    }
    expect(await everything()).toEqual(before);
  });

  test('nor does it capture from any place but its header', async () => {
    const route = ROUTES.find(isCapture);
    const before = await everything();
    for (const [place, use] of places) {
      const given = use(shop.secret);
      if (given.headers?.['x-vault-capture-secret'] !== undefined || route === undefined) {
        continue;
      }
      expect([place, (await sendTo(route, shop.url, given)).outcome]).toEqual([
        place,
        '403 endpoint_refused',
      ]);
    }
    expect(await everything()).toEqual(before);
  });

  test('nor anything by another method', async () => {
    const before = await everything();
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await useEndpoint(vault, method, shop.url, { secret: shop.secret });
      expect([method, answer.status]).toEqual([method, method === 'DELETE' ? 401 : 405]);
      showsNothing(answer);
    }
    expect(await everything()).toEqual(before);
  });
});

describe('beside the credentials of an account', () => {
  // Relays need a connection as well, and pass their query on.
  const withPassphrase = OTHERS.filter(
    ({ passphrase, auth, passesQuery }) => passphrase !== 'none' && auth === 'basic' && !passesQuery,
  );

  test.each(withPassphrase.map((route) => [route.operationId, route] as const))(
    'it is no passphrase: %s',
    async (_, route) => {
      // That it was refused is in the log of the item.
      const unlogged = async () =>
        JSON.stringify(await everything(), (_, value: unknown) =>
          Array.isArray(value) ? value.filter((part) => !/^(?:n|\d+) /.test(String(part))) : value,
        );
      const before = await unlogged();
      const authorization = basicAuth(account.name, account.password);
      const query = known(QUERY(), route.query.properties);
      const body = bodyOf(route);
      for (const use of [
        { headers: { authorization, 'x-vault-passphrase': shop.secret }, query },
        { headers: { authorization }, query: { ...query, passphrase: shop.secret } },
      ]) {
        const { method, path } = route;
        const sent = method === 'POST' || method === 'PUT' ? { ...use, body } : use;
        const answer = await useEndpoint(vault, method, path, sent);
        expect(answer.outcome).toBe('403 passphrase_wrong');
        showsNothing(answer);
      }
      expect(await unlogged()).toEqual(before);
    },
  );

  test('it does not change the passphrase of the key', async () => {
    const body = { user: 'u', passphrase: shop.secret, new_passphrase: 'a passphrase that a secret set' };
    const headers = { 'x-vault-capture-secret': shop.secret };
    const before = await account.open('u', token, { reference: 'shop' });
    expect(JSON.parse(before)).toMatchObject(CARD);
    expect((await account.send('PUT', '/key', { body, headers })).outcome).toBe('403 passphrase_wrong');
    expect(await account.open('u', token, { reference: 'shop' })).toBe(before);
  });

  test('it brings a stranger no further', async () => {
    const headers = { 'x-vault-capture-secret': shop.secret, 'x-vault-retrieve-secret': shop.secret };
    const address = { user: 'u', token, reference: 'shop' };
    const outcomes = await Promise.all([
      stranger.send('GET', '/vault', { query: address, headers, passphrase: PASSPHRASE }),
      stranger.send('GET', '/vault', { query: address, headers }),
      stranger.send('GET', '/vault/metadata', { query: address, headers }),
      stranger.send('DELETE', '/vault', { query: address, headers }),
      stranger.send('DELETE', '/capture/shop', { headers }),
      stranger.send('DELETE', '/retrieve/shop', { headers }),
      stranger.send('GET', '/retrieve/shop', { headers }),
    ]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      '404 token_not_found',
      '404 token_not_found',
      '404 token_not_found',
      '404 token_not_found',
      '404 endpoint_not_found',
      '404 endpoint_not_found',
      '403 endpoint_refused',
    ]);
    expect((await stranger.send('GET', '/capture', { headers })).json).toEqual([]);
    expect((await capture(vault, shop, { body: CARD })).outcome).toBe('200');
  });

  test('what a stranger captures belongs to the owner of the endpoint', async () => {
    const headers = { authorization: basicAuth(stranger.name, stranger.password) };
    const answer = await capture(vault, shop, { body: { ...CARD, from: 'stranger' }, headers });
    expect(answer.json).toEqual({ token, user: 'u', reference: 'shop' });
    expect((await stranger.sdk.vault.list({ user: 'u' })).data).toEqual({ u: [] });
    expect(JSON.parse(await account.open('u', token, { reference: 'shop' }))).toMatchObject({
      from: 'stranger',
    });
  });
});
