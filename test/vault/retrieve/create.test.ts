import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query, refusalOf } from '../../helpers/clients.ts';
import { createCapture, createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const START = Date.UTC(2026, 4, 6, 7, 8, 9, 250);
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

const now = START;
let vault: TestVault;
let account: AccountClient;
let other: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ now: () => now, authFailuresMax: 4 });
  [account, other] = [await vault.account(), await vault.account()];
  await Promise.all([account.key('u'), account.key('v'), other.key('u'), other.key('theirs')]);
});
afterAll(() => vault.close());

function create(query: Query, passphrase = PASSPHRASE, client = account): Promise<Answer> {
  return client.send('POST', '/retrieve', { query: { user: 'u', ...query }, passphrase });
}
function membersOf(answer: Answer): string[] {
  return Object.keys(answer.as<object>());
}
function placeOf({ outcome, field }: Answer): string {
  return `${outcome} ${field}`;
}

describe('a new retrieval endpoint', () => {
  test('has url, id, secret and end, and lives for 24 hours', async () => {
    const made = await create({});
    expect(made.outcome).toBe('200');
    expect(made.headers.get('cache-control')).toBe('no-store');
    expect(membersOf(made)).toEqual(['url', 'unique_id', 'secret', 'expires_at', 'user']);
    const { url, unique_id, secret, expires_at } = made.as<MadeEndpoint>();
    expect(unique_id).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(url).toBe(`/v1/retrieve/${unique_id}`);
    expect(secret).toMatch(/^vrs1_[A-Za-z0-9_-]{43}$/);
    expect(expires_at).toBe('2026-05-07T07:08:10Z');
    expect(made.json).toMatchObject({ user: 'u' });
  });

  test('shows token and reference only when it is locked to them', async () => {
    const common = ['url', 'unique_id', 'secret', 'expires_at', 'user'];
    const cases: readonly (readonly [Query, object, string[]])[] = [
      [{ token: 'some token' }, { token: 'some token' }, ['token']],
      [{ reference: 'Jürgen & co' }, { reference: 'Jürgen & co' }, ['reference']],
      [{ token: 't', reference: 'r' }, { token: 't', reference: 'r' }, ['token', 'reference']],
    ];
    for (const [query, shown, members] of cases) {
      const made = await create(query);
      expect(made.json).toMatchObject(shown);
      expect(membersOf(made)).toEqual([...common, ...members]);
    }
  });

  test('shows nothing else of what it was made with', async () => {
    const made = await create({ rules: 'a,b', mask_fields: 'x', return_card_metadata: true, ttl: '1h' });
    expect(membersOf(made)).toEqual(['url', 'unique_id', 'secret', 'expires_at', 'user']);
  });

  test('is made at the path with and without its trailing slash, and with the passphrase in the query', async () => {
    for (const path of ['/retrieve', '/retrieve/']) {
      const query = { user: 'u', passphrase: PASSPHRASE };
      expect((await account.send('POST', path, { query })).outcome).toBe('200');
    }
  });

  test('has a secret of its own that is kept nowhere', async () => {
    const secrets: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { unique_id, secret } = await createRetrieve(account, 'u');
      const raw = Buffer.from(secret.slice('vrs1_'.length), 'base64url');
      for (const value of Object.values(await vault.raw.hgetallBuffer(redisKeys.endpoint(unique_id)))) {
        expect(value.includes(secret) || value.includes(raw)).toBe(false);
      }
      secrets.push(secret);
    }
    expect(new Set(secrets).size).toBe(5);
    const kept = JSON.stringify([vault.lines, (await account.send('GET', '/retrieve')).json]);
    expect(secrets.filter((secret) => kept.includes(secret))).toEqual([]);
  });

  test('is made by its query alone: a body sets nothing', async () => {
    const body = {
      user: 'v',
      account: other.aid,
      gen: 0,
      kid: 'x',
      expiresAt: null,
      expires_at: null,
      secret: 'mine',
      token: 't',
      unmasked: true,
    };
    const query = { user: 'u', unique_id: 'by-query' };
    const made = await account.send('POST', '/retrieve', { query, passphrase: PASSPHRASE, body });
    expect(made.json).toMatchObject({ user: 'u', expires_at: '2026-05-07T07:08:10Z' });
    expect(membersOf(made)).not.toContain('token');
    expect(made.as<MadeEndpoint>().secret).toStartWith('vrs1_');
    expect((await retrieve(vault, made.as<MadeEndpoint>())).text).toBe('{"u":[]}');
  });

  test('takes rules that are not there yet, and no parameters that nobody knows', async () => {
    expect((await create({ rules: 'not-yet' })).outcome).toBe('200');
    const refused = await create({ rules: 'not-yet', refrence: 'x' });
    expect([refused.outcome, refused.field]).toEqual(['400 unknown_parameter', 'query.refrence']);
    expect(refused.text).toContain('did you mean `reference`?');
    expect((await create({ rules: '', mask_fields: '' })).outcome).toBe('200');
  });
});

