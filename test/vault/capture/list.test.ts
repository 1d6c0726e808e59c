import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { capture, createCapture, createRetrieve, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const CARD = { card_number: '4111111111111111' };

interface Listed {
  readonly url: string;
  readonly unique_id: string;
  readonly expires_at: string | null;
  readonly user: string;
  readonly expired: boolean;
}

let clock = START;
let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock });
  account = await vault.account();
  await account.key('u');
});
beforeEach(() => {
  clock = START;
});
afterAll(() => vault.close());

async function list(query: Query = {}, client = account): Promise<readonly Listed[]> {
  const answer = await client.send('GET', '/capture/', { query });
  expect(answer.outcome).toBe('200');
  return answer.as<readonly Listed[]>();
}
function idsOf(listed: readonly Listed[]): string[] {
  return listed.map(({ unique_id }) => unique_id);
}
function remove(unique_id: string, kind = 'capture', client = account): Promise<Answer> {
  return client.send('DELETE', `/${kind}/${unique_id}`);
}
function create(unique_id: string, query: Query = {}, client = account): Promise<Answer> {
  return client.send('POST', '/capture', {
    query: { user: 'u', unique_id, ...query },
    passphrase: PASSPHRASE,
  });
}

let ids = 0;
function freshId(): string {
  ids += 1;
  return `endpoint-${ids}`;
}

describe('the list', () => {
  beforeEach(async () => {
    account = await vault.account();
    await account.key('u');
  });

  test('is empty before there is one', async () => {
    expect(await list()).toEqual([]);
    await createRetrieve(account, 'u');
    expect(await list()).toEqual([]);
  });

  test('has exactly url, unique_id, expires_at, user and expired', async () => {
    const [day, ever] = [freshId(), freshId()];
    await createCapture(account, 'u', {
      unique_id: day,
      rules: 'a,b',
      algorithm: 'luhn',
      return_card_metadata: true,
    });
    await createCapture(account, 'u', { unique_id: ever, ttl: '0' });
    expect(await list()).toEqual([
      {
        url: `/v1/capture/${day}`,
        unique_id: day,
        expires_at: '2026-03-02T12:00:00Z',
        user: 'u',
        expired: false,
      },
      { url: `/v1/capture/${ever}`, unique_id: ever, expires_at: null, user: 'u', expired: false },
    ]);
  });

  test('is in ascending order of user, then of id', async () => {
    await account.key('a');
    await account.key('Z');
    const tag = freshId();
    for (const [user, id] of [
      ['u', 'b'],
      ['a', 'z'],
      ['u', 'B'],
      ['Z', 'c'],
      ['u', '10'],
      ['u', '9'],
      ['a', '-'],
    ] as const) {
      await createCapture(account, user, { unique_id: `${tag}${id}` });
    }
    const places = (await list()).map(({ user, unique_id }) => `${user} ${unique_id.slice(tag.length)}`);
    expect(places).toEqual(['Z c', 'a -', 'a z', 'u 10', 'u 9', 'u B', 'u b']);
    expect(await list()).toEqual(await list());
  });

  test('is filtered by key', async () => {
    await account.key('other');
    const [one, two] = [freshId(), freshId()];
    await createCapture(account, 'u', { unique_id: one });
    await createCapture(account, 'other', { unique_id: two });
    expect(idsOf(await list({ user: 'u' }))).toEqual([one]);
    expect(idsOf(await list({ user: 'other' }))).toEqual([two]);
    expect(idsOf(await list()).sort()).toEqual([one, two].sort());
    const unknown = await account.send('GET', '/capture', { query: { user: 'nobody' } });
    expect([unknown.outcome, unknown.field]).toEqual(['404 key_not_found', 'query.user']);
    const bad = await account.send('GET', '/capture', { query: { user: 'a b' } });
    expect([bad.outcome, bad.field]).toEqual(['400 invalid_request', 'query.user']);
  });

  test('never has those of others, nor of a key of the same name that is gone', async () => {
    const stranger = await vault.account();
    await stranger.key('u');
    await createCapture(account, 'u');
    expect(await list({}, stranger)).toEqual([]);
    expect(await list({ user: 'u' }, stranger)).toEqual([]);
    expect((await account.send('DELETE', '/key', { query: { user: 'u' } })).outcome).toBe('200');
    await account.key('u');
    expect(await list()).toEqual([]);
  });

  test('says what has expired, from the exact millisecond, and what a passphrase change has stopped', async () => {
    const [hour, ever] = [freshId(), freshId()];
    await createCapture(account, 'u', { unique_id: hour, ttl: '1h' });
    await createCapture(account, 'u', { unique_id: ever, ttl: '0' });
    const flags = async () => (await list()).map(({ expired }) => expired);
    clock = START + HOUR - 1;
    expect(await flags()).toEqual([false, false]);
    clock = START + HOUR;
    expect(await flags()).toEqual([true, false]);
    const change = { user: 'u', passphrase: PASSPHRASE, new_passphrase: 'the passphrase after it' };
    expect((await account.send('PUT', '/key', { body: change })).outcome).toBe('200');
    expect(await flags()).toEqual([true, true]);
  });

  test('holds hundreds', async () => {
    const wanted = Array.from({ length: 300 }, (_, n) => `many-${String(n).padStart(3, '0')}`);
    await Promise.all(wanted.map((unique_id) => createCapture(account, 'u', { unique_id })));
    expect(idsOf(await list())).toEqual(wanted);
    await Promise.all(wanted.map((id) => remove(id)));
    expect(await list()).toEqual([]);
  });

  test('needs the account', async () => {
    const answer = await account.send('GET', '/capture', { headers: { authorization: '' } });
    expect(answer.outcome).toBe('401 unauthenticated');
  });
});

