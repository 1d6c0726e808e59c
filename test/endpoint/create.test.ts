import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { dumpRedis } from '../helpers/canaries.ts';
import {
  type AccountClient,
  type Answer,
  PASSPHRASE,
  type Query,
  refusalOf,
  type Sending,
} from '../helpers/clients.ts';
import type { MadeEndpoint } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { KINDS, type Kind, make, OTHER_KIND, SECRET_PREFIX, use } from './kinds.ts';

const NOW = Date.parse('2026-03-01T12:00:00.250Z');
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const MEMBERS = {
  capture: ['url', 'unique_id', 'secret', 'expires_at'],
  retrieve: ['url', 'unique_id', 'secret', 'expires_at', 'user'],
} as const;

let vault: TestVault;
let account: AccountClient;
let stranger: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ now: () => NOW, authFailuresMax: 4 });
  [account, stranger] = [await vault.account(), await vault.account()];
  await Promise.all([account.key('u'), stranger.key('u'), stranger.key('theirs')]);
});
afterAll(() => vault.close());

function create(kind: Kind, query: Query = {}, sending: Sending = {}, client = account): Promise<Answer> {
  return client.send('POST', `/${kind}`, {
    passphrase: PASSPHRASE,
    ...sending,
    query: { user: 'u', ...query },
  });
}
function membersOf(answer: Answer): string[] {
  return Object.keys(answer.as<object>());
}
function placeOf({ outcome, field }: Answer): string {
  return `${outcome} ${field}`;
}

/** Lives, and how long they are; for ever, where null. */
const LIVES: readonly (readonly [string | undefined, number | null])[] = [
  [undefined, DAY],
  ['1h30m', 90 * 60 * SECOND],
  ['1s', SECOND],
  ['P1DT12H', 36 * HOUR],
  ['P10Y', 3_650 * DAY],
  ['0', null],
  ['PT0S', null],
];

const NO_LIVES = ['', '1', '-1h', '1.5h', '11y', '1h\u0000'];

/** Values that a parameter may not have. */
const WRONG: readonly (readonly [readonly Kind[], string, readonly (string | undefined)[]])[] = [
  [KINDS, 'ttl', NO_LIVES],
  [
    KINDS,
    'unique_id',
    // As a part of a path the dots mean a folder: no client could send to such an endpoint, and nobody delete it.
    ['', 'iframe', 'a/b', 'ü', '{e:x}', 'a\u0000', 'x'.repeat(129), '.', '..'],
  ],
  [KINDS, 'user', ['', 'iframe', 'a b', 'x'.repeat(129)]],
  [
    KINDS,
    'rules',
    [',', 'a,,b', 'a b', 'a,b c', 'iframe', 'x'.repeat(129), 'a,', Array(65).fill('a').join()],
  ],
  [KINDS, 'return_card_metadata', ['', 'yes', 'TRUE', '2']],
  [KINDS, 'reference', ['', 'r'.repeat(256)]],
  [['capture'], 'algorithm', ['', 'FULL', 'partial_7_start', 'partial_middle_a_b']],
  [['retrieve'], 'token', ['']],
  [['retrieve'], 'mask_fields', ['a,', Array(257).fill('a').join()]],
];

/** Names that no creation knows. */
const EXTRA = {
  ...{ kid: 'k', account: 'somebody', expires_at: '2999-01-01T00:00:00Z', secret: 'mine', policy: '{}' },
  ...{ constructor: 'x', number: '4242424242424242' },
};

