import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Form } from '../../sdk/index.ts';
import { VaultError } from '../../server/core/errors.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { AccountClient, Answer } from '../helpers/clients.ts';
import { failNext, holdNext } from '../helpers/hold.ts';
import { flip } from '../helpers/tampering.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const MINUTE = 60_000;
const IFRAME = '/retrieve/iframe';

let clock = START;
let vault: TestVault;
let account: AccountClient;
let ids = 0;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock });
});
beforeEach(async () => {
  clock = START;
  account = await vault.account();
});
afterAll(() => vault.close());

function freshId(): string {
  ids += 1;
  return `form-${ids}`;
}
function create(form_id: string, client = account): Promise<Answer> {
  return client.send('POST', IFRAME, { query: { form_id }, body: { hide_card: true } });
}
function remove(form_id: string): Promise<Answer> {
  return account.send('DELETE', `${IFRAME}/${form_id}`);
}
async function listed(): Promise<readonly string[]> {
  const answer = await account.send('GET', IFRAME);
  expect(answer.outcome).toBe('200');
  return answer.as<Form[]>().map(({ id }) => id);
}
async function pageStatus(id: string): Promise<number> {
  return (await vault.handle(new Request(`http://localhost/v1${IFRAME}/${id}`))).status;
}
/** The ids in the directory of the account. */
async function entered(): Promise<readonly string[]> {
  const entries = await vault.raw.zrange(redisKeys.formDirectory(account.aid), '0', '-1');
  return entries.map((entry) => entry.split(' ').at(-1) ?? '').sort();
}
/** Lets Redis itself end a reservation, as it would by its own clock. */
async function runOut(id: string): Promise<void> {
  await vault.raw.pexpire(redisKeys.form(id), 1);
  while ((await vault.raw.exists(redisKeys.form(id))) === 1) {
    await new Promise(setImmediate);
  }
}

const died = new VaultError('store_unavailable');
function storeOf() {
  return vault.opened.stores.formStore;
}

describe('a creation whose process died', () => {
  /** What is left when nothing comes after a step: the failing call, and no clean-up either. */
  const dieAt = async (step: 'enter' | 'commit'): Promise<string> => {
    const id = freshId();
    failNext(storeOf(), step, died);
    failNext(storeOf(), 'remove', died);
    expect((await create(id)).outcome).toBe('503 store_unavailable');
    return id;
  };

  test.each(['enter', 'commit'] as const)('before %s holds its id for a minute at most', async (step) => {
    const id = await dieAt(step);
    const left = await vault.raw.pttl(redisKeys.form(id));
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(MINUTE);
    expect((await create(id)).outcome).toBe('409 form_exists');
    expect(await pageStatus(id)).toBe(404);
    expect(await listed()).toEqual([]);
    await runOut(id);
    expect((await create(id)).outcome).toBe('200');
    expect(await listed()).toEqual([id]);
    await remove(id);
  });

  test('leaves an entry that the sweep takes out, with the form that came after it left alone', async () => {
    const id = await dieAt('commit');
    await runOut(id);
    expect((await create(id)).outcome).toBe('200');
    expect(await entered()).toEqual([id, id]);
    clock += MINUTE;
    await vault.opened.sweep();
    expect(await entered()).toEqual([id, id]);
    clock += MINUTE;
    await vault.opened.sweep();
    expect(await entered()).toEqual([id]);
    expect(await listed()).toEqual([id]);
    clock += 1_000 * 24 * 60 * MINUTE;
    await vault.opened.sweep();
    expect(await listed()).toEqual([id]);
    await remove(id);
  });

  test('that comes back after its reservation has run out is refused and leaves nothing', async () => {
    const id = freshId();
    const held = holdNext(storeOf(), 'commit');
    const creation = create(id);
    await held.reached;
    await runOut(id);
    const [first, second] = [await create(id), held.release()];
    expect(first.outcome).toBe('200');
    expect(second).toBeUndefined();
    expect((await creation).outcome).toBe('503 overloaded');
    expect(await entered()).toEqual([id]);
    expect((await account.send('GET', IFRAME, { query: { form_id: id } })).outcome).toBe('200');
    await remove(id);
  });
});

describe('a deletion that died', () => {
  test('is finished by the sweep', async () => {
    const id = freshId();
    await create(id);
    const entry = (await vault.raw.zrange(redisKeys.formDirectory(account.aid), '0', '-1'))[0] ?? '';
    await remove(id);
    // As if the process had ended between the form and its entry.
    await vault.raw.zadd(redisKeys.formDirectory(account.aid), clock, entry);
    expect(await listed()).toEqual([]);
    await vault.opened.sweep();
    expect(await entered()).toEqual([]);
  });

  test('never touches a form made later under the same id', async () => {
    const id = freshId();
    await create(id);
    const held = holdNext(storeOf(), 'remove');
    const deletion = remove(id);
    await held.reached;
    expect((await remove(id)).outcome).toBe('200');
    expect((await create(id)).outcome).toBe('200');
    held.release();
    expect((await deletion).outcome).toBe('404 form_not_found');
    expect(await listed()).toEqual([id]);
    await remove(id);
  });
});

