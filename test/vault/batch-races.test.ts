/** What happens to items while a batch is worked on, and what their removal leaves behind. */
import { afterAll, afterEach, describe, expect, mock, spyOn, test } from 'bun:test';
import { type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

interface Result {
  readonly token?: string;
  readonly data?: Record<string, unknown>;
  readonly deleted?: true;
  readonly code?: string;
}

const TTL_MS = 60_000;

let ahead = 0;
let numbers = 0;

const vault = await openTestVault({ alone: true, sadTtlMs: TTL_MS, now: () => Date.now() + ahead });
const account = await vault.account();
await account.key('u');
const kid = await vault.kidOf(account, 'u');
afterEach(() => {
  mock.restore();
  ahead = 0;
});
afterAll(() => vault.close());

function newItem(data: object = {}, reference?: string): Promise<string> {
  numbers += 1;
  return account.store('u', { number: `${numbers}`, ...data }, { reference });
}
function newItems(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => newItem()));
}
function send(path: 'decrypt' | 'delete', tokens: readonly string[], user = 'u'): Promise<Answer> {
  return account.send('POST', `/vault/batch/${path}`, {
    ...(path === 'decrypt' ? { passphrase: PASSPHRASE } : {}),
    body: { user, items: tokens.map((token) => ({ token })) },
  });
}
async function resultsOf(answer: Promise<Answer>): Promise<Result[]> {
  const got = await answer;
  expect(got.outcome).toBe('200');
  return got.as<{ results: Result[] }>().results;
}
async function verified(): Promise<unknown> {
  const { out } = await runCommand(['verify', '--json'], { vault });
  return JSON.parse(out).bad;
}

describe('a batch to decrypt', () => {
  test('does not show an item that was deleted before its entry was written', async () => {
    const tokens = await newItems(3);
    const [, gone = ''] = tokens;
    const { itemStore } = vault.opened.stores;
    const appendLog = itemStore.appendLog.bind(itemStore);
    let isDeleted: Promise<unknown> | undefined;
    spyOn(itemStore, 'appendLog').mockImplementation(async (...args) => {
      isDeleted ??= account.sdk.vault.delete({ user: 'u', token: gone });
      await isDeleted;
      return appendLog(...args);
    });
    const results = await resultsOf(send('decrypt', tokens));
    expect(results.map(({ token, code }) => token ?? code)).toEqual([
      tokens[0],
      'token_not_found',
      tokens[2],
    ]);
  });

  test('merges what a capture has added to an item, and leaves out codes whose time is over', async () => {
    const token = await newItem({ cvv: '222', name: 'A' }, 'patched');
    const endpoint = await createCapture(account, 'u', { token, reference: 'patched' });
    expect((await capture(vault, endpoint, { body: { name: 'B' } })).status).toBe(200);
    const open = async () => {
      const body = { user: 'u', items: [{ token, reference: 'patched' }] };
      const answer = account.send('POST', '/vault/batch/decrypt', { passphrase: PASSPHRASE, body });
      return (await resultsOf(answer))[0]?.data;
    };
    expect(await open()).toMatchObject({ cvv: '222', name: 'B' });
    ahead = TTL_MS + 10_000;
    expect(await open()).not.toHaveProperty('cvv');
  });
});

describe('deletions', () => {
  test('are proved: recorded logs and indexes are whole behind them', async () => {
    const tokens = await newItems(40);
    const referred = await Promise.all(Array.from({ length: 20 }, () => newItem({}, 'proved')));
    await vault.opened.checkpoint();
    expect((await resultsOf(send('delete', tokens))).every(({ deleted }) => deleted)).toBe(true);
    expect(await account.sdk.vault.eraseReference({ user: 'u', reference: 'proved' })).toBe(referred.length);
    await vault.opened.checkpoint();
    expect(vault.events.filter(({ event }) => event === 'log_heads_fault')).toEqual([]);
    expect(await verified()).toEqual({});
  });

  test('wait while the key may be deleted, and go on when it stays', async () => {
    const tokens = await newItems(8);
    const until = Date.now() + 300;
    for (let number = 0; number < vault.opened.stores.itemStore.buckets; number++) {
      await vault.raw.hset(`{${kid}.${number}}f`, 'c', until);
    }
    expect((await resultsOf(send('delete', tokens))).map(({ deleted }) => deleted)).toEqual(
      tokens.map(() => true),
    );
    expect(Date.now()).toBeGreaterThanOrEqual(until);
  });

  test('at the same time as that of their key end, each in one of two ways', async () => {
    await account.key('short-lived');
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, i) => account.store('short-lived', { number: `${i + 1}` })),
    );
    const [batch, , erasure] = await Promise.all([
      send('delete', tokens, 'short-lived'),
      account.sdk.keys.delete({ user: 'short-lived', safe: false }),
      account.send('DELETE', '/vault', { query: { user: 'short-lived', reference: 'r', all: true } }),
    ]);
    for (const { outcome } of [batch, erasure]) {
      expect(['200', '404 key_not_found']).toContain(outcome);
    }
    expect(await verified()).toEqual({});
  });

  test('of several callers at once delete each item once', async () => {
    const tokens = await newItems(100);
    const all = await Promise.all(Array.from({ length: 4 }, () => resultsOf(send('delete', tokens))));
    const deleted = tokens.map((_, i) => all.filter((results) => results[i]?.deleted === true).length);
    expect(deleted).toEqual(tokens.map(() => 1));
  });
});
