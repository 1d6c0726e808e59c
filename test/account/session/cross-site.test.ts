/** Which requests the cookie of a person signs in: those of the console, and no other site's. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { PeopleSettings } from '../../../server/core/settings.ts';
import { type AccountClient, answerOf, basicAuth, PASSPHRASE } from '../../helpers/clients.ts';
import { type PersonClient, person } from '../../helpers/people.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let account: AccountClient;
let ada: PersonClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  ada = await person(vault, account, 'owner');
});
afterAll(() => vault.close());

type Headers = Readonly<Record<string, string>>;

async function outcome(method: string, path: string, headers: Headers, body?: string): Promise<string> {
  const init: RequestInit = { method, headers: { cookie: ada.cookie, ...headers } };
  if (body !== undefined) {
    init.body = body;
  }
  const answer = await answerOf(await vault.handle(new Request(`http://localhost/v1${path}`, init)));
  return method === 'HEAD' ? String(answer.status) : answer.outcome;
}

const CONSOLE = { origin: 'http://localhost' };
const EVIL = { origin: 'https://evil.example' };
const site = (name: string): Headers => ({ 'sec-fetch-site': name });

/** Each row: headers, then what reading, changing and sending through the relay or the proxy get. */
const TABLE: readonly (readonly [
  what: string,
  headers: Headers,
  read: string,
  write: string,
  sends: string,
])[] = [
  ['same-origin', site('same-origin'), '200', '200', 'in'],
  ['same-origin, with Origin', { ...site('same-origin'), ...CONSOLE }, '200', '200', 'in'],
  ['the console’s Origin alone', CONSOLE, '200', '200', 'in'],
  ['the console’s Origin from another port', { ...site('same-site'), ...CONSOLE }, '200', '200', 'in'],
  ['nothing, as a program', {}, '200', '403 cross_site', '403 cross_site'],
  ['none, a typed address', site('none'), '200', '403 cross_site', '403 cross_site'],
  ['another Origin alone', EVIL, '200', '403 cross_site', '403 cross_site'],
  ['Origin null', { origin: 'null' }, '200', '403 cross_site', '403 cross_site'],
  ['another port as Origin', { origin: 'http://localhost:8080' }, '200', '403 cross_site', '403 cross_site'],
  ['HTTPS as Origin', { origin: 'https://localhost' }, '200', '403 cross_site', '403 cross_site'],
  ['same-site', site('same-site'), '403 not_allowed', '403 cross_site', '403 cross_site'],
  ['cross-site', site('cross-site'), '403 not_allowed', '403 cross_site', '403 cross_site'],
  [
    'cross-site, null',
    { ...site('cross-site'), origin: 'null' },
    '403 not_allowed',
    '403 cross_site',
    '403 cross_site',
  ],
  [
    'cross-site, evil',
    { ...site('cross-site'), ...EVIL },
    '403 not_allowed',
    '403 cross_site',
    '403 cross_site',
  ],
  ['an unknown word', site('sideways'), '401 unauthenticated', '403 cross_site', '403 cross_site'],
];

describe.each(TABLE)('the cookie with %s', (_what, headers, read, write, sends) => {
  test(`reads: ${read}`, async () => {
    expect(await outcome('GET', '/whoami', headers)).toBe(read);
    expect(await outcome('HEAD', '/whoami', headers)).toBe(read.slice(0, 3));
    expect(await outcome('GET', '/person/self', headers)).toBe(read);
  });

  test(`changes: ${write}`, async () => {
    const preference = JSON.stringify({ key: 'theme', value: 'dark' });
    expect(await outcome('POST', '/preferences', headers, preference)).toBe(write);
    const rule = await outcome('DELETE', '/preferences?key=theme', headers);
    expect(rule).toBe(write);
    const change = JSON.stringify({ name: 'Eve', role: 'support' });
    const put = await outcome('PUT', `/person/pers_${'A'.repeat(22)}`, headers, change);
    expect(put).toBe(write === '200' ? '404 person_not_found' : write);
  });

  test(`sends: ${sends}`, async () => {
    for (const [method, path, body] of [
      ['GET', '/relay/none/charges', undefined],
      ['HEAD', '/relay/none/charges', undefined],
      ['POST', '/relay/none/charges', '{}'],
      ['DELETE', '/relay/none', undefined],
      ['POST', '/proxy/post', '{}'],
      ['GET', '/proxy/csr', undefined],
    ] as const) {
      const got = await outcome(method, path, headers, body);
      if (sends === 'in') {
        expect(got).not.toMatch(/cross_site|unauthenticated/);
      } else {
        expect(got).toBe(method === 'HEAD' ? sends.slice(0, 3) : sends);
      }
    }
  });
});

describe('with Authorization', () => {
  const own = (): Headers => ({ authorization: basicAuth(account.name, account.password) });

  test('the cookie counts for nothing', async () => {
    const right = await vault.handle(
      new Request('http://localhost/v1/whoami', { headers: { cookie: ada.cookie, ...own() } }),
    );
    expect(await right.json()).not.toHaveProperty('person');
    for (const authorization of ['Basic !', 'Bearer', basicAuth(account.name, 'wrong'), '']) {
      const headers = { authorization, ...site('same-origin') };
      expect(await outcome('GET', '/whoami', headers)).toBe('401 unauthenticated');
    }
    expect(await outcome('POST', '/preferences', own(), '{"key":"a","value":"b"}')).toBe('200');
    expect(await outcome('GET', '/whoami', { ...own(), ...site('cross-site') })).toBe('403 not_allowed');
  });
});

