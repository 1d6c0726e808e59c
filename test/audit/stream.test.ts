/** Access events on their way to the operator's sink: each at least once, and in the order of its log. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { startCollector, textsOf } from '../outbound/collector.ts';

/** An event as it stands in the sink. */
interface Line {
  readonly log: 'security' | 'item';
  readonly sequence: number;
  readonly account: string;
  readonly actor: string;
  readonly actor_name?: string;
  readonly token?: string;
  readonly action: string;
  readonly outcome: string;
  readonly request_id: string;
}

let folder: string;
let path: string;
let vault: TestVault;
let account: AccountClient;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-stream-'));
  path = join(folder, 'events.ndjson');
  vault = await openTestVault({ jobs: false, alone: true, auditSink: { kind: 'file', path } });
  account = await vault.account();
  await account.key('user');
});
afterEach(async () => {
  await vault.close();
  rmSync(folder, { recursive: true });
});

/** Records what has happened, and delivers it. */
async function deliver({ opened }: TestVault = vault): Promise<void> {
  await opened.checkpoint();
  await opened.services.auditStream?.round();
}

function linesOf(text: string): readonly Line[] {
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line);
}

function lines(): readonly Line[] {
  return linesOf(readFileSync(path, 'utf8'));
}

/** What the sink has of one item, as `sequence action outcome`. */
function eventsOf(token: string, all: readonly Line[] = lines()): readonly string[] {
  return all
    .filter((line) => line.token === token && line.log === 'item')
    .map(({ sequence, action, outcome }) => `${sequence} ${action} ${outcome}`);
}

function figures() {
  return vault.opened.services.auditStream?.figures();
}

describe('events', () => {
  test('of security logs arrive without a gap, and nothing in them is secret', async () => {
    await account.store('user', { number: '4111111111111111' });
    await deliver();
    const logs = Map.groupBy(
      lines().filter(({ log }) => log === 'security'),
      ({ account: name }) => name,
    );
    expect(logs.size).toBeGreaterThanOrEqual(1);
    for (const log of logs.values()) {
      expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, at) => at + 1));
    }
    expect(readFileSync(path, 'utf8')).not.toMatch(new RegExp(`4111111111111111|${PASSPHRASE}`));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('of many items, and of one that was used very often, arrive in order, each once', async () => {
    const often = await account.store('user', { number: '4111111111111111' });
    const numbers = Array.from({ length: 100 }, (_, n) => String(5_000_000_000 + n));
    const tokens = await Promise.all(numbers.map((number) => account.store('user', { number })));
    for (let n = 0; n < 15; n++) {
      await Promise.all(Array.from({ length: 20 }, () => account.open('user', often)));
    }
    await Promise.all(tokens.map((token) => account.open('user', token)));
    await deliver();
    const all = Map.groupBy(
      lines().filter(({ log }) => log === 'item'),
      ({ token }) => token,
    );
    expect(all.get(often)?.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 301 }, (_, n) => n + 1),
    );
    for (const token of tokens) {
      expect(all.get(token)?.map(({ sequence, action }) => `${sequence} ${action}`)).toEqual([
        '1 encrypt',
        '2 decrypt',
      ]);
    }
    await account.open('user', often);
    await deliver();
    await deliver();
    expect(eventsOf(often).slice(299)).toEqual(['300 decrypt ok', '301 decrypt ok', '302 decrypt ok']);
    expect(figures()).toEqual({ isOk: true, backlog: 0 });
  });

  test('have the name of a credential, also after its deletion', async () => {
    const token = await account.store('user', { number: '4111111111111111' });
    const desk = await credentialClient(vault.handle, account, ['vault:read', 'rule:write']);
    await desk.open('user', token);
    await desk.send('DELETE', '/rule', { query: { id: 'none' } });
    await account.send('DELETE', `/credential/${desk.made.id}`);
    await deliver();
    const own = lines().filter(({ actor }) => actor.endsWith(desk.made.id));
    expect(own.map(({ log, action, actor_name }) => [log, action, actor_name])).toEqual([
      ['security', 'sign_in', 'a test'],
      ['security', 'rule.delete', 'a test'],
      ['item', 'decrypt', 'a test'],
    ]);
    const others = lines().filter((line) => !own.includes(line) && line.actor_name !== undefined);
    expect(others.filter(({ actor }) => !actor.endsWith(desk.made.id))).toEqual([]);
  });

  test('outlive their item and their key', async () => {
    const [deleted, purged, batched, erased] = [
      await account.store('user', { number: '4111111111111111' }),
      await account.store('user', { number: '5555555555554444' }),
      await account.store('user', { number: '4242424242424242' }),
      await account.store('user', { number: '4000000000000002' }, { reference: 'r' }),
    ];
    await vault.opened.checkpoint();
    await account.sdk.vault.delete({ user: 'user', token: deleted });
    await Array.fromAsync(account.sdk.vault.deleteMany({ user: 'user', items: [{ token: batched }] }));
    await account.sdk.vault.eraseReference({ user: 'user', reference: 'r' });
    await account.sdk.keys.delete({ user: 'user', safe: false });
    await deliver();
    for (const token of [deleted, purged, batched, erased]) {
      expect(eventsOf(token)).toContain('1 encrypt ok');
    }
  });
});

