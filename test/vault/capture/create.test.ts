import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import {
  type AccountClient,
  type Answer,
  PASSPHRASE,
  type Query,
  type Sending,
} from '../../helpers/clients.ts';
import { capture, createCapture, createRetrieve, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const NOW = Date.parse('2026-03-01T12:00:00.250Z');
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const CARD = { card_number: '4111111111111111' };
const SECRET = /^vcs1_[A-Za-z0-9_-]{43}$/;

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ now: () => NOW });
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function create(query: Query = {}, sending: Sending = {}, client = account): Promise<Answer> {
  return client.send('POST', '/capture', {
    passphrase: PASSPHRASE,
    ...sending,
    query: { user: 'u', ...query },
  });
}

describe('what a creation answers', () => {
  test('is exactly url, unique_id, secret and expires_at', async () => {
    const answer = await create();
    expect(answer.outcome).toBe('200');
    const { unique_id, secret } = answer.as<MadeEndpoint>();
    expect(answer.json).toEqual({
      url: `/v1/capture/${unique_id}`,
      unique_id,
      secret,
      expires_at: '2026-03-02T12:00:01Z',
    });
    expect(unique_id).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(secret).toMatch(SECRET);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('has another id and another secret each time', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, () => createCapture(account, 'u')));
    expect(new Set(made.map(({ unique_id }) => unique_id)).size).toBe(30);
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(30);
  });

  test('has the id that was asked for', async () => {
    const answer = await create({ unique_id: 'web-shop' });
    expect(answer.json).toMatchObject({ url: '/v1/capture/web-shop', unique_id: 'web-shop' });
  });

  test.each(['application/json,text/html;q=0.9', 'text/html;q=0', '*/*', 'application/json', 'image/png'])(
    'is JSON, whatever %p accepts',
    async (accept) => {
      const answer = await create({}, { headers: { accept } });
      expect([answer.outcome, answer.headers.get('content-type')]).toEqual(['200', 'application/json']);
      expect(Object.keys(answer.as<object>()).sort()).toEqual(['expires_at', 'secret', 'unique_id', 'url']);
    },
  );

  test('never shows the secret again, and the vault does not keep it', async () => {
    const { secret } = await createCapture(account, 'u', { unique_id: 'kept-nowhere' });
    expect((await account.send('GET', '/capture')).text).not.toContain(secret);
    const bytes = Buffer.from(secret.slice('vcs1_'.length), 'base64url');
    for (const name of await vault.raw.keys('*')) {
      const kept = (await vault.raw.dumpBuffer(name)) ?? Buffer.alloc(0);
      expect(kept.includes(secret.slice('vcs1_'.length)) || kept.includes(bytes)).toBe(false);
    }
    expect(JSON.stringify(vault.lines)).not.toContain(secret);
  });
});

