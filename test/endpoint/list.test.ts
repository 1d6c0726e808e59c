/** The lists of endpoints of both kinds, their deletion, and how long an id is taken. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query, refusalOf } from '../helpers/clients.ts';
import type { MadeEndpoint } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { CARD, changePassphrase, GONE, KINDS, type Kind, make, OTHER_KIND, REFUSED, use } from './kinds.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const TOMORROW = '2026-03-02T12:00:00Z';

interface Listed {
  readonly unique_id: string;
  readonly user: string;
  readonly expired: boolean;
}

let clock = START;
let vault: TestVault;
let account: AccountClient;
let stranger: AccountClient;
let ids = 0;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock });
});
beforeEach(async () => {
  clock = START;
  [account, stranger] = [await vault.account(), await vault.account()];
  await Promise.all([account.key('u'), stranger.key('u')]);
});
afterAll(() => vault.close());

async function list(kind: Kind, query: Query = {}, client = account): Promise<readonly Listed[]> {
  const answer = await client.send('GET', `/${kind}`, { query });
  expect(answer.outcome).toBe('200');
  return answer.as<readonly Listed[]>();
}
async function idsIn(...given: Parameters<typeof list>): Promise<readonly string[]> {
  return (await list(...given)).map(({ unique_id }) => unique_id);
}
function remove(unique_id: string, path: Kind = 'capture', client = account): Promise<Answer> {
  return client.send('DELETE', `/${path}/${unique_id}`);
}
function create(kind: Kind, unique_id: string, client = account): Promise<Answer> {
  return client.send('POST', `/${kind}`, { query: { user: 'u', unique_id }, passphrase: PASSPHRASE });
}
/** In ascending order. */
function freshId(): string {
  ids += 1;
  return `endpoint-${String(ids).padStart(4, '0')}`;
}

describe.each(KINDS)('the list of %s endpoints', (kind) => {
  test('is empty where there is none, has nothing of the other kind, and needs the account', async () => {
    expect((await account.send('GET', `/${kind}/`)).text).toBe('[]');
    const { secret } = await make(OTHER_KIND[kind], account);
    expect(await list(kind)).toEqual([]);
    expect(await list(kind, { user: 'u' })).toEqual([]);
    const headers = {
      authorization: '',
      'x-vault-capture-secret': secret,
      'x-vault-retrieve-secret': secret,
    };
    expect((await account.send('GET', `/${kind}`, { headers })).outcome).toBe('401 unauthenticated');
  });

  test('is in ascending order of user, then of id, and holds no part of a secret', async () => {
    await Promise.all([account.key('a'), account.key('Z')]);
    const tag = `${freshId()}.`;
    const places = ['u b', 'a z', 'u B', 'Z c', 'u 10', 'u 9', 'a -'].map((place) => place.split(' '));
    const secrets: string[] = [];
    for (const [user = '', id = ''] of places) {
      secrets.push((await make(kind, account, user, { unique_id: `${tag}${id}` })).secret);
    }
    const shown = (await list(kind)).map(({ user, unique_id }) => `${user} ${unique_id.slice(tag.length)}`);
    expect(shown).toEqual(['Z c', 'a -', 'a z', 'u 10', 'u 9', 'u B', 'u b']);
    const { text } = await account.send('GET', `/${kind}`);
    expect(secrets.filter((secret) => text.includes(secret.slice(5, 20)))).toEqual([]);
  });

  test('can be of one key', async () => {
    await account.key('other');
    const [one, two] = [freshId(), freshId()];
    await make(kind, account, 'u', { unique_id: one });
    await make(kind, account, 'other', { unique_id: two });
    expect([await idsIn(kind, { user: 'u' }), await idsIn(kind, { user: 'other' })]).toEqual([[one], [two]]);
    expect(await idsIn(kind)).toEqual([two, one]);
    const refused = async (path: string): Promise<unknown> => {
      const { outcome, field } = await account.send('GET', `/${kind}${path}`);
      return [outcome, field];
    };
    expect(await refused('?user=nobody')).toEqual(['404 key_not_found', 'query.user']);
    expect(await refused('?user=a%20b')).toEqual(['400 invalid_request', 'query.user']);
    expect(await refused('?user=u&user=u')).toEqual(['400 duplicate_parameter', 'query.user']);
  });

  test('has nothing of others, nor of a key of the same name that is gone', async () => {
    await make(kind, account);
    expect([await list(kind, {}, stranger), await list(kind, { user: 'u' }, stranger)]).toEqual([[], []]);
    expect((await account.send('DELETE', '/key', { query: { user: 'u' } })).outcome).toBe('200');
    await account.key('u');
    expect(await list(kind)).toEqual([]);
  });

  test('holds hundreds', async () => {
    const wanted = Array.from({ length: 300 }, (_, n) => `many-${String(n).padStart(3, '0')}`);
    await Promise.all(wanted.map((unique_id) => make(kind, account, 'u', { unique_id })));
    expect(await idsIn(kind)).toEqual(wanted);
    await Promise.all(wanted.map((id) => remove(id)));
    expect(await list(kind)).toEqual([]);
  });

  test('says what has expired, from the exact millisecond, and what a passphrase change has stopped', async () => {
    const [hour, ever] = [freshId(), freshId()];
    await make(kind, account, 'u', { unique_id: hour, ttl: '1h' });
    await make(kind, account, 'u', { unique_id: ever, ttl: '0' });
    const flags = async () => (await list(kind)).map(({ expired }) => expired);
    clock = START + HOUR - 1;
    expect(await flags()).toEqual([false, false]);
    clock = START + HOUR;
    expect(await flags()).toEqual([true, false]);
    expect((await changePassphrase(account, 'u')).outcome).toBe('200');
    expect(await flags()).toEqual([true, true]);
  });

  test('and a deletion count as one each, refused ones as nothing', async () => {
    const { unique_id } = await make(kind, account);
    const before = await vault.usage(account);
    await list(kind);
    await remove(unique_id, kind);
    expect((await account.send('GET', `/${kind}`, { query: { user: 'nobody' } })).status).toBe(404);
    expect((await remove('never-was')).status).toBe(404);
    const requests = (before['api_requests'] ?? 0) + 2;
    expect(await vault.usage(account)).toEqual({ ...before, list: 1, delete: 1, api_requests: requests });
  });
});

