import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../server/boot/routes.ts';
import type { RouteShape } from '../../server/http/route.ts';
import { type AccountClient, type Answer, basicAuth, PASSPHRASE, type Query } from '../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  type Use,
  useEndpoint,
} from '../helpers/endpoints.ts';
import { sealingKey } from '../helpers/sealing.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type Copy, copyOf } from '../maintenance/copies.ts';
import { KINDS, type Kind, REFUSED } from './kinds.ts';

const NUMBER = '4111111111111111';
const CARD = { card_number: NUMBER, holder: 'Canary Holder' };

let vault: TestVault;
let account: AccountClient;
let stranger: AccountClient;
let shop: MadeEndpoint;
let reader: MadeEndpoint;
let token: string;

beforeAll(async () => {
  vault = await openTestVault({ authFailuresMax: 0 });
  account = await vault.account();
  stranger = await vault.account();
  await account.key('u');
  await stranger.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop' });
  reader = await createRetrieve(account, 'u', { unique_id: 'reader' });
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

/** What no request leaves as it was: counts of uses, and the security logs, which name every refusal. */
const NOTED = /^\{a:[^}]*\}(u:|uf$|log$)|^\{[^:}]+\.\d+\}n$|^\{audit\}$/;

/** Everything in Redis but for what was noted, and what lasts two minutes. */
async function everything(): Promise<Copy> {
  const all = await copyOf(vault.raw, '*');
  return new Map([...all].filter(([name]) => !NOTED.test(name)));
}
/** The same without the log of the item, which has refusals too. */
async function unlogged(): Promise<unknown> {
  const [name = ''] = await vault.raw.keys(`*}i${token}`);
  const fields = Object.entries(await vault.raw.hgetallBuffer(name)).filter(
    ([field]) => !/^(n|\d+)$/.test(field),
  );
  return [[...(await everything())].filter(([each]) => each !== name).sort(), fields.sort()];
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
function bodyOf({ body, operationId }: RouteShape): object {
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

function pathsOf({ path }: RouteShape): readonly string[] {
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
    'its header beside the passphrase',
    (secret) => ({
      headers: {
        'x-vault-capture-secret': secret,
        'x-vault-retrieve-secret': secret,
        'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
      },
    }),
  ],
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

function sendTo({ method }: RouteShape, path: string, { query, body = BODY, headers }: Use): Promise<Answer> {
  return useEndpoint(vault, method, path, {
    query: { ...QUERY(), ...query },
    ...(method === 'POST' || method === 'PUT' ? { body } : {}),
    ...(headers === undefined ? {} : { headers }),
  });
}

const OWN = { capture: 'capture_secret', retrieve: 'retrieve_secret' } as const;
function endpointOf(kind: Kind): MadeEndpoint {
  return kind === 'capture' ? shop : reader;
}
function showsNothing(answer: Answer): void {
  for (const hidden of [NUMBER, CARD.holder, token, shop.secret, reader.secret]) {
    expect(answer.text).not.toContain(hidden);
  }
}

test('the routes of secrets are all there, and most routes are none', () => {
  const own = ROUTES.filter(({ auth }) => auth === OWN.capture || auth === OWN.retrieve);
  expect(own.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    ...['GET /v1/capture/{unique_id}', 'GET /v1/capture/{unique_id}/bin/{digits}'],
    ...['GET /v1/retrieve/{unique_id}', 'POST /v1/capture/{unique_id}'],
  ]);
  expect((ROUTES.length - own.length) * places.length).toBeGreaterThan(60);
});

describe.each(KINDS)('a %s secret alone', (kind) => {
  test.each(places)('in %s of any other request does nothing', async (_, use) => {
    const before = await everything();
    for (const route of ROUTES.filter(({ auth }) => auth !== OWN[kind])) {
      const refused =
        { basic: '401 unauthenticated', console: '403 cross_site' }[route.auth as string] ?? REFUSED;
      for (const path of pathsOf(route)) {
        const answer = await sendTo(route, path, use(endpointOf(kind).secret));
        const expected = route.auth === 'public' ? answer.outcome : refused;
        expect([route.operationId, path, answer.outcome]).toEqual([route.operationId, path, expected]);
        showsNothing(answer);
      }
    }
    expect(await everything()).toEqual(before);
  });

  test('is taken from its header and from Authorization alone, and by its own methods alone', async () => {
    const before = await everything();
    const { url, secret } = endpointOf(kind);
    for (const [place, use] of places) {
      const given = use(secret);
      const { authorization, [`x-vault-${kind}-secret`]: own } = { ...given.headers };
      if (own === undefined && authorization === undefined) {
        for (const route of ROUTES.filter(({ auth }) => auth === OWN[kind])) {
          expect([place, (await sendTo(route, url, given)).outcome]).toEqual([place, REFUSED]);
        }
      }
    }
    for (const method of ['PUT', 'PATCH', 'DELETE', ...(kind === 'retrieve' ? ['POST'] : [])]) {
      const answer = await useEndpoint(vault, method, url, { secret });
      const isDeletion = method === 'DELETE';
      expect([method, answer.outcome]).toEqual([
        ...[method, isDeletion ? '401 unauthenticated' : '405 method_not_allowed'],
      ]);
      expect(answer.headers.get('allow')?.includes('GET, ') ?? isDeletion).toBe(true);
      showsNothing(answer);
    }
    expect(await everything()).toEqual(before);
  });

  test('is no passphrase beside the credentials of the account', async () => {
    // Relays and inbounds need a connection as well.
    const routes = ROUTES.filter(
      ({ passphrase, auth, passesQuery, noun }) =>
        passphrase !== 'none' && auth === 'basic' && !passesQuery && noun !== 'inbound',
    );
    const before = await unlogged();
    const authorization = basicAuth(account.name, account.password);
    const { secret } = endpointOf(kind);
    for (const route of routes) {
      const query = known(QUERY(), route.query.properties);
      for (const use of [
        { headers: { authorization, 'x-vault-passphrase': secret }, query },
        { headers: { authorization }, query: { ...query, passphrase: secret } },
      ]) {
        const { method, path, operationId } = route;
        const sent = method === 'POST' || method === 'PUT' ? { ...use, body: bodyOf(route) } : use;
        const answer = await useEndpoint(vault, method, path, sent);
        expect([operationId, answer.outcome]).toEqual([operationId, '403 passphrase_wrong']);
        showsNothing(answer);
      }
    }
    expect(await unlogged()).toEqual(before);
  });
});

describe('a capture secret beside the credentials of an account', () => {
  test('it does not change the passphrase of the key', async () => {
    const body = { user: 'u', passphrase: shop.secret, new_passphrase: 'a passphrase that a secret set' };
    const headers = { 'x-vault-capture-secret': shop.secret };
    const before = await account.open('u', token, { reference: 'shop' });
    expect(JSON.parse(before)).toMatchObject(CARD);
    expect((await account.send('PUT', '/key', { body, headers })).outcome).toBe('403 passphrase_wrong');
    expect(await account.open('u', token, { reference: 'shop' })).toBe(before);
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
