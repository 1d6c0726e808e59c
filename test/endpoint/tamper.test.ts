import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, type MadeEndpoint, retrieve } from '../helpers/endpoints.ts';
import { changesOf } from '../helpers/tampering.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type Address, type Ended, ended, GONE, KINDS, type Kind, make, REFUSED } from './kinds.ts';

const REFUSALS = ['500 integrity_failed', REFUSED, GONE, 'broke off'];
/** Fields of an endpoint's hash that are sealed, or that the seal is bound to. */
const SEALED = ['a', 'p', 'w'] as const;
/** Fields that tell where and when: nonce of the creation, generation, time of the stop. */
const LOOSE = ['n', 'g', 'x'] as const;

let now = Date.now();
let vault: TestVault;
let account: AccountClient;
let token: string;
let reference: string;

beforeAll(async () => {
  vault = await openTestVault({ authFailuresMax: 0, now: () => now });
  account = await vault.account();
  await account.key('u');
  reference = 'mine';
  token = await account.store('u', { number: '1', note: 'note of mine' }, { reference });
  await account.store('u', { number: '2', note: 'note of another' }, { reference: 'another' });
});
afterAll(() => vault.close());

type Uses = (made: Address) => Promise<Ended[]>;

const captures: Uses = async (made) => [await ended(capture(vault, made, { body: { number: '3' } }))];
const retrievals: Uses = (made) =>
  Promise.all(
    [{ token, reference }, { token }, {}, { limit: -1 }, { decrypt_all: true }].map((query) =>
      ended(retrieve(vault, made, { query: query as Query })),
    ),
  );
const ways = {
  capture: { uses: captures, query: {} },
  retrieve: { uses: retrievals, query: { reference: 'mine' } },
} as const;

/** Everything that a server remembers of endpoints is forgotten after a minute. */
function forget(): void {
  now += 61_000;
}
async function fieldOf(id: string, field: string): Promise<Buffer> {
  return (await vault.raw.hgetBuffer(redisKeys.endpoint(id), field)) ?? Buffer.alloc(0);
}
function setField(id: string, field: string, bytes: Buffer) {
  return vault.raw.hset(redisKeys.endpoint(id), field, bytes);
}

