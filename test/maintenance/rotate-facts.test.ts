/** What items have beside their data, and what is left of those that have expired, when keys are replaced. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

setDefaultTimeout(60_000);

const DAY_MS = 24 * 60 * 60 * 1_000;
const OLD = ['old', new Uint8Array(32).fill(7)] as const;
const NEW = ['new', new Uint8Array(32).fill(9)] as const;
const METADATA = '{"tier":"gold","note":"a"}';
const CARD = { brand: 'visa', last_four: '1111', expiry_month: '12', expiry_year: '2029' };

let vault: TestVault;
let account: AccountClient;
/** The clock of all servers, ms since 1970; the system's while it is 0. */
let clock = 0;
let left = '';
let kept: string[] = [];
let etags: ReadonlyMap<string, string> = new Map();

beforeEach(async () => {
  vault = await openTestVault({
    alone: true,
    masterKeys: new Map([OLD]),
    now: () => clock || Date.now(),
    auditRetentionMs: 10 * DAY_MS,
  });
  account = await vault.account();
  const body = { user: 'u', passphrase: PASSPHRASE, summary: true };
  expect((await account.send('POST', '/key', { body })).outcome).toBe('200');
  left = await storeExpired(5);
  await sweep();
  kept = [await store({ ttl: '1h' }), await store()].sort();
  etags = new Map(
    await Promise.all(kept.map(async (token) => [token, await etagOf(account, token)] as const)),
  );
});
afterEach(() => vault.close());

async function store(query: Query = {}, client = account): Promise<string> {
  const answer = await client.send('POST', '/vault', {
    query: { user: 'u', metadata: METADATA, algorithm: 'uuid', ...query },
    passphrase: PASSPHRASE,
    body: { card_number: '4111111111111111', expiry: '12/29' },
  });
  expect(answer.outcome).toBe('200');
  return answer.as<{ token: string }>().token;
}
/** An item that has expired so many days ago, by all clocks. */
async function storeExpired(days: number, query: Query = {}, client = account): Promise<string> {
  clock = Date.now() - days * DAY_MS;
  const token = await store({ ttl: '1h', ...query }, client);
  clock = 0;
  return token;
}
function sweep(server = vault): Promise<void> {
  return server.opened.services.expiry.sweep(account.aid);
}
interface Item {
  readonly token: string;
  readonly card?: object;
}
async function listed(client: AccountClient, query: Query): Promise<readonly Item[]> {
  const answer = await client.send('GET', '/vault', { query: { user: 'u', limit: -1, ...query } });
  expect(answer.outcome).toBe('200');
  return answer.as<Record<string, Item[]>>()['u'] ?? [];
}
async function found(client: AccountClient, metadata: string): Promise<string[]> {
  return (await listed(client, { metadata })).map(({ token }) => token).sort();
}
async function foundByDigits(client: AccountClient): Promise<string[]> {
  return (await listed(client, { last_four: '1111' })).map(({ token }) => token).sort();
}
/** The ETag of an item, whose opening is logged. */
async function etagOf(client: AccountClient, token: string): Promise<string> {
  const answer = await client.send('GET', '/vault', { query: { user: 'u', token }, passphrase: PASSPHRASE });
  return answer.headers.get('etag') ?? answer.outcome;
}
async function logLength(client: AccountClient, token: string, reference?: string): Promise<number | string> {
  const answer = await client.send('GET', '/vault/metadata', { query: { user: 'u', token, reference } });
  return answer.status === 200 ? answer.as<unknown[]>().length : answer.outcome;
}
/** All of it is as it was before, and ends as it would have. */
async function expectWhole(server: TestVault): Promise<void> {
  const client = account.via(server.handle);
  for (const metadata of ['tier:gold', 'note:a']) {
    expect(await found(client, metadata)).toEqual(kept);
  }
  expect(await foundByDigits(client)).toEqual(kept);
  for (const [token, etag] of etags) {
    expect(await etagOf(client, token)).toBe(etag);
  }
  for (const { card } of await listed(client, {})) {
    expect(card).toEqual(CARD);
  }
  expect(await logLength(client, left)).toBe(1);
  const { out } = await runCommand(['verify', '--json'], { vault: server });
  expect(JSON.parse(out)).toMatchObject({ ok: true, faults: [] });
  // Its log goes when its time has come: it is made to have expired long ago.
  const late = await storeExpired(20, {}, client);
  await sweep(server);
  expect(await logLength(client, late)).toBe('404 token_not_found');
  expect(await logLength(client, left)).toBe(1);
}

test('a new master key reads all of it', async () => {
  const rotating = await vault.secondServer({ masterKeys: new Map([NEW, OLD]) });
  expect(await commandJson<object>(rotating, 'rotate-master')).toMatchObject({ done: true, lostTotal: 0 });
  await rotating.close();
  const alone = await vault.secondServer({ masterKeys: new Map([NEW]) });
  await expectWhole(alone);
  await alone.close();
});

test('a new passphrase leaves all of it', async () => {
  const body = { user: 'u', passphrase: PASSPHRASE, new_passphrase: PASSPHRASE };
  expect((await account.send('PUT', '/key', { body })).outcome).toBe('200');
  await expectWhole(vault);
});

/** Members of the metadata index of the key. */
async function indexed(): Promise<Set<string>> {
  const names = await vault.raw.keys('{*.*}y');
  const members = await Promise.all(names.map((name) => vault.raw.zrangeBuffer(name, '0', '-1')));
  return new Set(members.flat().map((member) => member.toString('hex')));
}

test('a new root finds by metadata in every phase, and no digest stays', async () => {
  const second = await vault.secondServer();
  const there = account.via(second.handle);
  const before = await indexed();
  expect(before.size).toBe(6);
  // One of them is updated.
  etags = new Map();
  const over = await storeExpired(3, { reference: 'over' });
  const states: string[] = [];
  const work = async (): Promise<void> => {
    kept = [...kept, await store(), await store({}, there)].sort();
    const doomed = await store({}, there);
    for (const client of [account, there]) {
      const [token = ''] = kept;
      const query = { user: 'u', token };
      const given = { query, passphrase: PASSPHRASE, body: { name: 'Ada' } };
      expect((await client.send('POST', '/vault/update', given)).outcome).toBe('200');
      expect(await found(client, 'tier:gold')).toEqual([...kept, doomed].sort());
    }
    const query = { user: 'u', token: doomed };
    expect((await account.send('DELETE', '/vault', { query })).outcome).toBe('200');
    for (const client of [account, there]) {
      expect(await found(client, 'tier:gold')).toEqual(kept);
      expect(await foundByDigits(client)).toEqual(kept);
    }
  };
  const outcome = await vault.opened.services.rootRotation.rotate({
    seen: () => undefined,
    waitForServers: async (state) => {
      states.push(state.split('.')[0] ?? '');
      // One server has taken the state up, the other has not.
      await second.opened.roots.refresh();
      await work();
      await vault.opened.roots.refresh();
      // It was stored under the older root, and expires under the newer one.
      await sweep(second);
      await work();
    },
  });
  expect([outcome.state, states]).toEqual(['pending', ['known', 'moving', 'steady']]);
  await work();
  expect(await logLength(there, over, 'over')).toBe(1);
  expect(await listed(there, { reference: 'over' })).toEqual([]);
  const after = await indexed();
  expect(after.size).toBe(3 * kept.length);
  expect([...before].filter((member) => after.has(member))).toEqual([]);
  await expectWhole(second);
  await second.close();
});
