/** An erasure of a reference among requests that write the same items, and in a process that dies. */
import { afterAll, afterEach, beforeAll, expect, mock, spyOn, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { newMortalVault } from '../../durability/server.ts';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import { commandJson } from '../../helpers/command.ts';
import { thirdPartyTrust } from '../../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const REFERENCE = 'customer';
const POLL_MS = 5;

let vault: TestVault;
let account: AccountClient;
let kid: string;
beforeAll(async () => {
  vault = await openTestVault({ alone: true });
  account = await vault.account();
  await account.key('u');
  kid = await vault.kidOf(account, 'u');
});
afterEach(() => {
  mock.restore();
});
afterAll(() => vault.close());

interface Info {
  readonly token: string;
  readonly created: boolean;
}

async function storeBatch(client: AccountClient, numbers: readonly string[]): Promise<readonly Info[]> {
  const items = numbers.map((number) => ({ data: { number }, reference: REFERENCE }));
  const given = { passphrase: PASSPHRASE, body: { user: 'u', items } };
  const answer = await client.send('POST', '/vault/batch', given);
  expect(answer.outcome).toBe('200');
  return answer.as<{ results: Info[] }>().results;
}
async function storeOne(number: string): Promise<Info> {
  const answer = await account.send('POST', '/vault', {
    query: { user: 'u', reference: REFERENCE },
    passphrase: PASSPHRASE,
    body: { number },
  });
  expect(answer.outcome).toBe('200');
  return answer.as<Info>();
}
async function erased(client = account): Promise<number> {
  const query = { user: 'u', reference: REFERENCE, all: true };
  const answer = await client.send('DELETE', '/vault', { query });
  expect(answer.outcome).toBe('200');
  return answer.as<{ deleted: number }>().deleted;
}
async function listed(client = account): Promise<string[]> {
  const query = { user: 'u', reference: REFERENCE, limit: -1 };
  const answer = await client.send('GET', '/vault', { query });
  return (answer.as<Record<string, Info[]>>()['u'] ?? []).map(({ token }) => token).sort();
}

test('stores, batches, updates and another erasure between its steps: nothing from before stays, nothing from after goes', async () => {
  const numbers = Array.from({ length: 120 }, (_, n) => `${n}`);
  const before = (await storeBatch(account, numbers)).map(({ token }) => token);
  let created = before.length;
  let fresh = before.length;
  const nextNumber = (): string => {
    fresh += 1;
    return `${fresh}`;
  };
  const count = (infos: readonly Info[]): void => {
    created += infos.filter((info) => info.created).length;
  };
  const { itemStore } = vault.opened.stores;
  const { remove } = itemStore;
  const others: Promise<unknown>[] = [];
  let other: Promise<number> | undefined;
  // Each of the first pieces was read, and is to be deleted: all that it has changes first, or comes back behind it.
  let pieces = 0;
  spyOn(itemStore, 'remove').mockImplementation(async (bucket, items) => {
    pieces += 1;
    if (pieces > 12) {
      return remove(bucket, items);
    }
    other ??= erased();
    const [{ token = '' } = {}] = items;
    const query = { user: 'u', token, reference: REFERENCE };
    const given = { query, passphrase: PASSPHRASE, body: { name: 'Ada' } };
    const { outcome } = await account.send('POST', '/vault/update', given);
    expect(['200', '404 token_not_found']).toContain(outcome);
    const at = before.indexOf(token);
    others.push(storeOne(nextNumber()).then((info) => count([info])));
    others.push(storeBatch(account, [nextNumber(), numbers[at] ?? nextNumber(), nextNumber()]).then(count));
    return remove(bucket, items);
  });
  const usedBefore = (await vault.usage(account))['delete'] ?? 0;
  const first = await erased();
  const second = (await other) ?? 0;
  await Promise.all(others);
  expect(pieces).toBeGreaterThan(12);
  mock.restore();
  const left = await listed();
  // Every item that was ever made was deleted by one of them, or is there.
  expect(first + second + left.length).toBe(created);
  expect(((await vault.usage(account))['delete'] ?? 0) - usedBefore).toBe(first + second);
  for (const token of left) {
    expect(await account.open('u', token, { reference: REFERENCE })).toContain('number');
  }
  // What was not stored anew meanwhile is gone with all its traces.
  const names = await vault.raw.keys(`{${kid}.*}[is]*`);
  expect(
    before.filter((token) => !left.includes(token) && names.some((name) => name.endsWith(token))),
  ).toEqual([]);
  expect(names.filter((name) => name.includes('}i'))).toHaveLength(left.length);
  // What is stored after the replies stays.
  const after = [await storeOne(nextNumber()), ...(await storeBatch(account, [nextNumber(), nextNumber()]))];
  expect(after.every((info) => info.created)).toBe(true);
  expect(await listed()).toEqual([...left, ...after.map(({ token }) => token)].sort());
  expect(await commandJson<object>(vault, 'verify')).toMatchObject({ ok: true, faults: [] });
  expect(await erased()).toBe(left.length + after.length);
});

test('in a server that is killed in the middle: its repeat deletes and counts the rest', async () => {
  const mortal = newMortalVault((await thirdPartyTrust()).authority.pem);
  try {
    await mortal.start();
    const { client, raw } = mortal;
    await client.key('u');
    const stored = await storeBatch(
      client,
      Array.from({ length: 300 }, (_, n) => `${n}`),
    );
    const itemsOf = (bucket: string): Promise<string[]> => raw.keys(`{*.${bucket}}i*`);
    const used = async (): Promise<number> => {
      const [name = ''] = await raw.keys('{a:*}u:*');
      return Number(await raw.hget(name, 'delete'));
    };
    // A bucket that a deletion of the key has closed is left for later: the erasure cannot end before the server does.
    const held = await itemsOf('7');
    const owner = /^\{([^.]+)\./.exec(held[0] ?? '')?.[1] ?? '';
    const fence = redisKeys.fence({ kid: owner, number: 7 });
    await raw.hset(fence, 'c', Date.now() + 600_000);
    const broken = erased(client).then(
      () => 'done',
      () => 'broken',
    );
    while ((await used()) < stored.length - held.length) {
      await Bun.sleep(POLL_MS);
    }
    await mortal.kill();
    expect(await broken).toBe('broken');
    await mortal.start();
    await raw.hdel(fence, 'c');
    expect((await listed(client)).length).toBe(held.length);
    expect(await erased(client)).toBe(held.length);
    expect(await listed(client)).toEqual([]);
    expect(await itemsOf('*')).toEqual([]);
    expect(await used()).toBe(stored.length);
  } finally {
    await mortal.remove();
  }
});
