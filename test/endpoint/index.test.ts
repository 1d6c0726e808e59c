import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { AccountClient, Answer } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, type MadeEndpoint, retrieve } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { changePassphrase, ended } from './kinds.ts';

const DAY = 86_400_000;
const REFUSED = '500 integrity_failed';
/** Far longer than any of what is waited for takes, and short enough for a loop without end to be seen. */
const LIMIT_MS = 30_000;

let now = Date.now();
let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ now: () => now, authFailuresMax: 0 });
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

async function outcomeOf(reply: Promise<Answer>): Promise<string> {
  return (await ended(reply)).outcome;
}
/** What `work` comes to, or that it goes on without end; `clean` then takes away what it goes round in. */
async function within<T>(work: Promise<T>, clean: () => Promise<unknown>): Promise<T | 'no end'> {
  const limit = Promise.withResolvers<'no end'>();
  const timer = setTimeout(() => limit.resolve('no end'), LIMIT_MS);
  const outcome = await Promise.race([work, limit.promise]);
  clearTimeout(timer);
  await clean();
  await work.catch(() => undefined);
  return outcome;
}

/** Waits for `work`, which may fail. */
function ignored(work: Promise<unknown>): Promise<unknown> {
  return work.catch(() => 'failed');
}
async function isThere({ unique_id }: MadeEndpoint): Promise<boolean> {
  return (await vault.raw.exists(redisKeys.endpoint(unique_id))) === 1;
}
function wrapOf({ unique_id }: MadeEndpoint): Promise<number> {
  return vault.raw.hexists(redisKeys.endpoint(unique_id), 'w');
}

type Forge = (real: { readonly kid: string; readonly id: string; readonly nonce: string }) => Buffer;
function written(text: (real: Parameters<Forge>[0]) => string): Forge {
  return (real) => Buffer.from(text(real));
}
/** Entries that nobody would write. The names given are those of a key and of an endpoint of it that lives. */
const forged: readonly (readonly [string, readonly Forge[]])[] = [
  [
    'texts that are no entries',
    [
      written(() => 'odd'),
      written(() => ''),
      written(() => 'a capture b'),
      written(({ kid, id, nonce }) => `${kid} capture ${nonce} ${id} more`),
      written(({ kid, id, nonce }) => `${kid} proxy ${nonce} ${id}`),
      written(({ kid, id }) => `${kid}\r\ncapture\r\nnonce\r\n${id}`),
      written(() => 'x'.repeat(1_048_576)),
    ],
  ],
  [
    'entries that lead nowhere',
    [
      written(({ kid, nonce }) => `${kid} capture ${nonce} `),
      written(({ kid, nonce }) => `${kid} capture ${nonce} nowhere`),
      written(({ kid, id }) => `${kid} capture nonce ${id}`),
      written(({ id, nonce }) => `key capture ${nonce} ${id}`),
    ],
  ],
  ['bytes that are no text', [() => Buffer.of(0xff, 0xfe, 0x00)]],
  [
    'entries whose id is no text',
    [({ kid, nonce }) => Buffer.concat([Buffer.from(`${kid} capture ${nonce} `), Buffer.of(0xff)])],
  ],
  [
    'entries whose key is no text',
    [({ id, nonce }) => Buffer.concat([Buffer.of(0xc3), Buffer.from(` capture ${nonce} ${id}`)])],
  ],
];