describe('public routes', () => {
  test('ignore the cookie, whoever sends it', async () => {
    for (const headers of [site('cross-site'), site('same-origin'), EVIL, {}] satisfies Headers[]) {
      expect(await outcome('POST', '/capture/none', headers, '{}')).toBe('403 endpoint_refused');
      expect(await outcome('GET', '/retrieve/none', headers)).toBe('403 endpoint_refused');
    }
    const reply = await vault.handle(
      new Request('http://localhost/v1/capture/none', {
        method: 'POST',
        headers: { cookie: ada.cookie, ...EVIL },
        body: '{}',
      }),
    );
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('no route lets another origin read with the cookie', async () => {
    for (const path of ['/whoami', '/person', '/person/self']) {
      const reply = await vault.handle(
        new Request(`http://localhost/v1${path}`, { headers: { cookie: ada.cookie, ...EVIL } }),
      );
      expect(reply.headers.get('access-control-allow-origin')).toBeNull();
      const preflight = await vault.handle(
        new Request(`http://localhost/v1${path}`, { method: 'OPTIONS', headers: EVIL }),
      );
      expect(preflight.status).toBe(405);
    }
  });
});

describe('a cookie', () => {
  test.each([
    ['an unknown token', () => `vault_session=${'A'.repeat(43)}`],
    ['a malformed one', () => 'vault_session=x'],
    ['an empty one', () => 'vault_session='],
    ['two that differ', () => `${ada.cookie}; vault_session=${'A'.repeat(43)}`],
    ['another name', () => ada.cookie.replace('vault_session', 'Vault_Session')],
    ['the name of HTTPS, over HTTP', () => `__Host-${ada.cookie}`],
  ])('with %s signs nobody in', async (_what, cookie) => {
    expect(await outcome('GET', '/whoami', { cookie: cookie(), ...site('same-origin') })).toBe(
      '401 unauthenticated',
    );
  });

  test('is found among others', async () => {
    const cookie = `a=b; ${ada.cookie};c="d; e"`;
    expect(await outcome('GET', '/whoami', { cookie, ...site('same-origin') })).toBe('200');
  });

  test('of nobody brings a page no prompt for a password', async () => {
    const ask = async (headers: Headers): Promise<string | null> => {
      const request = new Request('http://localhost/v1/whoami', { headers });
      return (await vault.handle(request)).headers.get('www-authenticate');
    };
    expect(await ask(site('same-origin'))).toBe('Session realm="vault"');
    expect(await ask({})).toBe('Basic realm="vault"');
    const wrong = { authorization: basicAuth('nobody', 'wrong'), ...site('same-origin') };
    expect(await ask(wrong)).toBe('Session realm="vault"');
    const { authorization } = wrong;
    expect(await ask({ authorization })).toBe('Basic realm="vault"');
  });
});

describe('under HTTPS', () => {
  let secure: TestVault;
  const people: PeopleSettings = {
    ...{ consoleUrl: 'https://console.example', flaw: undefined, hasPasswords: false },
  };
  beforeAll(async () => {
    secure = await vault.secondServer({ people });
  });
  afterAll(() => secure.close());

  test('the cookie is for its host alone, and no script reads it', async () => {
    const { persons, sessions } = secure.parts;
    const found = await persons.byPasskey(ada.passkey.id);
    const ctx = { ip: '192.0.2.1', userAgent: '', requestId: 'r', source: 'vault' } as never;
    const { cookie } = await sessions.open(ctx, found?.person as never, { kind: 'oidc' });
    expect(cookie).toMatch(/^__Host-vault_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    const [pair = ''] = cookie.split(';');
    const get = async (headers: Headers, method = 'GET'): Promise<string> => {
      const request = new Request('http://localhost/v1/person/self/session', { method, headers });
      return (await answerOf(await secure.handle(request))).outcome;
    };
    const bare = pair.replace('__Host-', '');
    expect(await get({ cookie: bare, ...site('same-origin') }, 'DELETE')).toBe('401 unauthenticated');
    expect(await get({ cookie: pair, origin: 'http://localhost' }, 'DELETE')).toBe('403 cross_site');
    expect(await get({ cookie: pair, origin: 'https://console.example' }, 'DELETE')).toBe('200');
  });

  test('a browser takes no passwords and credentials where the operator wants people', async () => {
    const ask = async (headers: Headers): Promise<string> => {
      const authorization = basicAuth(account.name, account.password);
      const request = new Request('http://localhost/v1/whoami', { headers: { authorization, ...headers } });
      return (await answerOf(await secure.handle(request))).outcome;
    };
    expect(await ask(site('same-origin'))).toBe('403 not_allowed');
    expect(await ask(site('none'))).toBe('403 not_allowed');
    expect(await ask({})).toBe('200');
    const created = await account.send('POST', '/credential', { body: { name: 'c', scopes: ['job:read'] } });
    const { secret } = created.as<{ secret: string }>();
    const request = new Request('http://localhost/v1/whoami', {
      headers: { authorization: `Bearer ${secret}`, ...site('same-origin') },
    });
    expect((await answerOf(await secure.handle(request))).outcome).toBe('403 not_allowed');
    // A capture endpoint takes its secret there: it is no sign-in.
    const made = await account.send('POST', '/capture', { query: { user: 'u' }, passphrase: PASSPHRASE });
    const { unique_id, secret: endpoint } = made.as<{ unique_id: string; secret: string }>();
    const capture = new Request(`http://localhost/v1/capture/${unique_id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${endpoint}`, ...site('same-origin') },
      body: '{"card_number":"4111111111111111"}',
    });
    expect((await answerOf(await secure.handle(capture))).outcome).toBe('200');
  });
});