describe('each endpoint in a list', () => {
  test('has exactly url, unique_id, expires_at, user and expired', async () => {
    const [day, ever] = [freshId(), freshId()];
    const query = { unique_id: day, rules: 'a,b', algorithm: 'luhn', return_card_metadata: true };
    await make('capture', account, 'u', query);
    await make('capture', account, 'u', { unique_id: ever, ttl: '0' });
    const common = { user: 'u', expired: false };
    expect(await list('capture')).toEqual([
      { url: `/v1/capture/${day}`, unique_id: day, expires_at: TOMORROW, ...common } as Listed,
      { url: `/v1/capture/${ever}`, unique_id: ever, expires_at: null, ...common } as Listed,
    ]);
  });

  test('has its locks besides, if it is for retrieval', async () => {
    const [both, one] = [freshId(), freshId()];
    await make('retrieve', account, 'u', { unique_id: both, token: 't-1', reference: 'r-1' });
    await make('retrieve', account, 'u', {
      unique_id: one,
      reference: 'r-2',
      rules: 'some',
      mask_fields: 'x',
    });
    const common = { expires_at: TOMORROW, user: 'u', expired: false };
    expect(await list('retrieve')).toEqual([
      { url: `/v1/retrieve/${both}`, unique_id: both, ...common, token: 't-1', reference: 'r-1' } as Listed,
      { url: `/v1/retrieve/${one}`, unique_id: one, ...common, reference: 'r-2' } as Listed,
    ]);
  });
});

const PATHS = KINDS.flatMap((kind) => KINDS.map((path) => [kind, path] as const));

describe.each(PATHS)('a deletion of a %s endpoint through /%s', (kind, path) => {
  test('ends it at once, leaves nothing behind, and frees its id for anybody and for both kinds', async () => {
    const id = freshId();
    const kid = await vault.kidOf(account, 'u');
    const made = await make(kind, account, 'u', { unique_id: id, ttl: '0' });
    const answer = await use(vault, made);
    expect(answer.outcome).toBe('200');
    expect((await remove(id, path)).json).toEqual({ message: 'The endpoint was deleted.' });
    expect((await use(vault, made)).outcome).toBe(REFUSED);
    expect(await idsIn(kind)).toEqual([]);
    expect((await remove(id, path)).outcome).toBe('404 endpoint_not_found');
    const left = [
      ...[redisKeys.endpoint(id), redisKeys.endpointDirectory(account.aid)],
      redisKeys.liveEndpoints(account.aid, kid),
    ];
    expect(await vault.raw.exists(...left)).toBe(0);
    if (kind === 'capture') {
      // What it stored stays.
      const { token } = answer.as<{ token: string }>();
      expect(await account.open('u', token, { reference: id })).toBe(JSON.stringify(CARD));
    }
    const anew = (await create(kind, id, stranger)).as<MadeEndpoint>();
    expect((await use(vault, { ...anew, secret: made.secret })).outcome).toBe(REFUSED);
    expect((await use(vault, anew)).outcome).toBe('200');
    await remove(id, path, stranger);
    expect((await create(OTHER_KIND[kind], id)).outcome).toBe('200');
  });

  test('that is another account’s is 404, and it lives on', async () => {
    const id = freshId();
    const made = await make(kind, account, 'u', { unique_id: id });
    const [foreign, unknown] = [await remove(id, path, stranger), await remove('never-was', path, stranger)];
    expect(foreign.outcome).toBe('404 endpoint_not_found');
    expect(refusalOf(foreign)).toEqual(refusalOf(unknown));
    expect((await use(vault, made)).outcome).toBe('200');
    expect(await idsIn(kind)).toEqual([id]);
  });

  test('that is expired or stopped is one as well', async () => {
    const [expired, stopped] = [freshId(), freshId()];
    await make(kind, account, 'u', { unique_id: expired, ttl: '1h' });
    await make(kind, account, 'u', { unique_id: stopped, ttl: '0' });
    clock += 2 * HOUR;
    expect((await changePassphrase(account, 'u', PASSPHRASE)).outcome).toBe('200');
    for (const id of [expired, stopped]) {
      expect((await remove(id, path)).outcome).toBe('200');
      expect((await create(kind, id)).outcome).toBe('200');
    }
  });
});

test.each(KINDS)(
  'the id of an expired %s endpoint is taken until the sweep, a day after its end',
  async (kind) => {
    const id = freshId();
    const made = await make(kind, account, 'u', { unique_id: id, ttl: '1h' });
    for (const at of [START + HOUR, START + HOUR + DAY - 1]) {
      clock = at;
      await vault.opened.sweep();
      for (const each of KINDS) {
        expect((await create(each, id)).outcome).toBe('409 endpoint_exists');
      }
      expect((await use(vault, made)).outcome).toBe(GONE);
      expect(await idsIn(kind)).toEqual([id]);
    }
    clock = START + HOUR + DAY;
    expect((await create(kind, id)).outcome).toBe('409 endpoint_exists');
    await vault.opened.sweep();
    expect((await use(vault, made)).outcome).toBe(REFUSED);
    expect(await idsIn(kind)).toEqual([]);
    expect((await create(kind, id, stranger)).outcome).toBe('200');
  },
);