describe('entries of the directories that nobody would write', () => {
  let client: AccountClient;
  let later: AccountClient;
  let kid: string;
  beforeEach(async () => {
    [client, later] = [await vault.account(), await vault.account()];
    await Promise.all([client.key('k'), later.key('k')]);
    kid = await vault.kidOf(client, 'k');
  });
  const directories = (): string[] => [
    redisKeys.endpointDirectory(client.aid),
    redisKeys.liveEndpoints(client.aid, kid),
  ];
  /** A live endpoint, and forged entries in both directories; the nonce of the endpoint is in some of them. */
  const prepare = async (forges: readonly Forge[]) => {
    const live = await createCapture(client, 'k', { ttl: '0' });
    const nonce = (await vault.raw.hget(redisKeys.endpoint(live.unique_id), 'n')) ?? '';
    const members = forges.map((forge) => forge({ kid, id: live.unique_id, nonce }));
    const names = directories();
    for (const member of members) {
      await Promise.all(names.map((name) => vault.raw.zadd(name, 0, member)));
    }
    const clean = () => Promise.all(names.map((name) => vault.raw.zrem(name, ...members)));
    return { live, clean };
  };

  test.each(forged)('%s stop no sweep, and take no endpoint with them that lives', async (_, forges) => {
    const { live, clean } = await prepare(forges);
    const own = await createRetrieve(client, 'k', { ttl: '1s' });
    const theirs = await createCapture(later, 'k', { ttl: '1s' });
    expect(['200', REFUSED]).toContain(await outcomeOf(client.send('GET', '/capture')));
    now += 2 * DAY;
    const swept = await within(ignored(vault.opened.sweep()), clean);
    expect(swept).not.toBe('no end');
    expect([await isThere(theirs), await isThere(own), await isThere(live)]).toEqual([false, false, true]);
    expect(await outcomeOf(capture(vault, live, { body: { number: '1' } }))).toBe('200');
  });

  test.each(forged)('%s keep no other endpoint from being stopped or removed', async (_, forges) => {
    const { endpointStore } = vault.opened.stores;
    const { live, clean } = await prepare(forges);
    const stopping = within(endpointStore.stopBefore(client.aid, kid, 2), clean);
    expect([await stopping, await wrapOf(live)]).toEqual([undefined, 0]);
    const second = await prepare(forges);
    const removing = within(endpointStore.removeOfKey(client.aid, kid), second.clean);
    expect([await removing, await isThere(second.live)]).toEqual([undefined, false]);
  });

  test('all together keep no key from being changed and deleted', async () => {
    const { live, clean } = await prepare(forged.flatMap(([, forges]) => forges));
    expect(await within(outcomeOf(changePassphrase(client, 'k')), clean)).toBe('200');
    expect(await wrapOf(live)).toBe(0);
    const { data } = await client.sdk.vault.list({ user: 'k' });
    for (const { token, reference } of data['k'] ?? []) {
      await client.send('DELETE', '/vault', { query: { user: 'k', token, reference } });
    }
    expect(await outcomeOf(client.send('DELETE', '/key', { query: { user: 'k' } }))).toBe('200');
  });
});

describe('a directory', () => {
  test('with odd scores ends no endpoint early, and none lives longer than its passphrase', async () => {
    const client = await vault.account();
    await client.key('k');
    const kid = await vault.kidOf(client, 'k');
    const live: MadeEndpoint[] = [];
    for (const score of ['-inf', '+inf', '0', '-1', '1.5', '9007199254740993', '8e300']) {
      const made = await createCapture(client, 'k', { ttl: '0' });
      for (const name of [
        redisKeys.endpointDirectory(client.aid),
        redisKeys.liveEndpoints(client.aid, kid),
      ]) {
        const members = await vault.raw.zrange(name, '0', '-1');
        await vault.raw.zadd(name, score, members.find((member) => member.endsWith(made.unique_id)) ?? '');
      }
      live.push(made);
    }
    const useAll = () =>
      Promise.all(live.map((made) => outcomeOf(capture(vault, made, { body: { number: '1' } }))));
    await within(vault.opened.sweep(), () => Promise.resolve());
    expect(await useAll()).toEqual(live.map(() => '200'));
    expect((await changePassphrase(client, 'k')).outcome).toBe('200');
    expect(await useAll()).toEqual(live.map(() => '410 endpoint_gone'));
  });

  test('with an entry of another account’s endpoint neither lists nor ends that', async () => {
    const [client, other] = [await vault.account(), await vault.account()];
    await other.key('k');
    const theirs = await createRetrieve(other, 'k', { ttl: '0', reference: 'a customer of theirs' });
    const [member = ''] = await vault.raw.zrange(redisKeys.endpointDirectory(other.aid), '0', '-1');
    await vault.raw.zadd(redisKeys.endpointDirectory(client.aid), 0, member);
    expect((await client.send('GET', '/retrieve')).text).not.toContain('a customer of theirs');
    await ignored(vault.opened.sweep());
    now += 2 * DAY;
    await ignored(vault.opened.sweep());
    expect(await outcomeOf(retrieve(vault, theirs))).toBe('200');
    await vault.raw.zrem(redisKeys.endpointDirectory(client.aid), member);
  });

  test('of another type stops no other account’s sweep', async () => {
    const [client, later] = [await vault.account(), await vault.account()];
    await later.key('k');
    const name = redisKeys.endpointDirectory(client.aid);
    for (const write of [
      () => vault.raw.set(name, 'x'),
      () => vault.raw.rpush(name, 'x'),
      () => vault.raw.sadd(name, 'x'),
    ]) {
      const theirs = await createCapture(later, 'k', { ttl: '1s' });
      await write();
      expect(await outcomeOf(client.send('GET', '/capture'))).toBe(REFUSED);
      now += 2 * DAY;
      await ignored(vault.opened.sweep());
      expect(await isThere(theirs)).toBe(false);
      await vault.raw.del(name);
    }
  });
});