describe.each(KINDS)('a new %s endpoint', (kind) => {
  test('has an address, a secret and an end, and shows nothing else of what it was made with', async () => {
    for (const path of [`/${kind}`, `/${kind}/`]) {
      const query = { user: 'u', rules: 'not,yet', return_card_metadata: true };
      const answer = await account.send('POST', path, { query, passphrase: PASSPHRASE });
      expect(answer.outcome).toBe('200');
      expect(membersOf(answer)).toEqual([...MEMBERS[kind]]);
      const { url, unique_id, secret, expires_at } = answer.as<MadeEndpoint>();
      expect(unique_id).toMatch(/^[A-Za-z0-9_-]{22}$/);
      expect(url).toBe(`/v1/${kind}/${unique_id}`);
      expect(secret).toMatch(new RegExp(`^${SECRET_PREFIX[kind]}[A-Za-z0-9_-]{43}$`));
      expect(expires_at).toBe('2026-03-02T12:00:01Z');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('set-cookie')).toBeNull();
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test('has another id and another secret each time, and the secret is shown and kept nowhere', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, () => make(kind, account)));
    expect(new Set(made.map(({ unique_id }) => unique_id)).size).toBe(30);
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(30);
    const listed = (await account.send('GET', `/${kind}`)).text;
    const kept = [await dumpRedis(vault.raw), listed, JSON.stringify(vault.lines)].join('\n');
    for (const { secret, unique_id } of made) {
      const characters = secret.slice(SECRET_PREFIX[kind].length);
      const bytes = Buffer.from(characters, 'base64url').toString('latin1');
      expect(listed).toContain(unique_id);
      expect([kept.includes(characters), kept.includes(bytes)]).toEqual([false, false]);
    }
  });

  test('lives for the time that was asked for, to the second', async () => {
    for (const [ttl, ms] of LIVES) {
      const { expires_at } = await make(kind, account, 'u', { ttl });
      // Never shorter than what was asked for, and by less than a second longer.
      const end = ms === null ? null : Math.ceil((NOW + ms) / SECOND) * SECOND;
      expect([ttl, expires_at]).toEqual([
        ttl,
        end === null ? null : new Date(end).toISOString().replace('.000Z', 'Z'),
      ]);
    }
  });

  test('has the id that was asked for, and works under it', async () => {
    for (const name of ['a', 'A.b_c@d:e-f', '0', '-', 'x'.repeat(121), 'IFRAME', 'iframes', '__proto__']) {
      const unique_id = kind === 'capture' ? name : `${name}-second`;
      const answer = await create(kind, { unique_id });
      expect(answer.json).toMatchObject({ unique_id, url: `/v1/${kind}/${unique_id}` });
      expect([unique_id, (await use(vault, answer.as<MadeEndpoint>())).outcome]).toEqual([unique_id, '200']);
    }
  });

  test('is refused with a value that cannot be, and the value is not shown', async () => {
    for (const [kinds, name, values] of WRONG) {
      for (const value of kinds.includes(kind) ? values : []) {
        const answer = await create(kind, { [name]: value });
        expect([value, placeOf(answer)]).toEqual([value, `400 invalid_request query.${name}`]);
        expect(membersOf(answer).sort()).toEqual(['code', 'error', 'field', 'request_id']);
      }
    }
  });

  test('is refused with a parameter that is there twice, or that nobody knows', async () => {
    for (const name of ['user', 'ttl', 'reference', 'unique_id', 'token']) {
      const path = `/${kind}?user=u&${name}=1h&${name}=1h`;
      const answer = await account.send('POST', path, { passphrase: PASSPHRASE });
      expect(placeOf(answer)).toBe(`400 duplicate_parameter query.${name}`);
    }
    for (const [name, value] of Object.entries(EXTRA)) {
      const answer = await create(kind, { [name]: value, unique_id: `extra-${kind}` });
      expect(placeOf(answer)).toBe(`400 unknown_parameter query.${name}`);
    }
    expect((await create(kind, { refrence: 'x' })).text).toContain('did you mean `reference`?');
    expect((await create(kind, { unique_id: `extra-${kind}` })).outcome).toBe('200');
  });

  test('is made by whoever has account and passphrase, in the header or in the query', async () => {
    const inQuery = { user: 'u', passphrase: PASSPHRASE };
    expect((await account.send('POST', `/${kind}`, { query: inQuery })).outcome).toBe('200');
    const both = await create(kind, { passphrase: 'another passphrase' });
    expect(both.outcome).toBe('400 conflicting_parameters');
  });

  test('is made by nobody else, and a refused creation reserves nothing', async () => {
    const unique_id = `guess-${kind}`;
    const refused = async (query: Query, sending: Sending, client = account): Promise<string> =>
      placeOf(await create(kind, { unique_id, ...query }, sending, client));
    expect(await refused({}, { headers: { authorization: '' } })).toStartWith('401 unauthenticated');
    // Not behind the back of a browser: another site may not ask with kept credentials.
    const crossSite = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
    expect(await refused({}, { headers: crossSite })).toStartWith('403 ');
    const none = await account.send('POST', `/${kind}`, { query: { user: 'u', unique_id } });
    expect(placeOf(none)).toBe('400 invalid_request query.passphrase');
    expect(await refused({ user: 'nobody' }, {})).toBe('404 key_not_found query.user');
    expect(refusalOf(await create(kind, { user: 'theirs' }))).toEqual(
      refusalOf(await create(kind, { user: 'nobody' })),
    );
    await account.key(`guessed-${kind}`);
    const tries: string[] = [];
    for (let n = 0; n < 5; n++) {
      const guess = { passphrase: `guess number ${n}` };
      tries.push((await create(kind, { user: `guessed-${kind}`, unique_id }, guess)).outcome);
    }
    expect(tries).toEqual([...Array<string>(4).fill('403 passphrase_wrong'), '429 too_many_failures']);
    expect(await vault.raw.exists(redisKeys.endpoint(unique_id))).toBe(0);
    expect((await account.send('GET', `/${kind}`, { query: { user: `guessed-${kind}` } })).text).toBe('[]');
    expect((await create(kind, { unique_id })).outcome).toBe('200');
  });

  test('keeps its id from everybody and from both kinds, and goes on, until it is deleted', async () => {
    const unique_id = `taken-${kind}`;
    const made = await make(kind, account, 'u', { unique_id });
    const before = await vault.raw.hgetallBuffer(redisKeys.endpoint(unique_id));
    for (const client of [account, stranger]) {
      for (const each of KINDS) {
        const refused = await create(each, { unique_id, ttl: '0' }, {}, client);
        expect(placeOf(refused)).toBe('409 endpoint_exists query.unique_id');
        expect(refused.text).not.toContain(unique_id);
      }
    }
    expect(await vault.raw.hgetallBuffer(redisKeys.endpoint(unique_id))).toEqual(before);
    expect((await use(vault, made)).outcome).toBe('200');
    expect((await stranger.send('GET', `/${kind}`)).json).toEqual([]);
    // The id is taken in these letters only.
    expect((await create(kind, { unique_id: unique_id.toUpperCase() })).outcome).toBe('200');
    await account.send('DELETE', `/${kind}/${unique_id}`);
    expect((await create(OTHER_KIND[kind], { unique_id }, {}, stranger)).outcome).toBe('200');
    await stranger.send('DELETE', `/${kind}/${unique_id}`);
  });

  test('is not repeated with an Idempotency-Key: a secret is never kept', async () => {
    const sending = { idempotencyKey: 'once' };
    const [one, two] = [await create(kind, {}, sending), await create(kind, {}, sending)];
    expect([one.outcome, two.outcome]).toEqual(['200', '200']);
    expect(one.as<MadeEndpoint>().secret).not.toBe(two.as<MadeEndpoint>().secret);
  });

  test('counts as one creation and one request, a refused one as nothing', async () => {
    const before = await vault.usage(account);
    await create(kind);
    await create(kind, { unique_id: `counted-${kind}` });
    const refused = [
      await create(kind, { unique_id: `counted-${kind}` }),
      await create(kind, { ttl: 'x' }),
      await create(kind, { user: 'nobody' }),
      await create(kind, {}, { passphrase: 'not the passphrase' }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([409, 400, 404, 403]);
    const after = await vault.usage(account);
    const grown = Object.entries(after).map(([name, n]) => [name, n - (before[name] ?? 0)] as const);
    expect(Object.fromEntries(grown.filter(([, n]) => n > 0))).toEqual({
      [`${kind}_create`]: 2,
      api_requests: 2,
    });
  });
});

describe('a body', () => {
  const BODY = { ...EXTRA, user: 'nobody', ttl: '0', passphrase: 'x', token: 't', mask_fields: 'a' };

  test('may have no member that a capture endpoint does not know', async () => {
    for (const [name, value] of Object.entries(BODY)) {
      const refused = await create('capture', { unique_id: 'bodied' }, { body: { [name]: value } });
      expect(placeOf(refused)).toBe(`400 unknown_parameter body.${name}`);
    }
    expect((await create('capture', { unique_id: 'bodied' })).outcome).toBe('200');
  });

  test('sets nothing of a retrieval endpoint', async () => {
    const made = await create('retrieve', { unique_id: 'by-query' }, { body: BODY });
    expect(made.json).toMatchObject({ user: 'u', expires_at: '2026-03-02T12:00:01Z' });
    expect(membersOf(made)).toEqual([...MEMBERS.retrieve]);
    expect(made.as<MadeEndpoint>().secret).toStartWith('vrs1_');
    expect((await use(vault, made.as<MadeEndpoint>())).json).toHaveProperty('u');
  });
});

test('token and reference are shown of a retrieval endpoint that is locked to them', async () => {
  for (const lock of [
    { token: 'some token' },
    { reference: 'Jürgen & co' },
    { token: 't', reference: 'r' },
  ]) {
    const made = await create('retrieve', { ...lock, mask_fields: 'x' });
    expect(made.json).toMatchObject(lock);
    expect(membersOf(made)).toEqual([...MEMBERS.retrieve, ...Object.keys(lock)]);
  }
  expect((await create('retrieve', { rules: '', mask_fields: '' })).outcome).toBe('200');
});