test('an account has 10,000 forms at most, and what is refused leaves nothing', async () => {
  const client = await vault.account();
  const directory = redisKeys.formDirectory(client.aid);
  const entries = Array.from({ length: 9_999 }, (_, n) => [START * 2, `nonce many-${n}`] as const);
  await vault.raw.zadd(directory, ...entries.flat());
  const [last, over] = [freshId(), freshId()];
  expect((await create(last, client)).outcome).toBe('200');
  const refused = await create(over, client);
  expect(refused.outcome).toBe('409 forms_full');
  expect(await vault.raw.exists(redisKeys.form(over))).toBe(0);
  expect(await vault.raw.zcard(directory)).toBe(10_000);
  expect((await client.send('DELETE', `${IFRAME}/${last}`)).outcome).toBe('200');
  expect((await create(over, client)).outcome).toBe('200');
  await client.send('DELETE', `${IFRAME}/${over}`);
});

describe('somebody who writes to Redis', () => {
  const refusedPage = async (id: string): Promise<void> => {
    expect(await pageStatus(id)).toBe(500);
    const answer = await account.send('GET', IFRAME, { query: { form_id: id } });
    expect(answer.outcome).toBe('500 integrity_failed');
  };

  test('cannot change a form, nor put one in the place of another', async () => {
    const [id, second] = [freshId(), freshId()];
    await Promise.all([create(id), create(second)]);
    const sealed = (await vault.raw.hgetBuffer(redisKeys.form(id), 's')) ?? Buffer.alloc(0);
    const theirs = (await vault.raw.hgetBuffer(redisKeys.form(second), 's')) ?? Buffer.alloc(0);
    for (const wrong of [flip(sealed, 0), flip(sealed, sealed.length - 1), sealed.subarray(1), theirs]) {
      await vault.raw.hset(redisKeys.form(id), 's', wrong);
      await refusedPage(id);
    }
    await vault.raw.hset(redisKeys.form(id), 's', sealed);
    expect(await pageStatus(id)).toBe(200);
    const stranger = await vault.account();
    await vault.raw.hset(redisKeys.form(id), 'a', stranger.aid);
    expect(await pageStatus(id)).toBe(500);
    await vault.raw.hset(redisKeys.form(id), 'a', account.aid);
    await Promise.all([remove(id), remove(second)]);
  });

  test('cannot hold up a list or the sweep with entries and records of their own', async () => {
    const id = freshId();
    await create(id);
    const directory = redisKeys.formDirectory(account.aid);
    await vault.raw.zadd(directory, 0, 'x', 0, 'a b c', 0, Buffer.from([0x61, 0x20, 0xff]));
    expect(await listed()).toEqual([id]);
    await vault.opened.sweep();
    expect(await entered()).toEqual([id]);
    const [damaged, abandoned] = [freshId(), freshId()];
    await create(damaged);
    await vault.raw.set(redisKeys.form(damaged), 'x');
    await vault.raw.zadd(directory, clock + 3 * MINUTE, `nonce ${abandoned}`);
    clock += 4 * MINUTE;
    await vault.opened.sweep();
    expect(await entered()).toEqual([damaged, id].sort());
    expect((await remove(id)).outcome).toBe('200');
    await vault.raw.del(redisKeys.form(damaged));
  });

  test('cannot bring a form into the list, the sweep or the deletion of another account', async () => {
    const id = freshId();
    await create(id);
    const [entry = ''] = await vault.raw.zrange(redisKeys.formDirectory(account.aid), '0', '-1');
    const stranger = await vault.account();
    const directory = redisKeys.formDirectory(stranger.aid);
    const bring = (): Promise<unknown> => vault.raw.zadd(directory, 0, entry);
    const isKept = async (): Promise<void> => {
      expect(await listed()).toEqual([id]);
      expect(await pageStatus(id)).toBe(200);
    };
    await bring();
    expect((await stranger.send('GET', IFRAME)).text).toBe('[]');
    await vault.opened.sweep();
    expect(await vault.raw.zcard(directory)).toBe(0);
    await isKept();
    await bring();
    await vault.opened.removeAccount(stranger.name);
    expect(await vault.raw.exists(directory)).toBe(0);
    await isKept();
    await remove(id);
  });

  test('cannot make an account’s deletion stop half-way', async () => {
    const client = await vault.account();
    const id = freshId();
    await create(id, client);
    await vault.raw.del(redisKeys.form(id));
    await vault.raw.set(redisKeys.form(id), 'x');
    await vault.opened.removeAccount(client.name);
    expect(await vault.raw.exists(redisKeys.formDirectory(client.aid))).toBe(0);
    await vault.raw.del(redisKeys.form(id));
  });
});
