import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { VaultError } from '../../../server/core/errors.ts';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { failNext, holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const CARD = { card_number: '4111111111111111' };

let clock = START;
let vault: TestVault;
let second: TestVault;
let account: AccountClient;
let ids = 0;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock });
  second = await vault.secondServer();
  account = await vault.account();
  await account.key('u');
});
beforeEach(() => {
  clock = START;
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

function freshId(): string {
  ids += 1;
  return `endpoint-${ids}`;
}
function create(unique_id: string, client = account): Promise<Answer> {
  return client.send('POST', '/capture', { query: { user: 'u', unique_id }, passphrase: PASSPHRASE });
}
async function listed(client = account): Promise<readonly string[]> {
  const answer = await client.send('GET', '/capture');
  expect(answer.outcome).toBe('200');
  return answer.as<readonly MadeEndpoint[]>().map(({ unique_id }) => unique_id);
}
/** The ids in the directory of an account, in their order. */
async function entered({ aid } = account): Promise<readonly string[]> {
  const entries = await vault.raw.zrange(redisKeys.endpointDirectory(aid), '0', '-1');
  return entries.map((entry) => entry.split(' ').at(-1) ?? '').sort();
}
async function liveOf(user: string): Promise<readonly string[]> {
  const kid = await vault.kidOf(account, user);
  return vault.raw.zrange(redisKeys.liveEndpoints(account.aid, kid), '0', '-1');
}
/** Lets Redis itself end a reservation, as it would by its own clock. */
async function runOut(id: string): Promise<void> {
  await vault.raw.pexpire(redisKeys.endpoint(id), 1);
  while ((await vault.raw.exists(redisKeys.endpoint(id))) === 1) {
    await new Promise(setImmediate);
  }
}

describe('a creation whose process died', () => {
  const died = new VaultError('store_unavailable');
  /** What is left when nothing comes after a step: the failing call, and no clean-up either. */
  const dieAt = async (step: 'enter' | 'commit'): Promise<string> => {
    const id = freshId();
    failNext(vault.opened.stores.endpointStore, step, died);
    failNext(vault.opened.stores.endpointStore, 'remove', died);
    expect((await create(id)).outcome).toBe('503 store_unavailable');
    return id;
  };

  test.each(['enter', 'commit'] as const)(
    'before %s holds its id for a minute at most, and shows nowhere',
    async (step) => {
      const id = await dieAt(step);
      const left = await vault.raw.pttl(redisKeys.endpoint(id));
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(60_000);
      expect((await create(id)).outcome).toBe('409 endpoint_exists');
      expect(await listed()).not.toContain(id);
      expect(
        (await capture(vault, { url: `/v1/capture/${id}`, secret: 'vcs1_x' }, { body: CARD })).outcome,
      ).toBe('403 endpoint_refused');
      expect((await account.send('DELETE', `/capture/${id}`)).outcome).toBe('404 endpoint_not_found');
      await runOut(id);
      expect(await listed()).not.toContain(id);
      const anew = await create(id);
      expect(anew.outcome).toBe('200');
      expect((await capture(vault, anew.as<MadeEndpoint>(), { body: CARD })).outcome).toBe('200');
      expect(await vault.raw.pttl(redisKeys.endpoint(id))).toBe(-1);
    },
  );

  test('leaves an entry that the sweep takes two minutes later, and nothing of a later owner', async () => {
    const id = await dieAt('commit');
    const gone = await dieAt('commit');
    await runOut(id);
    await runOut(gone);
    const stranger = await vault.account();
    await stranger.key('u');
    const anew = (await create(id, stranger)).as<MadeEndpoint>();
    const mine = (await create(gone)).as<MadeEndpoint>();
    expect((await listed()).filter((name) => name === id || name === gone)).toEqual([gone]);
    expect(await listed(stranger)).toEqual([id]);
    clock = START + 119 * SECOND;
    await vault.opened.sweep();
    expect((await entered()).filter((name) => name === id || name === gone)).toEqual([id, gone, gone].sort());
    clock = START + 120 * SECOND;
    await vault.opened.sweep();
    expect((await entered()).filter((name) => name === id || name === gone)).toEqual([gone]);
    expect((await liveOf('u')).filter((entry) => entry.endsWith(` ${id}`))).toEqual([]);
    expect(await entered(stranger)).toEqual([id]);
    for (const endpoint of [anew, mine]) {
      expect((await capture(vault, endpoint, { body: CARD })).outcome).toBe('200');
    }
  });

  test('is not what one is that only failed: its id is free at once', async () => {
    for (const step of ['enter', 'commit'] as const) {
      const id = freshId();
      failNext(vault.opened.stores.endpointStore, step, died);
      expect((await create(id)).outcome).toBe('503 store_unavailable');
      expect(await entered()).not.toContain(id);
      expect((await create(id)).outcome).toBe('200');
    }
  });
});

describe('a creation that took too long', () => {
  test('makes no endpoint when its reservation has run out, nor harms who has the id by then', async () => {
    const id = freshId();
    const held = holdNext(vault.opened.stores.endpointStore, 'commit');
    const slow = create(id);
    await held.reached;
    await runOut(id);
    const quick = await create(id, account.via(second.handle));
    expect(quick.outcome).toBe('200');
    held.release();
    expect((await slow).outcome).toBe('503 overloaded');
    expect((await capture(vault, quick.as<MadeEndpoint>(), { body: CARD })).outcome).toBe('200');
    expect((await entered()).filter((name) => name === id)).toEqual([id]);
  });
});

describe('a deletion whose process died', () => {
  test('between record and directory is finished by the sweep', async () => {
    const id = freshId();
    const made = await createCapture(account, 'u', { unique_id: id, ttl: '0' });
    const before = await vault.raw.hget(redisKeys.endpoint(id), 'n');
    expect(before).toBeString();
    const held = holdNext(vault.opened.stores.endpointStore, 'remove');
    const removing = account.send('DELETE', `/capture/${id}`);
    await held.reached;
    // As far as a process came that died behind the first of the two steps.
    await vault.raw.del(redisKeys.endpoint(id));
    await vault.opened.sweep();
    expect(await entered()).not.toContain(id);
    held.release();
    expect((await removing).outcome).toBe('404 endpoint_not_found');
    expect((await capture(vault, made, { body: CARD })).outcome).toBe('403 endpoint_refused');
    expect((await create(id)).outcome).toBe('200');
  });
});

describe('the sweep', () => {
  let owner: AccountClient;
  beforeEach(async () => {
    owner = await vault.account();
    await owner.key('u');
  });

  test('leaves what lives alone, at any time', async () => {
    const ever = await createCapture(owner, 'u', { ttl: '0' });
    const day = await createCapture(owner, 'u', { ttl: '24h' });
    for (const at of [START, START + 2 * 60 * SECOND, START + HOUR, START + DAY - 1]) {
      clock = at;
      await vault.opened.sweep();
      expect((await capture(vault, day, { body: CARD })).outcome).toBe('200');
      expect((await capture(vault, ever, { body: CARD })).outcome).toBe('200');
    }
    clock = START + 2 * DAY;
    await vault.opened.sweep();
    expect(await listed(owner)).toEqual([ever.unique_id]);
    for (const at of [START + YEAR, START + 10 * YEAR]) {
      clock = at;
      await vault.opened.sweep();
      expect((await capture(vault, ever, { body: CARD })).outcome).toBe('200');
    }
  });

  test('of two servers at once takes hundreds of ended ones, and none that is made meanwhile', async () => {
    const names = Array.from({ length: 300 }, () => freshId());
    await Promise.all(names.map((unique_id) => createCapture(owner, 'u', { unique_id, ttl: '1s' })));
    const living = await Promise.all(
      Array.from({ length: 20 }, () => createCapture(owner, 'u', { unique_id: freshId(), ttl: '0' })),
    );
    clock = START + DAY + 2 * SECOND;
    const wanted = names.slice(0, 40);
    const sweeps = Promise.all([vault.opened.sweep(), second.opened.sweep()]);
    const makeAnew = async (id: string, n: number): Promise<MadeEndpoint> => {
      for (;;) {
        const answer = await create(id, owner.via(n % 2 === 0 ? vault.handle : second.handle));
        if (answer.status === 200) {
          return answer.as<MadeEndpoint>();
        }
        expect(answer.outcome).toBe('409 endpoint_exists');
      }
    };
    const anew: MadeEndpoint[] = [];
    for (const [n, id] of wanted.entries()) {
      anew.push(await makeAnew(id, n));
    }
    await sweeps;
    await Promise.all([vault.opened.sweep(), second.opened.sweep()]);
    const left = [...anew, ...living].map(({ unique_id }) => unique_id).sort();
    expect(await entered(owner)).toEqual(left);
    expect([...(await listed(owner))].sort()).toEqual(left);
    const used = await Promise.all([...anew, ...living].map((made) => capture(second, made, { body: CARD })));
    expect(used.map(({ outcome }) => outcome)).toEqual(used.map(() => '200'));
    for (const id of names.slice(40)) {
      expect(await vault.raw.exists(redisKeys.endpoint(id))).toBe(0);
    }
  });
});
