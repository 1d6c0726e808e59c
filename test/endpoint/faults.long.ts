import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../server/boot/redis/embedded.ts';
import { VaultError } from '../../server/core/errors.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, type MadeEndpoint, retrieve } from '../helpers/endpoints.ts';
import { failNext, holdNext, loseNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const ANSWER_MS_MAX = 15_000;
const RECOVERY_MS_MAX = 30_000;
const RESERVED_MS = 60_000;
const AWAY = '503 store_unavailable';
const STEPS = ['reserve', 'enter', 'commit'] as const;

const now = Date.now();
let folder: string;
let redis: EmbeddedRedis;
let vault: TestVault;
let account: AccountClient;
let token: string;
let taking: MadeEndpoint;
let giving: MadeEndpoint;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-faults-'));
  chmodSync(folder, 0o700);
  redis = await EmbeddedRedis.start(folder, () => undefined);
  vault = await openTestVault({ redis, now: () => now });
  account = await vault.account();
  await account.key('u');
  token = await account.store('u', { number: '1' });
  taking = await createCapture(account, 'u', { ttl: '0' });
  giving = await createRetrieve(account, 'u', { ttl: '0' });
  // Redis knows every script from here on.
  await capture(vault, taking, { body: { number: '2' }, idempotencyKey: 'first' });
  await retrieve(vault, giving, { query: { token } });
  const short = await createCapture(account, 'u');
  await account.send('DELETE', `/capture/${short.unique_id}`);
});
afterEach(() => void process.kill(redis.pid, 'SIGCONT'));
afterAll(async () => {
  await vault.close();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

function create(unique_id: string): Promise<Answer> {
  return account.send('POST', '/capture', {
    query: { user: 'u', unique_id, ttl: '0' },
    passphrase: PASSPHRASE,
  });
}
function remove(id: string): Promise<Answer> {
  return account.send('DELETE', `/capture/${id}`);
}
function expectAway(answer: Answer): void {
  expect(answer.outcome).toBe(AWAY);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
}
/** Asks until the vault answers; gives how long that took. */
async function untilBack(): Promise<number> {
  const start = performance.now();
  while ((await retrieve(vault, giving, { query: { token } })).status !== 200) {
    if (performance.now() - start > RECOVERY_MS_MAX) {
      throw new Error('the vault did not recover');
    }
    await Bun.sleep(20);
  }
  return performance.now() - start;
}
/** That nobody can use an id, and that nothing keeps it for longer than a reservation lasts. */
async function expectNotLeaked(id: string): Promise<void> {
  const name = redisKeys.endpoint(id);
  expect(await vault.raw.hexists(name, 'w')).toBe(0);
  const left = await vault.raw.pttl(name);
  expect(left === -2 || (left >= 0 && left <= RESERVED_MS)).toBe(true);
}
async function inDirectory(id: string): Promise<boolean> {
  return (await vault.raw.zrange(redisKeys.endpointDirectory(account.aid), '0', '-1')).some((entry) =>
    entry.endsWith(` ${id}`),
  );
}
/** How often each item of this number was written. */
async function writesOf(number: string): Promise<number[]> {
  const opened = await Array.fromAsync(account.sdk.vault.decryptAll({ user: 'u' }));
  const own = opened.filter(({ data }) => (data as { number: string }).number === number);
  return Promise.all(
    own.map(async (item) => {
      const query = { user: 'u', token: item.token, reference: item.reference };
      const log = (await account.send('GET', '/vault/metadata', { query })).as<{ action: string }[]>();
      return log.filter(({ action }) => action === 'encrypt').length;
    }),
  );
}

describe('a Redis that does not answer', () => {
  test('makes every use and every step of a life a 503 in time, and all goes on afterwards', async () => {
    const { endpointStore, itemStore } = vault.opened.stores;
    const doomed = await createCapture(account, 'u', { ttl: '0' });
    const started: (readonly [string, Promise<Answer>])[] = [];
    const release: (() => void)[] = [];
    for (const step of STEPS) {
      const held = holdNext(endpointStore, step);
      started.push([`creation at ${step}`, create(`stalled-${step}`)]);
      await held.reached;
      release.push(held.release);
    }
    const writing = holdNext(itemStore, 'write');
    started.push(['a capture', capture(vault, taking, { body: { number: '3' } })]);
    await writing.reached;
    const logging = holdNext(itemStore, 'appendLog');
    started.push(['a retrieval', retrieve(vault, giving, { query: { token } })]);
    await logging.reached;
    const removing = holdNext(endpointStore, 'remove');
    started.push(['a deletion', remove(doomed.unique_id)]);
    await removing.reached;
    process.kill(redis.pid, 'SIGSTOP');
    const stopped = performance.now();
    for (const go of [...release, writing.release, logging.release, removing.release]) {
      go();
    }
    started.push(
      ['a new creation', create('stalled-new')],
      ['a new capture', capture(vault, taking, { body: { number: '4' } })],
      ['a new list', retrieve(vault, giving)],
      ['a new deletion', remove(doomed.unique_id)],
      ['a new listing', account.send('GET', '/capture')],
    );
    const late = started.map(async ([kind, reply]) => {
      expectAway(await reply);
      return performance.now() - stopped < ANSWER_MS_MAX ? [] : [kind];
    });
    const tooLate = (await Promise.all(late)).flat();
    process.kill(redis.pid, 'SIGCONT');
    await untilBack();
    for (const step of [...STEPS, 'new']) {
      await expectNotLeaked(`stalled-${step}`);
    }
    expect((await capture(vault, taking, { body: { number: '5' } })).outcome).toBe('200');
    expect(['200', '404 endpoint_not_found']).toContain((await remove(doomed.unique_id)).outcome);
    expect((await create(doomed.unique_id)).outcome).toBe('200');
    expect(tooLate).toEqual([]);
  }, 60_000);
});

describe('a Redis that was killed', () => {
  test('has every capture that was acknowledged, its endpoints, and no half of one', async () => {
    const captured = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        const answer = await capture(vault, taking, { body: { number: `50${n}` } });
        expect(answer.outcome).toBe('200');
        return answer.as<{ token: string; reference: string }>();
      }),
    );
    const fresh = await createRetrieve(account, 'u', { ttl: '0' });
    const gone = await createRetrieve(account, 'u', { ttl: '0' });
    expect((await remove(gone.unique_id)).outcome).toBe('200');
    const held = holdNext(vault.opened.stores.endpointStore, 'commit');
    const creating = create('killed');
    await held.reached;
    process.kill(redis.pid, 'SIGKILL');
    let away: Answer;
    do {
      away = await capture(vault, taking, { body: { number: '60' } });
    } while (away.status === 200);
    expectAway(away);
    held.release();
    expectAway(await creating);
    expect(await untilBack()).toBeLessThan(RECOVERY_MS_MAX);
    for (const [n, { token: stored, reference }] of captured.entries()) {
      const query = { token: stored, reference };
      expect((await retrieve(vault, fresh, { query })).text).toBe(`{"number":"50${n}"}`);
    }
    expect((await retrieve(vault, gone)).outcome).toBe('403 endpoint_refused');
    await expectNotLeaked('killed');
  }, 60_000);
});

