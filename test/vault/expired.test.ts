/** What is left of items that have expired: their logs, for as long as the security log is kept. */
import { afterAll, afterEach, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { commandJson } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const RETENTION_MS = 10 * DAY_MS;
/** What the sweep waits, for clocks that differ. */
const GRACE_MS = 60_000;

/** The server's clock, ms since 1970; the system's while it is 0. That of Redis is always the system's. */
let clock = 0;

const vault = await openTestVault({ now: () => clock || Date.now(), auditRetentionMs: RETENTION_MS });
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());
afterEach(() => {
  clock = 0;
});

function swept(server = vault): Promise<void> {
  return server.opened.services.expiry.sweep(account.aid);
}

let numbers = 0;
/** Items that have expired so many days ago, by all clocks, and of which nothing but the logs is left. */
async function expired(count: number, days: number): Promise<{ tokens: string[]; end: number }> {
  clock = Date.now() - days * DAY_MS;
  const items = Array.from({ length: count }, () => {
    numbers += 1;
    return { data: { number: `${numbers}` }, ttl: '1h', reference: `r${numbers}` };
  });
  const answer = await account.send('POST', '/vault/batch', {
    passphrase: PASSPHRASE,
    body: { user: 'u', items },
  });
  const { results } = answer.as<{ results: { token: string; expires_at: string }[] }>();
  const end = Math.max(...results.map((result) => Date.parse(result.expires_at)));
  clock = end + GRACE_MS;
  await swept();
  return { tokens: results.map(({ token }) => token), end };
}

/** Those that have something in the vault. */
async function left(tokens: readonly string[]): Promise<string[]> {
  const names = await vault.raw.keys(`{${await vault.kidOf(account, 'u')}.*}i*`);
  return tokens.filter((token) => names.some((name) => name.endsWith(`}i${token}`)));
}

async function logOf(token: string, reference: string) {
  const query = { user: 'u', token, reference };
  const answer = await account.send('GET', '/vault/metadata', { query });
  return answer.status === 200 ? answer.as<unknown[]>().length : answer.outcome;
}

test('a log goes when the retention of the security log has passed since the expiry of its item, and nothing before', async () => {
  const { tokens, end } = await expired(1, 20);
  const [token = ''] = tokens;
  const reference = `r${numbers}`;
  await vault.opened.services.logHeads.catchUp();
  clock = end + RETENTION_MS + GRACE_MS - 1;
  await swept();
  expect(await logOf(token, reference)).toBe(1);
  clock += 1;
  await swept();
  expect(await logOf(token, reference)).toBe('404 token_not_found');
  expect(await left(tokens)).toEqual([]);
  const bucket = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), token);
  expect(await vault.raw.zscore(redisKeys.expiries(bucket), token)).toBeNull();
  // That a recorded log is gone is no fault, neither before nor after that is recorded.
  expect(await commandJson<object>(vault, 'verify')).toMatchObject({ ok: true, faults: [] });
  await vault.opened.services.logHeads.catchUp();
  expect(await commandJson<object>(vault, 'verify')).toMatchObject({ ok: true, faults: [] });
});

test('a clock of this server that is ahead alone removes no log', async () => {
  const { tokens } = await expired(1, 5);
  clock = Date.now() + 100 * DAY_MS;
  await swept();
  expect(await left(tokens)).toEqual(tokens);
});

test('logs that are kept without limit stay', async () => {
  const { tokens } = await expired(1, 20);
  const forEver = await vault.secondServer({ auditRetentionMs: 0 });
  await swept(forEver);
  expect(await left(tokens)).toEqual(tokens);
  await forEver.close();
  // The limit that is set holds for what has expired before, too.
  clock = 0;
  await swept();
  expect(await left(tokens)).toEqual([]);
});

test('what was stored anew stays, with the log that it goes on', async () => {
  const { tokens, end } = await expired(1, 20);
  const [token = ''] = tokens;
  const reference = `r${numbers}`;
  expect(await account.store('u', { number: `${numbers}` }, { reference })).toBe(token);
  clock = end + 15 * DAY_MS;
  await swept();
  clock = 0;
  expect(await account.open('u', token, { reference })).toContain('number');
  expect(await logOf(token, reference)).toBe(3);
});

test('many go at once, and those that are damaged hold up no others', async () => {
  const { tokens } = await expired(400, 20);
  const { itemStore } = vault.opened.stores;
  const kid = await vault.kidOf(account, 'u');
  const first = itemStore.bucketOf(kid, tokens[0] ?? '').number;
  const damaged = tokens.filter((token) => itemStore.bucketOf(kid, token).number === first);
  const names = damaged.map((token) => redisKeys.item({ kid, number: first }, token));
  const metas = await Promise.all(names.map((name) => vault.raw.hgetBuffer(name, 'm')));
  await Promise.all(names.slice(1).map((name) => vault.raw.hset(name, 'm', Buffer.alloc(64))));
  clock = 0;
  await swept();
  expect(await left(tokens)).toEqual(damaged.slice(1));
  await Promise.all(names.slice(1).map((name, i) => vault.raw.hset(name, 'm', metas[i + 1] ?? '')));
  await swept();
  expect(await left(tokens)).toEqual([]);
  expect(await commandJson<object>(vault, 'verify')).toMatchObject({ ok: true, faults: [] });
});

test.each(['1', '-1'])(
  'an item that does not expire stays where the expiries name it with %s',
  async (score) => {
    numbers += 1;
    const token = await account.store('u', { number: `${numbers}` });
    await vault.opened.services.logHeads.catchUp();
    const expiries = redisKeys.expiries(
      vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), token),
    );
    await vault.raw.zadd(expiries, score, token);
    await swept();
    expect(await account.open('u', token)).toContain('number');
    // The forged entry is left for `vault verify` to report.
    expect(await vault.raw.zscore(expiries, token)).toBe(score);
  },
);