describe.each(KINDS)('a %s endpoint’s record', (kind) => {
  const { uses, query } = ways[kind];
  const makeUsed = async (): Promise<MadeEndpoint> => {
    const made = await make(kind, account, 'u', { ...query, ttl: '0' });
    expect((await uses(made)).map(({ outcome }) => outcome)).not.toContain('500 integrity_failed');
    return made;
  };

  test.each(SEALED)('with a field %s that was changed in any way is refused for every use', async (field) => {
    const made = await makeUsed();
    const { unique_id: id } = made;
    const original = await fieldOf(id, field);
    const wrong: string[] = [];
    for (const [n, [change, bytes]] of changesOf(original).entries()) {
      if (n % 2 === 1) {
        forget();
      }
      await setField(id, field, bytes);
      for (const [n, { outcome }] of (await uses(made)).entries()) {
        if (!REFUSALS.includes(outcome)) {
          wrong.push(`${change}, use ${n}: ${outcome}`);
        }
      }
    }
    await vault.raw.hdel(redisKeys.endpoint(id), field);
    for (const { outcome } of await uses(made)) {
      expect(REFUSALS).toContain(outcome);
    }
    await setField(id, field, original);
    expect(wrong.slice(0, 10)).toEqual([]);
    expect((await uses(made)).map(({ outcome }) => outcome)).toContain('200');
  });

  test.each(LOOSE)('with a field %s that was changed reaches nothing else than before', async (field) => {
    const made = await makeUsed();
    const { unique_id: id } = made;
    const original = await fieldOf(id, field);
    const honest = await uses(made);
    const wrong: string[] = [];
    const odd = ['x', '', '-1', '1e999', 'nan', '9'.repeat(40), '0'].map(
      (value) => [value, Buffer.from(value)] as const,
    );
    for (const [change, bytes] of [...changesOf(original, 1), ...odd]) {
      await setField(id, field, bytes);
      for (const [n, { outcome, text }] of (await uses(made)).entries()) {
        const isSame = outcome === '200' && (kind === 'capture' || text === honest[n]?.text);
        if (!isSame && outcome !== honest[n]?.outcome && !REFUSALS.includes(outcome)) {
          wrong.push(`${change}, use ${n}: ${outcome}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('of another type, or with nothing in it, is refused', async () => {
    const made = await makeUsed();
    const name = redisKeys.endpoint(made.unique_id);
    for (const write of [
      () => vault.raw.set(name, 'text'),
      () => vault.raw.rpush(name, 'list'),
      () => vault.raw.zadd(name, 1, 'sorted set'),
      () => vault.raw.hset(name, 'z', 'other'),
    ]) {
      await vault.raw.del(name);
      await write();
      for (const { outcome } of await uses(made)) {
        expect(REFUSALS).toContain(outcome);
      }
    }
  });

  test('with a policy that was changed is in no list: the list is refused', async () => {
    const client = await vault.account();
    await client.key('u');
    const { unique_id: id } = await make(kind, client);
    const original = await fieldOf(id, 'p');
    await setField(id, 'p', changesOf(original, 9)[3]?.[1] ?? Buffer.alloc(0));
    expect((await client.send('GET', `/${kind}`)).outcome).toBe('500 integrity_failed');
    await setField(id, 'p', original);
    expect((await client.send('GET', `/${kind}`)).outcome).toBe('200');
  });

  test('that is damaged lets no wrong secret in, and tells it no more than before', async () => {
    const made = await makeUsed();
    const other = await makeUsed();
    for (const field of SEALED) {
      const original = await fieldOf(made.unique_id, field);
      for (const [, bytes] of changesOf(original, 29)) {
        await setField(made.unique_id, field, bytes);
        for (const { outcome } of await uses({ ...made, secret: other.secret })) {
          expect(['403 endpoint_refused', '500 integrity_failed']).toContain(outcome);
        }
      }
      await setField(made.unique_id, field, original);
    }
  });
});

describe('records exchanged between endpoints', () => {
  const FIELDS = ['n', 'a', 'p', 'w'] as const;
  /** Every choice of fields but none of them. */
  const choices = Array.from({ length: 2 ** FIELDS.length - 1 }, (_, n) =>
    FIELDS.filter((__, i) => ((n + 1) >> i) & 1),
  );

  interface Side {
    readonly made: MadeEndpoint;
    readonly kind: Kind;
    readonly fields: Record<string, Buffer>;
    /** What its secret may show. */
    readonly own: readonly string[];
  }
  const sideOf = async (made: MadeEndpoint, kind: Side['kind'], own: readonly string[]): Promise<Side> => {
    await ways[kind].uses(made);
    return { made, kind, own, fields: await vault.raw.hgetallBuffer(redisKeys.endpoint(made.unique_id)) };
  };

  /** What a secret was told that is neither a refusal nor of its own. */
  const strangeIn = ({ kind, own }: Side, { outcome, text }: Ended): string[] => {
    const all = ['note of mine', 'note of another', 'note of theirs', '"mine"', '"another"', '"theirs"'];
    return kind === 'capture' || outcome !== '200'
      ? []
      : all.filter((one) => text.includes(one) && !own.includes(one));
  };

  /** Puts fields of `two` into the record of `one`, every choice of them, and tries both secrets. */
  const exchange = async (one: Side, two: Side, isFormer = false): Promise<string[]> => {
    const wrong = new Set<string>();
    const place = redisKeys.endpoint(one.made.unique_id);
    const tryAs = async (side: Side, mayWork: boolean, label: string): Promise<void> => {
      for (const kind of new Set([one.kind, two.kind])) {
        const address = { url: one.made.url.replace(one.kind, kind), secret: side.made.secret };
        for (const [n, answer] of (await ways[kind].uses(address)).entries()) {
          if (answer.outcome === '200' && !(mayWork && kind === side.kind)) {
            wrong.add(`${label}, ${kind} ${n}: 200`);
          }
          for (const strange of strangeIn(side, answer)) {
            wrong.add(`${label}, ${kind} ${n}: ${strange}`);
          }
        }
      }
    };
    for (const chosen of choices) {
      for (const field of chosen) {
        await vault.raw.hset(place, field, two.fields[field] ?? '');
      }
      const [policy, wrap] = [chosen.includes('p'), chosen.includes('w')];
      await tryAs(one, !policy && !wrap, `${chosen} and its own secret`);
      await tryAs(two, isFormer && policy && wrap, `${chosen} and the other secret`);
      await vault.raw.hset(place, one.fields);
    }
    return [...wrong];
  };

  const MINE = ['note of mine', '"mine"'];
  const ANOTHER = ['note of another', '"another"'];

  test.each(KINDS)('of one key, both for %s, are refused', async (kind) => {
    const makeLocked = (query: Query) => make(kind, account, 'u', kind === 'retrieve' ? query : {});
    const one = await sideOf(await makeLocked({ reference: 'mine' }), kind, MINE);
    const two = await sideOf(await makeLocked({ reference: 'another' }), kind, ANOTHER);
    expect(await exchange(one, two)).toEqual([]);
    expect(await exchange(two, one)).toEqual([]);
  });

  test('of both kinds are refused', async () => {
    const one = await sideOf(await createCapture(account, 'u'), 'capture', []);
    const two = await sideOf(await createRetrieve(account, 'u', { reference: 'mine' }), 'retrieve', MINE);
    expect(await exchange(one, two)).toEqual([]);
    expect(await exchange(two, one)).toEqual([]);
  });

  test.each(KINDS)('of two keys and of two accounts, both for %s, are refused', async (kind) => {
    const stranger = await vault.account();
    for (const client of [account, stranger]) {
      await client.key(`theirs-${kind}`);
      await client.store(`theirs-${kind}`, { number: '1', note: 'note of theirs' }, { reference: 'theirs' });
      const one = await sideOf(await make(kind, account, 'u', ways[kind].query), kind, MINE);
      const theirs = await make(kind, client, `theirs-${kind}`);
      const two = await sideOf(theirs, kind, ['note of theirs', '"theirs"']);
      expect(await exchange(one, two)).toEqual([]);
      expect(await exchange(two, one)).toEqual([]);
    }
  });

  test.each(KINDS)(
    'of an id’s former endpoint and its new one, for %s, are refused but as a whole',
    async (kind) => {
      const id = `again-${kind}`;
      const makeLocked = (query: Query) =>
        make(kind, account, 'u', { unique_id: id, ...(kind === 'retrieve' ? query : {}) });
      const former = await sideOf(await makeLocked({ reference: 'another' }), kind, ANOTHER);
      await account.send('DELETE', `/${kind}/${id}`);
      const one = await sideOf(await makeLocked({ reference: 'mine' }), kind, MINE);
      expect(await exchange(one, former, true)).toEqual([]);
    },
  );

  test('of an id’s former endpoint and that of another account: the former secret lists nothing of theirs', async () => {
    const [former, stranger] = [
      await createRetrieve(account, 'u', { unique_id: 'shop' }),
      await vault.account(),
    ];
    expect((await retrieve(vault, former)).outcome).toBe('200');
    const nonce = await fieldOf('shop', 'n');
    await account.send('DELETE', '/retrieve/shop');
    await stranger.key('theirs');
    await stranger.store('theirs', { number: '1' }, { reference: 'a customer of theirs' });
    await createRetrieve(stranger, 'theirs', { unique_id: 'shop' });
    await setField('shop', 'n', nonce);
    for (const { outcome, text } of await retrievals(former)) {
      expect([outcome, text.includes('a customer of theirs')]).toEqual(['403 endpoint_refused', false]);
    }
  });
});

describe('after all that', () => {
  test('the server is alive, nobody has met an unexpected error, and the item is as it was', async () => {
    expect(vault.opened.pool.stats()).toMatchObject({ threadsAlive: 1, restarts: 0 });
    expect(vault.lines.filter(({ event }) => event === 'unexpected_error')).toEqual([]);
    const opened = await account.send('GET', '/vault', {
      query: { user: 'u', token, reference },
      passphrase: PASSPHRASE,
    });
    expect(opened.json).toEqual({ number: '1', note: 'note of mine' });
  });
});