describe('an endpoint whose record is damaged', () => {
  const damages: readonly (readonly [string, (name: string) => Promise<unknown>])[] = [
    ['a text in its place', async (name) => [await vault.raw.del(name), await vault.raw.set(name, 'x')]],
    ['no policy', (name) => vault.raw.hdel(name, 'p')],
    ['no nonce', (name) => vault.raw.hdel(name, 'n')],
    ['a policy that does not open', (name) => vault.raw.hset(name, 'p', 'x')],
    ['an odd time of its stop', (name) => vault.raw.hset(name, 'x', 'yesterday')],
  ];
  test.each(damages)('by %s stops no sweep of those behind it', async (_, damage) => {
    const damaged = await createCapture(account, 'u', { ttl: '1s' });
    now += 1_000;
    const behind = await createCapture(account, 'u', { ttl: '1s' });
    await damage(redisKeys.endpoint(damaged.unique_id));
    now += 2 * DAY;
    const clean = () =>
      vault.raw.del(redisKeys.endpoint(damaged.unique_id), redisKeys.endpointDirectory(account.aid));
    expect(await within(ignored(vault.opened.sweep()), clean)).not.toBe('no end');
    expect(await isThere(behind)).toBe(false);
  });

  test('by a text in its place keeps nobody from stopping and removing those of its key', async () => {
    const { endpointStore } = vault.opened.stores;
    const kid = 'a-key-of-damaged-endpoints';
    const ids = ['damaged', 'whole'];
    const bytes = Buffer.alloc(40, 1);
    const outcomes: unknown[] = [];
    for (const end of [
      () => endpointStore.stopBefore(account.aid, kid, 2),
      () => endpointStore.removeOfKey(account.aid, kid),
    ]) {
      for (const id of ids) {
        const nonce = `nonce-of-${id}`;
        await endpointStore.reserve(id, nonce);
        await endpointStore.enter(account.aid, { kid, kind: 'capture', nonce, id }, now, 1);
        await endpointStore.commit(id, { nonce, aid: account.aid, policy: bytes, wrap: bytes });
      }
      await vault.raw.del(redisKeys.endpoint('damaged'));
      await vault.raw.set(redisKeys.endpoint('damaged'), 'x');
      outcomes.push(await ignored(end()), await vault.raw.hexists(redisKeys.endpoint('whole'), 'w'));
      await vault.raw.del(...ids.map(redisKeys.endpoint), redisKeys.liveEndpoints(account.aid, kid));
    }
    expect(outcomes).toEqual([undefined, 0, undefined, 0]);
  });
});

describe('after all that', () => {
  test('the server is alive, and nobody has met an unexpected error', async () => {
    expect(vault.opened.pool.stats()).toMatchObject({ threadsAlive: 1, restarts: 0 });
    expect(vault.lines.filter(({ event }) => event === 'unexpected_error')).toEqual([]);
    expect(
      await outcomeOf(capture(vault, await createCapture(account, 'u'), { body: { number: '1' } })),
    ).toBe('200');
  });
});
