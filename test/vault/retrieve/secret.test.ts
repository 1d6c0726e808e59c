import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../../server/http/routes/table.ts';
import { type AccountClient, basicAuth, PASSPHRASE, refusalOf } from '../../helpers/clients.ts';
import {
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  retrieve,
  type Use,
  useEndpoint,
} from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const HEADER = 'x-vault-retrieve-secret';
const REFUSED = '403 endpoint_refused';

let now = Date.UTC(2026, 0, 1);
let vault: TestVault;
let account: AccountClient;
let open: MadeEndpoint;
let captures: MadeEndpoint;
let token: string;

beforeAll(async () => {
  vault = await openTestVault({
    now: () => now,
    authFailuresMax: 3,
    trustedProxies: ['127.0.0.0/8'],
  });
  account = await vault.account();
  await account.key('u');
  token = await account.store('u', { number: '4242424242424242' });
  open = await createRetrieve(account, 'u', { unique_id: 'open' });
  captures = await createCapture(account, 'u', { unique_id: 'captures' });
});
afterAll(() => vault.close());

/** A different character of the same alphabet. */
function other(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
}

describe('without the right secret', () => {
  test('every request is refused in the same words, whatever is wrong', async () => {
    const twin = await createRetrieve(account, 'u');
    const stranger = await vault.account();
    await stranger.key('u');
    const theirs = await createRetrieve(stranger, 'u');
    const { url, secret } = open;
    const cases: readonly (readonly [string, string, Use])[] = [
      ['no secret', url, {}],
      ['an empty one', url, { secret: '' }],
      ['the first character changed', url, { secret: other(secret, 5) }],
      ['a middle character changed', url, { secret: other(secret, 25) }],
      ['the last character changed', url, { secret: other(secret, 47) }],
      ['the prefix changed', url, { secret: secret.replace('vrs1', 'vrs2') }],
      ['another prefix', url, { secret: secret.replace('vrs1', 'vcs1') }],
      ['no prefix', url, { secret: secret.slice(5) }],
      ['in other letters', url, { secret: secret.toUpperCase() }],
      ['too short', url, { secret: secret.slice(0, -1) }],
      ['too long', url, { secret: `${secret}A` }],
      ['padded', url, { secret: `${secret}=` }],
      ['very long', url, { secret: 'v'.repeat(5_000) }],
      ['not ASCII', url, { secret: 'vrs1_ü' }],
      ['twice', url, { secret: `${secret}, ${secret}` }],
      ['another endpoint’s', url, { secret: twin.secret }],
      ['another account’s endpoint’s', url, { secret: theirs.secret }],
      ['a capture endpoint’s', url, { secret: captures.secret }],
      ['in the other header', url, { headers: { 'x-vault-capture-secret': secret } }],
      ['as a passphrase', url, { headers: { 'x-vault-passphrase': secret } }],
      ['in the query', url, { query: { secret, 'X-Vault-Retrieve-Secret': secret } }],
      ['as a bearer token', url, { headers: { authorization: `Bearer ${secret}` } }],
      ['the account instead', url, { headers: { authorization: basicAuth(account.name, account.password) } }],
      ['the passphrase instead', url, { secret: encodeURIComponent(PASSPHRASE) }],
      ['an unknown endpoint', '/v1/retrieve/nothing', { secret }],
      ['an id that cannot be', '/v1/retrieve/a%20b', { secret }],
      ['an id that is no UTF-8', '/v1/retrieve/%ff', { secret }],
      ['an id of another case', '/v1/retrieve/OPEN', { secret }],
      ['a longer id', '/v1/retrieve/open1', { secret }],
      ['a very long id', `/v1/retrieve/${'x'.repeat(1_000)}`, { secret }],
      ['a capture endpoint with its own secret', '/v1/retrieve/captures', { secret: captures.secret }],
      ['a capture endpoint with this one', '/v1/retrieve/captures', { secret }],
    ];
    const first = await useEndpoint(vault, 'GET', url);
    expect(first.outcome).toBe(REFUSED);
    const wrong: string[] = [];
    for (const [name, path, use] of cases) {
      const answer = await useEndpoint(vault, 'GET', path, use);
      expect(Object.keys(answer.as<object>())).toEqual(['error', 'code', 'request_id']);
      if (!Bun.deepEquals(refusalOf(answer), refusalOf(first))) {
        wrong.push(`${name}: ${answer.outcome}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('it stays so after a stop, an expiry and a deletion: only the right one hears of these', async () => {
    const short = await createRetrieve(account, 'u', { ttl: '1s' });
    const asked = { secret: open.secret };
    now += 1_000;
    expect((await retrieve(vault, short, asked)).outcome).toBe(REFUSED);
    expect((await retrieve(vault, short)).outcome).toBe('410 endpoint_gone');
    await account.send('DELETE', `/retrieve/${short.unique_id}`);
    expect((await retrieve(vault, short)).outcome).toBe(REFUSED);
    expect((await retrieve(vault, short, asked)).outcome).toBe(REFUSED);
  });

  test('guessing locks nobody out, and costs the account nothing', async () => {
    const before = await vault.usage(account);
    const guesses = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        retrieve(vault, open, { secret: other(open.secret, 5 + (n % 43)) }),
      ),
    );
    expect(guesses.every(({ outcome }) => outcome === REFUSED)).toBe(true);
    expect((await retrieve(vault, open, { query: { token } })).outcome).toBe('200');
    expect((await vault.usage(account))['api_requests']).toBe((before['api_requests'] ?? 0) + 1);
  });

  test('a right secret does not make a wrong one right, however often it was used', async () => {
    for (let n = 0; n < 3; n++) {
      expect((await retrieve(vault, open)).outcome).toBe('200');
      expect((await retrieve(vault, open, { secret: other(open.secret, 30) })).outcome).toBe(REFUSED);
    }
    const second = await vault.secondServer();
    expect((await retrieve(second, open, { secret: other(open.secret, 30) })).outcome).toBe(REFUSED);
    expect((await retrieve(second, open)).outcome).toBe('200');
    await second.close();
  });

  test('an endpoint made anew under the same id knows only its own', async () => {
    const first = await createRetrieve(account, 'u', { unique_id: 'anew' });
    expect((await retrieve(vault, first)).outcome).toBe('200');
    await account.send('DELETE', '/retrieve/anew');
    const second = await createRetrieve(account, 'u', { unique_id: 'anew' });
    expect((await retrieve(vault, first)).outcome).toBe(REFUSED);
    expect((await retrieve(vault, second)).outcome).toBe('200');
    await account.send('DELETE', '/retrieve/anew');
    const third = await createCapture(account, 'u', { unique_id: 'anew' });
    expect((await retrieve(vault, { url: '/v1/retrieve/anew', secret: third.secret })).outcome).toBe(REFUSED);
    expect((await retrieve(vault, second)).outcome).toBe(REFUSED);
  });
});

describe('with the right secret', () => {
  test('refusals name no value, and no error but the one shape', async () => {
    const canary = 'canary-of-a-query-81';
    for (const query of [
      { token: canary },
      { limit: canary },
      { decrypt_all: canary },
      { next_token: canary },
      { reference: canary.repeat(20) },
    ]) {
      const { status, text, json } = await retrieve(vault, open, { query });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toContain('canary');
      expect(Object.keys(Object(json)).filter((name) => name !== 'field')).toEqual([
        'error',
        'code',
        'request_id',
      ]);
    }
    expect(JSON.stringify(vault.lines)).not.toContain('canary');
  });

  test('nothing but reading is possible, by any route', async () => {
    const before = [(await account.sdk.vault.list({ limit: -1 })).data, await account.open('u', token)];
    const wrong: string[] = [];
    let addresses = 0;
    // Forms are open to everybody, and hold nothing of an endpoint.
    for (const { method, path, auth } of ROUTES.filter((route) => route.auth !== 'public')) {
      const target = path.replace('{unique_id}', 'open');
      if (method === 'GET' && target === open.url) {
        continue;
      }
      const expected = auth === 'basic' ? '401 unauthenticated' : REFUSED;
      for (const given of [
        { 'x-vault-capture-secret': open.secret },
        { 'x-vault-passphrase': encodeURIComponent(PASSPHRASE) },
        { authorization: basicAuth(account.name, open.secret) },
      ]) {
        // A wrong password counts against the address that it comes from.
        addresses += 1;
        const headers = { [HEADER]: open.secret, 'x-forwarded-for': `198.51.100.${addresses}`, ...given };
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: { number: '1', user: 'u' } };
        const query = { user: 'u', token, id: 'x', passphrase: PASSPHRASE };
        const { outcome } = await useEndpoint(vault, method, target, { headers, query, ...body });
        if (outcome !== expected) {
          wrong.push(`${method} ${path}: ${outcome}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect([(await account.sdk.vault.list({ limit: -1 })).data, await account.open('u', token)]).toEqual(
      before,
    );
  });

  test.each([
    ['POST', '405 method_not_allowed'],
    ['PUT', '405 method_not_allowed'],
    ['PATCH', '405 method_not_allowed'],
    ['DELETE', '401 unauthenticated'],
  ])('%s of its own path is no way in', async (method, outcome) => {
    const sending = { secret: open.secret, ...(method === 'DELETE' ? {} : { body: { number: '1' } }) };
    const answer = await useEndpoint(vault, method, open.url, sending);
    expect(answer.outcome).toBe(outcome);
    expect(answer.headers.get('allow')).toBe(outcome.startsWith('405') ? 'GET, DELETE, HEAD, OPTIONS' : null);
  });

  test('a capture endpoint takes it neither, and reads with its own secret no more', async () => {
    const body = { number: '1' };
    for (const secret of [open.secret, open.secret.replace('vrs1', 'vcs1')]) {
      expect((await useEndpoint(vault, 'POST', captures.url, { secret, body })).outcome).toBe(REFUSED);
    }
    const both = { [HEADER]: captures.secret, 'x-vault-capture-secret': captures.secret };
    expect((await useEndpoint(vault, 'GET', open.url, { headers: both })).outcome).toBe(REFUSED);
    expect(
      (await useEndpoint(vault, 'POST', '/v1/capture/open', { secret: captures.secret, body })).outcome,
    ).toBe(REFUSED);
    const state = await useEndpoint(vault, 'GET', captures.url, { secret: captures.secret });
    expect(Object.keys(Object(state.json)).sort()).toEqual(['expires_at', 'unique_id']);
  });

  test('the path may end in a slash, and holds the id percent-encoded', async () => {
    for (const path of ['/v1/retrieve/open/', '/v1/retrieve/%6fpen', '/v1/retrieve/open?']) {
      expect((await useEndpoint(vault, 'GET', path, { secret: open.secret })).outcome).toBe('200');
    }
  });
});