test('a sink that is away gets everything when it is back', async () => {
  mkdirSync(path);
  const token = await account.store('user', { number: '4111111111111111' });
  await deliver();
  expect(figures()?.isOk).toBe(false);
  expect(figures()?.backlog).toBeGreaterThanOrEqual(1);
  rmdirSync(path);
  await account.open('user', token);
  await deliver();
  expect(eventsOf(token)).toEqual(['1 encrypt ok', '2 decrypt ok']);
  expect(figures()).toEqual({ isOk: true, backlog: 0 });
});

test('a sink that gets events twice has them all: what was delivered and not noted comes again', async () => {
  const collector = await startCollector({
    // The delivery is done, and nothing can be noted from here on.
    onEnd: (socket) => vault.raw.config('SET', 'min-replicas-to-write', '1').then(() => socket.end()),
  });
  const auditSink = { kind: 'syslog', host: 'localhost', port: collector.port, tls: false } as const;
  const server = await vault.secondServer({ jobs: false, auditSink });
  const token = await account.store('user', { number: '4111111111111111' });
  await vault.opened.checkpoint();
  const received = () => eventsOf(token, linesOf(textsOf(collector.received()).join('\n')));
  try {
    await server.opened.services.auditStream?.round();
    expect(received()).toEqual(['1 encrypt ok']);
    expect(server.opened.services.auditStream?.figures().isOk).not.toBe(true);
    await vault.raw.config('SET', 'min-replicas-to-write', '0');
    await server.opened.services.auditStream?.stop();
    await account.open('user', token);
    await deliver();
    expect(eventsOf(token)).toEqual(['1 encrypt ok', '2 decrypt ok']);
  } finally {
    await vault.raw.config('SET', 'min-replicas-to-write', '0');
    await collector.stop();
    await server.close();
  }
});

test('several servers deliver each event once, and one takes over from another', async () => {
  const auditSink = { kind: 'file', path } as const;
  const server = await vault.secondServer({ jobs: false, auditSink });
  const token = await account.store('user', { number: '4111111111111111' });
  await vault.opened.checkpoint();
  await Promise.all([deliver(), deliver(server), deliver(server)]);
  expect(eventsOf(token)).toEqual(['1 encrypt ok']);
  await account.open('user', token);
  await vault.opened.checkpoint();
  await deliver(server);
  expect(eventsOf(token)).toEqual(['1 encrypt ok']);
  await vault.opened.services.auditStream?.stop();
  await deliver(server);
  expect(eventsOf(token)).toEqual(['1 encrypt ok', '2 decrypt ok']);
  await server.close();
});

test('a vault that had no sink delivers what comes, and the command prints what was there', async () => {
  await vault.close();
  vault = await openTestVault({ jobs: false, alone: true });
  account = await vault.account();
  await account.key('user');
  const token = await account.store('user', { number: '4111111111111111' });
  await vault.opened.checkpoint();
  const server = await vault.secondServer({ jobs: false, auditSink: { kind: 'file', path } });
  await account.via(server.handle).open('user', token);
  await deliver(server);
  expect(eventsOf(token)).toEqual(['2 decrypt ok']);
  await server.close();

  const print = async (...args: readonly string[]) => {
    const { code, out, err } = await runCommand(['audit', 'stream', ...args], { vault });
    expect([code, err]).toEqual([0, '']);
    return linesOf(out);
  };
  const all = await print();
  expect(eventsOf(token, all)).toEqual(['1 encrypt ok', '2 decrypt ok']);
  // That it was read is an event as well.
  expect((await print()).map((line) => `${line.account} ${line.action}`)).toContain(' audit.read');
  const own = await print('--account', account.name);
  expect(own.map((line) => line.account)).toEqual(own.map(() => account.name));
  expect(own.map(({ log }) => log)).toContain('item');
  expect(await print('--after', '2999-01-01T00:00:00Z')).toEqual([]);
  for (const [wrong, code] of [
    [['--account', 'nobody'], 1],
    [['--after', 'yesterday'], 2],
  ] as const) {
    expect((await runCommand(['audit', 'stream', ...wrong], { vault })).code).toBe(code);
  }
});

describe('a log that was damaged', () => {
  test('is delivered as such, and holds up no other', async () => {
    const [good, bad] = [
      await account.store('user', { number: '4111111111111111' }),
      await account.store('user', { number: '5555555555554444' }),
    ];
    await vault.opened.checkpoint();
    const [name = ''] = (await vault.raw.keys('*')).filter((key) => key.endsWith(`}i${bad}`));
    await vault.raw.hset(name, '1', 'x'.repeat(80));
    await deliver();
    expect(eventsOf(good)).toEqual(['1 encrypt ok']);
    expect(eventsOf(bad)).toEqual(['1 undefined damaged']);
  });

  test('and claims more entries than it has, takes no more than one step of a round', async () => {
    const [good, bad] = [
      await account.store('user', { number: '4111111111111111' }),
      await account.store('user', { number: '5555555555554444' }),
    ];
    await vault.opened.checkpoint();
    const [name = ''] = (await vault.raw.keys('*')).filter((key) => key.endsWith(`}i${bad}`));
    await vault.raw.hset(name, 'n', '20000', 'r', '20000');
    await deliver();
    expect(eventsOf(good)).toEqual(['1 encrypt ok']);
    const claimed = eventsOf(bad).length;
    expect(claimed).toBeGreaterThan(256);
    expect(claimed).toBeLessThanOrEqual(512);
    await vault.opened.services.auditStream?.round();
    expect(eventsOf(bad).length).toBe(claimed + 256);
  });
});
