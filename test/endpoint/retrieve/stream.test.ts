import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import { listen } from '../../../server/http/listen/listen.ts';
import type { AccountClient } from '../../helpers/clients.ts';
import { createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { namesOf } from '../../helpers/walk.ts';

const ITEMS = 3_000;
const BATCH = 100;

let vault: TestVault;
let account: AccountClient;
let open: MadeEndpoint;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  for (let from = 0; from < ITEMS; from += BATCH) {
    await Promise.all(
      Array.from({ length: BATCH }, (_, n) =>
        account.store('u', { number: `${from + n}`, text: 'x'.repeat(100), big: `n${from + n}` }),
      ),
    );
  }
  open = await createRetrieve(account, 'u');
});
afterAll(() => vault.close());

/** A reply that is read piece by piece. */
async function begin(search: string, handle = vault.handle) {
  const headers = { 'x-vault-retrieve-secret': open.secret };
  const response = await handle(new Request(`http://localhost${open.url}?${search}`, { headers }));
  expect(response.status).toBe(200);
  return (response.body ?? new ReadableStream<Uint8Array>()).getReader();
}
async function counted(): Promise<number> {
  return (await vault.usage(account))['retrieve'] ?? 0;
}

describe('3,000 items', () => {
  test('come in one reply without a limit, each once, in order, in many pieces', async () => {
    const before = await counted();
    const reader = await begin('decrypt_all=true&limit=-1');
    const pieces: Uint8Array[] = [];
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      pieces.push(step.value);
    }
    expect(pieces.length).toBeGreaterThan(4);
    const tree = JSON.parse(Buffer.concat(pieces).toString()) as Tree;
    expect(Object.keys(tree)).toEqual(['u']);
    const numbers = new Set((tree['u'] ?? []).map(({ data }) => data?.['number']));
    expect(numbers.size).toBe(ITEMS);
    expect((tree['u'] ?? []).every(({ data }) => data?.['big'] === `n${data?.['number']}`)).toBe(true);
    const listed = await account.sdk.vault.list({ user: 'u', limit: -1 });
    expect(namesOf(tree)).toEqual(namesOf(listed.data));
    expect((await counted()) - before).toBe(ITEMS);
  });

  test('come 1,024 at a time when nothing else is asked for', async () => {
    const walked: string[] = [];
    const sizes: number[] = [];
    let next_token: string | undefined;
    do {
      const page = await retrieve(vault, open, { query: { next_token } });
      const names = namesOf(page.as<Tree>());
      sizes.push(names.length);
      walked.push(...names);
      next_token = page.headers.get('x-vault-next-token') ?? undefined;
    } while (next_token !== undefined);
    expect(sizes).toEqual([1_024, 1_024, ITEMS - 2_048]);
    expect(walked).toEqual(namesOf((await account.sdk.vault.list({ user: 'u', limit: -1 })).data));
  });

  test('are logged and counted no further than they were read when the client goes away', async () => {
    const before = await counted();
    const reader = await begin('decrypt_all=true&limit=-1');
    const first = await reader.read();
    expect(first.value?.length).toBeGreaterThan(0);
    // The work that is under way ends with the cancellation, and none begins after it.
    await reader.cancel();
    const opened = (await counted()) - before;
    expect(opened).toBeGreaterThan(0);
    expect(opened).toBeLessThan(ITEMS);
    const { queued, running } = vault.opened.pool.stats();
    expect([queued.hot + queued.bulk, running]).toEqual([0, 0]);
    const log = await Promise.all(
      namesOf((await account.sdk.vault.list({ user: 'u', limit: -1 })).data)
        .slice(-50)
        .map(async (name) => (await account.sdk.vault.log({ user: 'u', token: name.slice(2) })).data.length),
    );
    // The last items were opened by the first test alone.
    expect(new Set(log)).toEqual(new Set([2]));
    expect((await counted()) - before).toBe(opened);
  });

  test('hold up nobody else while nobody reads them', async () => {
    const readers = await Promise.all(Array.from({ length: 4 }, () => begin('decrypt_all=true&limit=-1')));
    const token = await account.store('u', { number: 'beside 1' });
    expect((await retrieve(vault, open, { query: { token } })).outcome).toBe('200');
    await account.sdk.vault.delete({ user: 'u', token });
    await Promise.all(readers.map((reader) => reader.cancel()));
  });

  test('over a socket, a client that goes away ends the work', async () => {
    const server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
    const { itemStore } = vault.opened.stores;
    const held = holdNext(itemStore, 'readMany', { skip: 4 });
    const before = await counted();
    const abort = new AbortController();
    const url = `http://127.0.0.1:${server.port}${open.url}?decrypt_all=true&limit=-1`;
    const headers = { 'x-vault-retrieve-secret': open.secret };
    const response = await fetch(url, { headers, signal: abort.signal });
    expect(response.status).toBe(200);
    await held.reached;
    abort.abort();
    held.release();
    await server.stop(true);
    expect((await counted()) - before).toBeLessThan(ITEMS);
  });
});
