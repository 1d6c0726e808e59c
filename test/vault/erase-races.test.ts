/** An erasure of a reference among requests that write the same items. */
import { afterAll, afterEach, expect, mock, spyOn, test } from 'bun:test';
import { PASSPHRASE } from '../helpers/clients.ts';
import { commandJson } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';

const REFERENCE = 'customer';

const vault = await openTestVault({ alone: true });
const account = await vault.account();
await account.key('u');
const kid = await vault.kidOf(account, 'u');
afterEach(() => {
  mock.restore();
});
afterAll(() => vault.close());

interface Info {
  readonly token: string;
  readonly created: boolean;
}

async function storeBatch(numbers: readonly string[]): Promise<readonly Info[]> {
  const items = numbers.map((number) => ({ data: { number }, reference: REFERENCE }));
  const given = { passphrase: PASSPHRASE, body: { user: 'u', items } };
  const answer = await account.send('POST', '/vault/batch', given);
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
async function erased(): Promise<number> {
  const query = { user: 'u', reference: REFERENCE, all: true };
  const answer = await account.send('DELETE', '/vault', { query });
  expect(answer.outcome).toBe('200');
  return answer.as<{ deleted: number }>().deleted;
}
async function listed(): Promise<string[]> {
  const query = { user: 'u', reference: REFERENCE, limit: -1 };
  const answer = await account.send('GET', '/vault', { query });
  return (answer.as<Record<string, Info[]>>()['u'] ?? []).map(({ token }) => token).sort();
}

test('stores, batches, updates and another erasure between its steps: nothing from before stays, nothing from after goes', async () => {
  const numbers = Array.from({ length: 120 }, (_, n) => `${n}`);
  const before = (await storeBatch(numbers)).map(({ token }) => token);
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
  const remove = itemStore.remove.bind(itemStore);
  const others: Promise<unknown>[] = [];
  let other: Promise<number> | undefined;
  // Each of the first pieces was read, and is to be deleted: all that it has changes first, or comes back behind it.
  let pieces = 0;
  spyOn(itemStore, 'remove').mockImplementation(async (bucket, items, counted) => {
    pieces += 1;
    if (pieces > 12) {
      return remove(bucket, items, counted);
    }
    other ??= erased();
    const [{ token = '' } = {}] = items;
    const query = { user: 'u', token, reference: REFERENCE };
    const given = { query, passphrase: PASSPHRASE, body: { name: 'Ada' } };
    const { outcome } = await account.send('POST', '/vault/update', given);
    expect(['200', '404 token_not_found']).toContain(outcome);
    const at = before.indexOf(token);
    others.push(storeOne(nextNumber()).then((info) => count([info])));
    others.push(storeBatch([nextNumber(), numbers[at] ?? nextNumber(), nextNumber()]).then(count));
    return remove(bucket, items, counted);
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
  const after = [await storeOne(nextNumber()), ...(await storeBatch([nextNumber(), nextNumber()]))];
  expect(after.every((info) => info.created)).toBe(true);
  expect(await listed()).toEqual([...left, ...after.map(({ token }) => token)].sort());
  expect(await commandJson<object>(vault, 'verify')).toMatchObject({ ok: true, faults: [] });
  expect(await erased()).toBe(left.length + after.length);
});