describe('its time', () => {
  const valid: readonly (readonly [string, number | null])[] = [
    ['45m', 45 * 60 * SECOND],
    ['1h30m', 1.5 * HOUR],
    ['24h60m60s', 25 * HOUR + 60 * SECOND],
    ['1s', SECOND],
    ['PT10M', 600 * SECOND],
    ['P1D', 24 * HOUR],
    ['P1W', 7 * 24 * HOUR],
    ['0', null],
    ['0s', null],
    ['P0T', null],
    ['P0T0', null],
    ['PT0S', null],
    ['P0D', null],
  ];
  test.each(valid)('ttl=%s', async (ttl, ms) => {
    // The end is a whole second, and never before the time that was asked for.
    const end = ms === null ? null : new Date(START + ms + 750).toISOString().replace('.000Z', 'Z');
    expect((await create({ ttl })).json).toMatchObject({ expires_at: end });
  });

  test.each([
    '',
    ' ',
    '-1h',
    '5',
    '1.5h',
    '1h PT1M',
    'PT1H30',
    'P',
    'PT',
    '11y',
    'P11Y',
    '1m1h',
    'never',
    '1e3s',
  ])('ttl=%p is refused', async (ttl) => {
    expect(placeOf(await create({ ttl }))).toBe('400 invalid_request query.ttl');
  });
});

describe('its id', () => {
  test.each(['a', 'A.b_c@d:e-f', 'x'.repeat(128), '0', 'Iframe'])('may be %s', async (unique_id) => {
    expect((await create({ unique_id })).json).toMatchObject({ unique_id, url: `/v1/retrieve/${unique_id}` });
  });

  test.each(['', ' ', 'a b', 'a/b', 'ä', 'iframe', 'x'.repeat(129), 'a\u0000', '..%2f', '{a}'])(
    'may not be %p',
    async (unique_id) => {
      expect(placeOf(await create({ unique_id }))).toBe('400 invalid_request query.unique_id');
    },
  );

  test('is taken for everybody, by endpoints of both kinds, until that is deleted', async () => {
    await createRetrieve(account, 'u', { unique_id: 'taken-1' });
    await createCapture(other, 'u', { unique_id: 'taken-2' });
    for (const unique_id of ['taken-1', 'taken-2']) {
      for (const client of [account, other]) {
        const refused = await create({ unique_id }, PASSPHRASE, client);
        expect(placeOf(refused)).toBe('409 endpoint_exists query.unique_id');
        expect(refused.text).not.toContain(unique_id);
      }
    }
    await account.send('DELETE', '/retrieve/taken-1');
    await other.send('DELETE', '/retrieve/taken-2');
    expect((await create({ unique_id: 'taken-2' })).outcome).toBe('200');
    expect((await create({ unique_id: 'taken-1' }, PASSPHRASE, other)).outcome).toBe('200');
  });

  test('goes to one of many who ask for it at once', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => create({ unique_id: 'raced' })));
    expect(all.map(({ outcome }) => outcome).sort()).toEqual([
      '200',
      ...Array<string>(7).fill('409 endpoint_exists'),
    ]);
    const made = all.find(({ status }) => status === 200)?.as<MadeEndpoint>();
    expect(made && (await retrieve(vault, made)).text).toBe('{"u":[]}');
  });
});