describe('a deletion', () => {
  test.each(['capture', 'retrieve'])(
    'through /%s ends the endpoint at once and frees its id',
    async (kind) => {
      const id = freshId();
      const made = await createCapture(account, 'u', { unique_id: id, ttl: '0' });
      const stored = (await capture(vault, made, { body: CARD })).as<{ token: string }>();
      const answer = await remove(id, kind);
      expect(answer.outcome).toBe('200');
      expect(Object.keys(answer.as<object>())).toEqual(['message']);
      expect((await capture(vault, made, { body: CARD })).outcome).toBe('403 endpoint_refused');
      expect(idsOf(await list())).not.toContain(id);
      expect((await remove(id, kind)).outcome).toBe('404 endpoint_not_found');
      // What it stored stays.
      expect(await account.open('u', stored.token, { reference: id })).toBe(JSON.stringify(CARD));
      const anew = await createCapture(account, 'u', { unique_id: id });
      expect((await capture(vault, { ...anew, secret: made.secret }, { body: CARD })).outcome).toBe(
        '403 endpoint_refused',
      );
      expect((await capture(vault, anew, { body: CARD })).outcome).toBe('200');
    },
  );

  test('leaves nothing behind, and the id is free for anybody and for the other kind', async () => {
    const id = freshId();
    const owner = await vault.account();
    await owner.key('u');
    await createCapture(owner, 'u', { unique_id: id });
    await remove(id, 'capture', owner);
    const kid = await vault.kidOf(owner, 'u');
    const left = [
      redisKeys.endpoint(id),
      redisKeys.endpointDirectory(owner.aid),
      redisKeys.liveEndpoints(owner.aid, kid),
    ];
    expect(await vault.raw.exists(...left)).toBe(0);
    const stranger = await vault.account();
    await stranger.key('s');
    await createRetrieve(stranger, 's', { unique_id: id });
    expect((await create(id)).outcome).toBe('409 endpoint_exists');
  });

  test('of a retrieval endpoint through /capture works too', async () => {
    const id = freshId();
    await createRetrieve(account, 'u', { unique_id: id });
    expect((await remove(id, 'capture')).outcome).toBe('200');
    expect((await create(id)).outcome).toBe('200');
  });

  test.each(['capture', 'retrieve'])(
    'through /%s of what is not the account’s is 404, and it lives on',
    async (kind) => {
      const id = freshId();
      const made = await createCapture(account, 'u', { unique_id: id });
      const stranger = await vault.account();
      const foreign = await remove(id, kind, stranger);
      const unknown = await remove('never-was', kind, stranger);
      expect(foreign.outcome).toBe('404 endpoint_not_found');
      expect({ ...foreign.as<object>(), request_id: '' }).toEqual({
        ...unknown.as<object>(),
        request_id: '',
      });
      expect((await capture(vault, made, { body: CARD })).outcome).toBe('200');
      expect(idsOf(await list())).toContain(id);
    },
  );

  test.each(['%00', '%7Be%3Ax%7D', 'a%20b', '%ff', '*', 'x'.repeat(10_000)])(
    'of the odd id %.20s is 404',
    async (segment) => {
      expect((await remove(segment)).outcome).toBe('404 endpoint_not_found');
    },
  );

  test('of what is expired or stopped is one as well', async () => {
    const [expired, stopped] = [freshId(), freshId()];
    await createCapture(account, 'u', { unique_id: expired, ttl: '1h' });
    await createCapture(account, 'u', { unique_id: stopped, ttl: '0' });
    clock += 2 * HOUR;
    const change = { user: 'u', passphrase: PASSPHRASE, new_passphrase: PASSPHRASE };
    expect((await account.send('PUT', '/key', { body: change })).outcome).toBe('200');
    expect([(await remove(expired)).outcome, (await remove(stopped)).outcome]).toEqual(['200', '200']);
    expect(idsOf(await list()).filter((id) => id === expired || id === stopped)).toEqual([]);
    expect((await create(expired)).outcome).toBe('200');
  });

  test('needs the account, and a secret is none', async () => {
    const made = await createCapture(account, 'u', { unique_id: freshId() });
    const headers = { authorization: '', 'x-vault-capture-secret': made.secret };
    const answer = await account.send('DELETE', `/capture/${made.unique_id}`, { headers });
    expect(answer.outcome).toBe('401 unauthenticated');
  });
});

