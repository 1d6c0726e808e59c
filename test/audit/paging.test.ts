import { afterAll, describe, expect, test } from 'bun:test';
import type { AuditEntry } from '../../sdk/index.ts';
import { entriesOf } from '../helpers/audit.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const START = Date.parse('2026-03-10T00:00:00Z');

let now = START;
const times: number[] = [];

function record(object: string, aid = account.aid): Promise<void> {
  const from = { actor: 'operator', ip: '', userAgent: '', requestId: '' };
  return vault.opened.services.audit.record({
    ...from,
    aid,
    action: 'rule.create',
    outcome: 'success',
    object,
  });
}

/** 200 events between jumps of the clock, a day to and fro. */
const vault = await openTestVault({ now: () => now });
const account = await vault.account();
for (let i = 0; i < 200; i++) {
  now += 1_000 + (i % 20 === 7 ? DAY_MS : i % 20 === 13 ? -DAY_MS : 0);
  await record(`rule/${i}`);
  times.push(now);
}
afterAll(() => vault.close());

function text(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
async function pagesOf(query: Record<string, string | number>): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  for await (const { data } of account.sdk.audit.pages(query)) {
    found.push(...data);
  }
  return found.filter(({ action }) => action === 'rule.create');
}

test('numbers grow whatever the clock does, and times are what it said', async () => {
  const entries = (await pagesOf({ limit: 1_000 })).reverse();
  expect(entries.map(({ id }) => Number(id))).toEqual(entries.map((_, i) => i + 1));
  expect(entries.map(({ time }) => Date.parse(time))).toEqual(times);
});

test('pages lose and repeat nothing while new entries come', async () => {
  const found: string[] = [];
  for await (const { data } of account.sdk.audit.pages({ limit: 7, action: 'rule.create' })) {
    found.push(...data.map(({ object = '' }) => object));
    await record('rule/new');
  }
  const expected = Array.from({ length: 200 }, (_, i) => `rule/${199 - i}`);
  expect(found.filter((object) => object !== 'rule/new')).toEqual(expected);
});

test('times are found whatever the clock did', async () => {
  for (let i = 0; i < 200; i += 11) {
    const at = times[i] ?? 0;
    const [after, before] = [text(at - 3_000), text(at + 4_000)];
    const wanted = times.flatMap((time, n) => (time >= at - 3_000 && time < at + 4_000 ? [`rule/${n}`] : []));
    const found = await pagesOf({ after, before, action: 'rule.create', limit: 5 });
    expect(found.map(({ object = '' }) => object).filter((object) => object !== 'rule/new')).toEqual(
      wanted.reverse(),
    );
  }
});

test('a cursor is good for its account and filter alone', async () => {
  const other = await vault.account();
  await record('rule/other', other.aid);
  const first = await account.send('GET', '/audit', { query: { limit: 3, action: 'rule.create' } });
  const next = first.headers.get('x-vault-next-token') ?? '';
  const ask = (client: AccountClient, query: Record<string, string | number>) =>
    client.send('GET', '/audit', { query: { limit: 3, next_token: next, ...query } });
  expect((await ask(account, { action: 'rule.create' })).outcome).toBe('200');
  expect((await ask(account, {})).outcome).toBe('400 cursor_invalid');
  expect((await ask(account, { action: 'rule.create', after: text(START) })).outcome).toBe(
    '400 cursor_invalid',
  );
  expect((await ask(other, { action: 'rule.create' })).outcome).toBe('400 cursor_invalid');
});

test('a token names the entries about it', async () => {
  await account.key('u');
  const token = await account.store('u', { number: '4111111111111111' });
  const other = await account.store('u', { number: '4242424242424242' });
  await account.send('DELETE', '/vault', { query: { user: 'u', token } });
  await account.send('DELETE', '/vault', { query: { user: 'u', token: other } });
  const entries = await entriesOf(account, { token });
  expect(entries.map(({ action, object }) => [action, object])).toEqual([['item.delete', `item/u/${token}`]]);
});

test('a damaged entry is an error, and nothing is shown in its place', async () => {
  const damaged = await vault.account();
  await record('rule/a', damaged.aid);
  await record('rule/b', damaged.aid);
  await vault.raw.hdel(`{a:${damaged.aid}}log`, '1');
  expect((await damaged.send('GET', '/audit')).outcome).toBe('500 integrity_failed');
});

describe('a log whose head', () => {
  async function chain() {
    const client = await vault.account();
    for (const name of ['a', 'b', 'c']) {
      await record(`rule/${name}`, client.aid);
    }
    // Its sign-in is recorded too.
    expect((await client.send('GET', '/audit')).outcome).toBe('200');
    return { client, name: `{a:${client.aid}}log` };
  }

  test('was removed is an error, and nothing is written over its entries', async () => {
    const { client, name } = await chain();
    await vault.raw.hdel(name, 'h');
    const before = await vault.raw.hgetallBuffer(name);
    expect((await client.send('GET', '/audit')).outcome).toBe('500 integrity_failed');
    expect((await client.send('GET', '/audit', { query: { limit: -1 } })).outcome).toBe(
      '500 integrity_failed',
    );
    await expect(record('rule/d', client.aid)).rejects.toMatchObject({ code: 'integrity_failed' });
    expect(await vault.raw.hgetallBuffer(name)).toEqual(before);
  });

  test('is an older one is an error, also when its later entries are gone and a checkpoint is left', async () => {
    const { client, name } = await chain();
    const head = (await vault.raw.hgetBuffer(name, 'h')) ?? Buffer.alloc(0);
    await record('rule/d', client.aid);
    await vault.opened.checkpoint();
    await vault.raw.hset(name, 'h', head);
    expect((await client.send('GET', '/audit')).outcome).toBe('500 integrity_failed');
    await expect(record('rule/e', client.aid)).rejects.toMatchObject({ code: 'integrity_failed' });
    await vault.raw.hdel(name, '4');
    expect((await client.send('GET', '/audit')).outcome).toBe('500 integrity_failed');
    await vault.raw.del(name);
    expect((await client.send('GET', '/audit')).outcome).toBe('500 integrity_failed');
  });

  test('does not open is an error', async () => {
    const { client, name } = await chain();
    const head = (await vault.raw.hgetBuffer(name, 'h')) ?? Buffer.alloc(0);
    for (const damaged of [head.subarray(0, -1), Buffer.from('x'), Buffer.from(head).fill(1, 40, 44)]) {
      await vault.raw.hset(name, 'h', damaged);
      expect((await client.send('GET', '/audit')).outcome).toBe('500 integrity_failed');
    }
  });
});