describe('refused', () => {
  const bad: readonly (readonly [string, Query, string])[] = [
    ['no user', { user: undefined }, 'query.user'],
    ['a bad user', { user: 'a b' }, 'query.user'],
    ['an empty token', { token: '' }, 'query.token'],
    ['an empty reference', { reference: '' }, 'query.reference'],
    ['a long reference', { reference: 'r'.repeat(256) }, 'query.reference'],
    ['a hole in the rules', { rules: 'a,,b' }, 'query.rules'],
    ['a bad rule id', { rules: 'a,b c' }, 'query.rules'],
    ['too many rules', { rules: Array(65).fill('a').join() }, 'query.rules'],
    ['a hole in the fields', { mask_fields: 'a,' }, 'query.mask_fields'],
    ['too many fields', { mask_fields: Array(257).fill('a').join() }, 'query.mask_fields'],
    ['a flag that is none', { return_card_metadata: 'yes' }, 'query.return_card_metadata'],
  ];
  test.each(bad)('%s', async (_, query, field) => {
    expect(placeOf(await create(query))).toBe(`400 invalid_request ${field}`);
  });

  test.each(['user', 'ttl', 'token', 'reference', 'unique_id'])('%s twice', async (name) => {
    const path = `/retrieve?user=u&${name}=1h&${name}=1h`;
    const { outcome } = await account.send('POST', path, { passphrase: PASSPHRASE });
    expect(outcome).toBe('400 duplicate_parameter');
  });

  test('no passphrase, a wrong one, an unknown key, another account’s key', async () => {
    const none = await account.send('POST', '/retrieve', { query: { user: 'v' } });
    expect(placeOf(none)).toBe('400 invalid_request query.passphrase');
    expect((await create({ user: 'v' }, 'not the passphrase')).outcome).toBe('403 passphrase_wrong');
    const unknown = await create({ user: 'nobody' });
    const foreign = await create({ user: 'theirs' });
    expect(unknown.outcome).toBe('404 key_not_found');
    expect(refusalOf(foreign)).toEqual(refusalOf(unknown));
  });

  test('guesses count as they do elsewhere, and leave nothing behind', async () => {
    await account.key('guessed');
    const tries: string[] = [];
    for (let n = 0; n < 5; n++) {
      tries.push((await create({ user: 'guessed', unique_id: 'never' }, `guess number ${n}`)).outcome);
    }
    expect(tries).toEqual([...Array<string>(4).fill('403 passphrase_wrong'), '429 too_many_failures']);
    expect(await vault.raw.exists(redisKeys.endpoint('never'))).toBe(0);
    expect((await account.send('GET', '/retrieve', { query: { user: 'guessed' } })).text).toBe('[]');
  });

  test('without the account’s password, or with another account’s', async () => {
    const query = { user: 'u' };
    const anonymous = { query, passphrase: PASSPHRASE, headers: { authorization: '' } };
    expect((await account.send('POST', '/retrieve', anonymous)).outcome).toBe('401 unauthenticated');
    expect(
      (await other.send('POST', '/retrieve', { query: { user: 'v' }, passphrase: PASSPHRASE })).outcome,
    ).toBe('404 key_not_found');
  });
});

describe('counting', () => {
  test('a creation is a retrieve_create and a request, a refused one nothing', async () => {
    const before = await vault.usage(account);
    await create({});
    await create({ unique_id: 'counted' });
    await create({ unique_id: 'counted' });
    await create({ ttl: 'x' });
    await create({ user: 'nobody' });
    const after = await vault.usage(account);
    expect((after['retrieve_create'] ?? 0) - (before['retrieve_create'] ?? 0)).toBe(2);
    expect((after['api_requests'] ?? 0) - (before['api_requests'] ?? 0)).toBe(2);
    expect(after['retrieve'] ?? 0).toBe(before['retrieve'] ?? 0);
  });
});