describe('ttl', () => {
  const lives: readonly (readonly [string | undefined, number])[] = [
    [undefined, DAY],
    ['45m', 45 * 60 * SECOND],
    ['24h60m60s', 25 * HOUR + 60 * SECOND],
    ['1h30m', 90 * 60 * SECOND],
    ['1s', SECOND],
    ['90s', 90 * SECOND],
    ['2d', 2 * DAY],
    ['1w', 7 * DAY],
    ['PT10M', 10 * 60 * SECOND],
    ['P1D', DAY],
    ['P1W', 7 * DAY],
    ['PT1H30M', 90 * 60 * SECOND],
    ['P1DT12H', 36 * HOUR],
    ['P10Y', 3_650 * DAY],
    ['87600h', 3_650 * DAY],
  ];
  test.each(lives)('%p is counted from now, to the second', async (ttl, ms) => {
    const { expires_at } = await createCapture(account, 'u', { ttl });
    expect(expires_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    // Never shorter than what was asked for, and by less than a second longer.
    expect(Date.parse(expires_at ?? '')).toBe(Math.ceil((NOW + ms) / SECOND) * SECOND);
  });

  test.each(['0', '0s', 'P0T', 'P0T0', 'PT0S', 'P0D', '0h0m0s'])('%s is for ever', async (ttl) => {
    expect((await createCapture(account, 'u', { ttl })).expires_at).toBeNull();
  });

  const refused = [
    '',
    ' ',
    '1',
    '3600',
    '00',
    '-1h',
    '+1h',
    '-0',
    'PT-1M',
    'P-1D',
    '-PT1H',
    '1.5h',
    'PT0.5S',
    '1h ',
    '1 h',
    '1m1h',
    'P1D1h',
    '1hPT5M',
    'P',
    'PT',
    'P1',
    'p1d',
    '1H',
    'never',
    'null',
    '0x10s',
    '1e3s',
    '3653d1s',
    'P11Y',
    '87673h',
    'P521W1D2W',
    '999999999999w',
    `${'9'.repeat(400)}s`,
    '1h\u0000',
    '٣h',
  ];
  test.each(refused)('%j is refused', async (ttl) => {
    const answer = await create({ ttl });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.ttl']);
  });

  test('given twice is refused', async () => {
    const answer = await account.send('POST', '/capture?user=u&ttl=1h&ttl=1h', { passphrase: PASSPHRASE });
    expect([answer.outcome, answer.field]).toEqual(['400 duplicate_parameter', 'query.ttl']);
  });
});

describe('a parameter that cannot be is named and its value is not', () => {
  const wrong: readonly (readonly [Query, string])[] = [
    ...['', 'iframe', 'a/b', 'a b', 'ü', '{e:x}', '*', 'a\u0000', 'a,b', 'x'.repeat(129), '../x', '%41'].map(
      (unique_id) => [{ unique_id }, 'query.unique_id'] as const,
    ),
    ...['', 'iframe', 'a b', 'x'.repeat(129)].map((user) => [{ user }, 'query.user'] as const),
    ...[',', 'a,,b', 'a b', 'iframe', 'x'.repeat(129), 'a,'].map(
      (rules) => [{ rules }, 'query.rules'] as const,
    ),
    ...[
      '',
      'FULL',
      'sha256',
      'partial_7_start',
      'partial_17_end',
      'partial_8_middle',
      'partial_middle_a_b',
    ].map((algorithm) => [{ algorithm }, 'query.algorithm'] as const),
    ...['', 'yes', 'TRUE', '2'].map(
      (flag) => [{ return_card_metadata: flag }, 'query.return_card_metadata'] as const,
    ),
  ];
  test.each(wrong)('%j', async (query, field) => {
    const answer = await create(query);
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', field]);
    expect(Object.keys(answer.as<object>()).sort()).toEqual(['code', 'error', 'field', 'request_id']);
  });

  test('the key must be named', async () => {
    const answer = await account.send('POST', '/capture', { passphrase: PASSPHRASE });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.user']);
  });

  test.each(['a', 'A.b_c@d:e-f', '0', '-', 'x'.repeat(128), 'IFRAME', 'iframes', '__proto__'])(
    'the id %p is taken, and works',
    async (unique_id) => {
      const answer = await create({ unique_id });
      expect(answer.json).toMatchObject({ unique_id, url: `/v1/capture/${unique_id}` });
      const made = answer.as<MadeEndpoint>();
      const captured = await capture(vault, made, { body: CARD });
      expect([unique_id, captured.outcome]).toEqual([unique_id, '200']);
    },
  );

  // As a part of a path they mean a folder: no client could send to such an endpoint, and nobody delete it.
  test.each(['.', '..'])('the id %p, which no URL can hold, is refused', async (unique_id) => {
    const answer = await create({ unique_id });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.unique_id']);
  });
});

describe('who may create', () => {
  test('whoever has the passphrase, in the header or in the query', async () => {
    const inQuery = { user: 'u', passphrase: PASSPHRASE };
    expect((await account.send('POST', '/capture', { query: inQuery })).outcome).toBe('200');
    expect((await create()).outcome).toBe('200');
    const both = await create({ passphrase: 'another passphrase' });
    expect(both.outcome).toBe('400 conflicting_parameters');
  });

  test('nobody else', async () => {
    expect((await create({ unique_id: 'guess' }, { passphrase: 'not the passphrase' })).outcome).toBe(
      '403 passphrase_wrong',
    );
    const without = await account.send('POST', '/capture', { query: { user: 'u', unique_id: 'guess' } });
    expect(without.status).toBe(400);
    expect((await create({ unique_id: 'guess' }, { headers: { authorization: '' } })).outcome).toBe(
      '401 unauthenticated',
    );
    // A refused creation has reserved nothing.
    expect((await create({ unique_id: 'guess' })).outcome).toBe('200');
  });

  test('not under a key that is not there, or is of another account', async () => {
    const stranger = await vault.account();
    await stranger.key('theirs');
    const unknown = await create({ user: 'nobody' });
    const foreign = await create({ user: 'theirs' });
    expect([unknown.outcome, unknown.field]).toEqual(['404 key_not_found', 'query.user']);
    expect([foreign.outcome, foreign.field]).toEqual(['404 key_not_found', 'query.user']);
    expect((await create({}, {}, stranger)).outcome).toBe('404 key_not_found');
  });

  test('not behind the back of a browser: another site may not ask with kept credentials', async () => {
    const headers = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
    expect((await create({}, { headers })).status).toBe(403);
  });
});

describe('an id in use is taken', () => {
  let stranger: AccountClient;
  beforeAll(async () => {
    stranger = await vault.account();
    await stranger.key('u');
  });

  const kinds = [
    ['a capture endpoint', createCapture],
    ['a retrieval endpoint', createRetrieve],
  ] as const;
  test.each(kinds)('by %s, for everybody and for both kinds', async (name, make) => {
    const unique_id = name.replaceAll(' ', '-');
    await make(account, 'u', { unique_id });
    for (const [client, path] of [
      [account, '/capture'],
      [account, '/retrieve'],
      [stranger, '/capture'],
      [stranger, '/retrieve'],
    ] as const) {
      const answer = await client.send('POST', path, {
        query: { user: 'u', unique_id },
        passphrase: PASSPHRASE,
      });
      expect([answer.outcome, answer.field]).toEqual(['409 endpoint_exists', 'query.unique_id']);
    }
  });

  test('and what has it goes on', async () => {
    const made = await createCapture(account, 'u', { unique_id: 'goes-on' });
    const before = await vault.raw.hgetallBuffer(redisKeys.endpoint('goes-on'));
    for (const client of [account, stranger]) {
      expect((await create({ unique_id: 'goes-on', ttl: '0' }, {}, client)).outcome).toBe(
        '409 endpoint_exists',
      );
    }
    expect(await vault.raw.hgetallBuffer(redisKeys.endpoint('goes-on'))).toEqual(before);
    expect((await capture(vault, made, { body: CARD })).outcome).toBe('200');
    expect((await stranger.send('GET', '/capture')).json).toEqual([]);
  });

  test('only in these letters', async () => {
    await createCapture(account, 'u', { unique_id: 'letters' });
    expect((await create({ unique_id: 'LETTERS' })).outcome).toBe('200');
  });
});

describe('what a creation is not asked', () => {
  const EXTRA = {
    kid: 'k',
    gen: 7,
    aid: 'a',
    account: 'somebody',
    stored_at: '2020-01-01T00:00:00Z',
    expires_at: '2999-01-01T00:00:00Z',
    expiresAt: 0,
    source: 'vault',
    kind: 'retrieve',
    secret: 'vcs1_mine',
    url: '/v1/retrieve/x',
    nonce: 'n',
    wrap: 'w',
    policy: '{}',
    mask_fields: 'a',
    maskFields: 'a',
    wantsCard: true,
    unmasked: true,
    paying: true,
    environment: 'production',
    constructor: 'x',
    iat: 1,
    salt: 's',
    commitment: 'c',
    id: 'other-id',
    number: '4242424242424242',
  };

  test('is refused in the query and in a body', async () => {
    const plain = await createCapture(account, 'u', { unique_id: 'plain' });
    for (const [name, value] of Object.entries(EXTRA)) {
      const refused = await create({ [name]: value, unique_id: 'extra' });
      expect([refused.outcome, refused.field]).toEqual(['400 unknown_parameter', `query.${name}`]);
    }
    for (const [name, value] of Object.entries({ ...EXTRA, user: 'nobody', ttl: '0', passphrase: 'x' })) {
      const refused = await create({ unique_id: 'extra' }, { body: { [name]: value } });
      expect([refused.outcome, refused.field]).toEqual(['400 unknown_parameter', `body.${name}`]);
    }
    const answer = await create({ unique_id: 'extra' });
    const made = answer.as<MadeEndpoint>();
    expect(answer.json).toEqual({
      url: '/v1/capture/extra',
      unique_id: 'extra',
      secret: made.secret,
      expires_at: plain.expires_at,
    });
    expect(made.secret).toMatch(SECRET);
    const listed = (await account.send('GET', '/capture')).as<readonly MadeEndpoint[]>();
    const [extra, bare] = ['extra', 'plain'].map((id) => listed.find(({ unique_id }) => unique_id === id));
    expect(extra).toEqual({ ...bare, url: '/v1/capture/extra', unique_id: 'extra' } as MadeEndpoint);
    const captured = await capture(vault, made, { body: CARD });
    expect(captured.json).toEqual({
      token: captured.as<{ token: string }>().token,
      user: 'u',
      reference: 'extra',
    });
  });

  test('an Idempotency-Key does not make it repeatable: a secret is never kept', async () => {
    const sending = { idempotencyKey: 'once' };
    const [one, two] = [await create({}, sending), await create({}, sending)];
    expect([one.outcome, two.outcome]).toEqual(['200', '200']);
    expect(one.as<MadeEndpoint>().secret).not.toBe(two.as<MadeEndpoint>().secret);
  });
});