describe('the id of an expired endpoint', () => {
  const expired = async (): Promise<MadeEndpoint> => {
    const made = await createCapture(account, 'u', { unique_id: freshId(), ttl: '1h' });
    clock = START + HOUR;
    return made;
  };

  test('stays taken until the sweep, a day after its end', async () => {
    const made = await expired();
    const { unique_id } = made;
    for (const at of [START + HOUR, START + HOUR + DAY - 1]) {
      clock = at;
      await vault.opened.sweep();
      expect((await create(unique_id)).outcome).toBe('409 endpoint_exists');
      expect((await capture(vault, made, { body: CARD })).outcome).toBe('410 endpoint_gone');
      expect(idsOf(await list())).toContain(unique_id);
    }
    clock = START + HOUR + DAY;
    expect((await create(unique_id)).outcome).toBe('409 endpoint_exists');
    await vault.opened.sweep();
    expect((await capture(vault, made, { body: CARD })).outcome).toBe('403 endpoint_refused');
    expect(idsOf(await list())).not.toContain(unique_id);
    const stranger = await vault.account();
    await stranger.key('u');
    expect((await create(unique_id, {}, stranger)).outcome).toBe('200');
  });

  test('is free after a deletion, without a sweep', async () => {
    const { unique_id } = await expired();
    expect((await remove(unique_id)).outcome).toBe('200');
    expect((await create(unique_id)).outcome).toBe('200');
  });

  test('is taken for a retrieval endpoint too', async () => {
    const { unique_id } = await expired();
    const query = { user: 'u', unique_id };
    expect((await account.send('POST', '/retrieve', { query, passphrase: PASSPHRASE })).outcome).toBe(
      '409 endpoint_exists',
    );
  });
});