describe('a creation that breaks off', () => {
  test.each(STEPS)('by the lost reply of its %s gives its id back', async (step) => {
    const id = `lost-${step}`;
    loseNext(vault.opened.stores.endpointStore, step);
    expectAway(await create(id));
    if (step === 'reserve') {
      await expectNotLeaked(id);
      return;
    }
    const start = performance.now();
    while ((await vault.raw.exists(redisKeys.endpoint(id))) === 1 || (await inDirectory(id))) {
      expect(performance.now() - start).toBeLessThan(ANSWER_MS_MAX);
    }
    expect((await create(id)).outcome).toBe('200');
  });

  test('at its very end, and cannot be taken back, is seen by its owner, who can delete it', async () => {
    const { endpointStore } = vault.opened.stores;
    loseNext(endpointStore, 'commit');
    failNext(endpointStore, 'remove', new VaultError('store_unavailable'));
    expectAway(await create('unknown-end'));
    expect((await account.send('GET', '/capture')).text).toContain('"unknown-end"');
    expect((await remove('unknown-end')).outcome).toBe('200');
    expect((await create('unknown-end')).outcome).toBe('200');
  });
});

describe('a deletion that breaks off', () => {
  test('before it has happened leaves the endpoint in use, and can be repeated', async () => {
    const made = await createCapture(account, 'u', { ttl: '0' });
    failNext(vault.opened.stores.endpointStore, 'remove', new VaultError('store_unavailable'));
    expectAway(await remove(made.unique_id));
    expect((await capture(vault, made, { body: { number: '6' } })).outcome).toBe('200');
    expect((await remove(made.unique_id)).outcome).toBe('200');
    expect((await capture(vault, made, { body: { number: '6' } })).outcome).toBe('403 endpoint_refused');
  });

  test('for want of memory in Redis does not: the secret is refused from then on', async () => {
    const made = await createCapture(account, 'u', { ttl: '0' });
    await vault.raw.config('SET', 'maxmemory', '1mb');
    const refused = await capture(vault, made, { body: { number: '7' } });
    await remove(made.unique_id);
    const after = await capture(vault, made, { body: { number: '7' } });
    await vault.raw.config('SET', 'maxmemory', '0');
    expectAway(refused);
    expect(after.outcome).toBe('403 endpoint_refused');
  });
});

describe('a capture whose reply was lost', () => {
  let numbers = 0;
  test.each([
    ['write', 'full'],
    ['write', 'uuid'],
    ['keep', 'full'],
    ['keep', 'uuid'],
  ] as const)(
    'after its %s, with %s, gives the same token when it is repeated, and one item',
    async (step, algorithm) => {
      numbers += 1;
      const number = `70${numbers}`;
      const sending = { body: { number }, query: { algorithm }, idempotencyKey: `lost ${step} ${algorithm}` };
      const { itemStore, idempotencyStore } = vault.opened.stores;
      if (step === 'write') {
        loseNext(itemStore, 'write');
      } else {
        loseNext(idempotencyStore, 'keep');
      }
      expectAway(await capture(vault, taking, sending));
      const before = await account.sdk.vault.list({ user: 'u', reference: taking.unique_id });
      const again = await capture(vault, taking, sending);
      expect(again.outcome).toBe('200');
      expect(before.data['u']?.map((item) => item.token)).toContain(again.as<{ token: string }>().token);
      expect((await capture(vault, taking, sending)).text).toBe(again.text);
      expect(await writesOf(number)).toEqual([1]);
    },
  );
});
