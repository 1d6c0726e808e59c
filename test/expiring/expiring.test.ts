/** What expires: the listing of an account, and the metric of the vault. */
import { afterAll, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConfiguredListener } from '../../server/boot/listener.ts';
import { loadConfig } from '../../server/config/config.ts';
import type { Expiring } from '../../server/expiring/schema.ts';
import type { ServerEntry } from '../../server/installation/server-store.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { vectorPath, writePrivate } from '../helpers/config.ts';
import { credentialClient, makeCredential } from '../helpers/credentials.ts';
import { createCapture, createRetrieve } from '../helpers/endpoints.ts';
import { freePort } from '../helpers/free-port.ts';
import { scrape } from '../helpers/metrics.ts';
import { openTestVault } from '../helpers/vault.ts';
import { newAuthority } from '../workers/crypto/authority.ts';

const DAY = 86_400_000;
const START = Date.parse('2026-03-01T12:00:00.250Z');

let clock = START;
const vault = await openTestVault({ now: () => clock, jobs: false, proxy: { allow: ['127.0.0.0/8'] } });
const second = await vault.secondServer();
const authority = await newAuthority();
afterAll(async () => {
  await second.close();
  await vault.close();
});
let account: AccountClient;
beforeEach(async () => {
  clock = START;
  account = await vault.account();
  await account.key('u');
});

function list(query: Query = {}, client = account): Promise<Answer> {
  return client.send('GET', '/expiring', { query });
}
async function listed(query: Query = {}, client = account): Promise<readonly Expiring[]> {
  const answer = await list(query, client);
  expect(answer.outcome).toBe('200');
  return answer.as<readonly Expiring[]>();
}
async function idsOf(query: Query = {}, client = account): Promise<readonly string[]> {
  return (await listed(query, client)).map(({ id }) => id);
}
function at(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** A client certificate that ends at a time, and its id. */
async function certificate(notAfter: number, client = account): Promise<string> {
  const csr = (await client.send('POST', '/proxy/csr', { body: { cn: 'shop.example' } })).as<{
    readonly id: string;
    readonly data: string;
  }>();
  const answer = await client.send('POST', '/proxy/cert', {
    query: { csr_id: csr.id },
    body: await authority.issue(csr.data, { notAfter: new Date(notAfter) }),
    headers: { 'content-type': 'application/x-pem-file' },
  });
  return answer.as<{ readonly id: string }>().id;
}
async function connection(id: string, client_cert_id?: string): Promise<void> {
  const body = { id, base_url: 'https://127.0.0.1:9', client_cert_id };
  expect((await account.send('POST', '/connection', { body })).outcome).toBe('200');
}
function server(id: string, certificateEnd: string): ServerEntry {
  const place = { host: 'a', network: 'n', address: '::1', port: 1, pid: 1 };
  return { id, ...place, version: '1', started: '', roots: '', certificateEnd };
}

describe('the list', () => {
  test('has what expires of every kind, the soonest first, with the key of an endpoint', async () => {
    const used = await certificate(START + 3 * DAY);
    const unused = await certificate(START + 5 * DAY);
    await connection('psp', used);
    await connection('bare');
    const credential = await makeCredential(account, ['vault:list'], { expires_in: 'P1D' });
    await makeCredential(account, ['vault:list']);
    const { unique_id: captures } = await createCapture(account, 'u', { ttl: 'P10D' });
    const { unique_id: retrieves } = await createRetrieve(account, 'u', { ttl: 'P8D' });
    const { serverStore } = vault.opened.stores;
    await serverStore.heartbeat(server('tls', new Date(START + 20 * DAY).toISOString()));
    await serverStore.heartbeat(server('newer', new Date(START + 90 * DAY).toISOString()));
    await serverStore.heartbeat(server('plain', ''));
    const all = await listed();
    expect(all).toEqual([
      { kind: 'credential', id: credential.id, expires_at: at(START + DAY + 999) },
      { kind: 'certificate', id: used, expires_at: at(START + 3 * DAY) },
      { kind: 'connection_certificate', id: 'psp', expires_at: at(START + 3 * DAY) },
      { kind: 'certificate', id: unused, expires_at: at(START + 5 * DAY) },
      { kind: 'retrieve', id: retrieves, expires_at: at(START + 8 * DAY + 999), user: 'u' },
      { kind: 'capture', id: captures, expires_at: at(START + 10 * DAY + 999), user: 'u' },
      { kind: 'tls', id: 'server', expires_at: at(START + 20 * DAY) },
    ]);
    expect(await listed({}, account.via(second.handle))).toEqual(all);
    expect(await idsOf({ within: 'P4D' })).toEqual([credential.id, used, 'psp']);
    expect(await idsOf({ within: '25h' })).toEqual([credential.id]);
    for (const id of ['tls', 'newer', 'plain']) {
      await serverStore.leave(id);
    }
    expect(await idsOf({ within: 'P20D' })).not.toContain('server');
  });

  test('has the certificate that a server serves, as long as it runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cv-expiring-'));
    const pem = readFileSync(vectorPath('tls-cert.pem'), 'utf8');
    const key = writePrivate(join(folder, 'key.pem'), readFileSync(vectorPath('tls-key.pem'), 'utf8'));
    const config = loadConfig({
      VAULT_PORT: String(freePort()),
      VAULT_TLS_CERT_FILE: vectorPath('tls-cert.pem'),
      VAULT_TLS_KEY_FILE: key,
    });
    const listener = await openConfiguredListener(config, vault.parts, vault.opened);
    const expires_at = at(new X509Certificate(pem).validToDate.getTime());
    expect(await listed({ within: '0' })).toEqual([{ kind: 'tls', id: 'server', expires_at }]);
    await listener.close();
    expect(await listed({ within: '0' })).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test('has endpoints that were made for more than seven days, and no other', async () => {
    const made: string[] = [];
    for (const ttl of ['24h', 'P7D', '7d1s', 'P30D', '0']) {
      made.push((await createCapture(account, 'u', { ttl })).unique_id);
    }
    const [, , week = '', month = ''] = made;
    expect(await idsOf({ within: '0' })).toEqual([week, month]);
    clock = START + 29 * DAY;
    expect(await idsOf()).toEqual([month]);
    clock = START + 31 * DAY;
    expect(await idsOf({ within: '0' })).toEqual([]);
  });

  test('has no endpoint that was deleted, stopped or removed with its key', async () => {
    await account.key('gone');
    const { unique_id: deleted } = await createCapture(account, 'u', { ttl: 'P9D' });
    await createRetrieve(account, 'gone', { ttl: 'P9D' });
    const { unique_id: stopped } = await createRetrieve(account, 'u', { ttl: 'P9D' });
    expect(await listed()).toHaveLength(3);
    await account.send('DELETE', `/capture/${deleted}`);
    await account.send('DELETE', '/key', { query: { user: 'gone' } });
    expect(await idsOf()).toEqual([stopped]);
    const body = { user: 'u', passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE} 2` };
    expect((await account.send('PUT', '/key', { body })).outcome).toBe('200');
    expect(await idsOf()).toEqual([]);
    const keys = [redisKeys.captureEnds(account.aid), redisKeys.retrieveEnds(account.aid)];
    expect(await vault.raw.exists(...keys)).toBe(0);
  });

  test('has expired certificates until they are replaced or deleted, and no expired credential', async () => {
    const old = await certificate(START - 40 * DAY);
    await connection('psp', old);
    await makeCredential(account, ['vault:list'], { expires_in: '1h' });
    clock = START + DAY;
    expect(await listed({ within: '1h' })).toEqual([
      { kind: 'certificate', id: old, expires_at: at(START - 40 * DAY) },
      { kind: 'connection_certificate', id: 'psp', expires_at: at(START - 40 * DAY) },
    ]);
    await account.send('DELETE', '/proxy/cert', { query: { id: old } });
    expect(await listed()).toEqual([]);
  });

  test('is the same in pages of any size, on either server', async () => {
    for (let n = 0; n < 5; n++) {
      // Several at the same second.
      await createCapture(account, 'u', { ttl: 'P9D' });
      await createRetrieve(account, 'u', { ttl: `${8 + n}d` });
      await makeCredential(account, ['vault:list'], { expires_in: 'P9D' });
    }
    const all = await listed();
    expect(all).toHaveLength(15);
    for (const limit of [1, 2, 7, 14]) {
      const found: Expiring[] = [];
      let next_token: string | undefined;
      do {
        const client = account.via(found.length % 2 === 0 ? vault.handle : second.handle);
        const answer = await list({ limit, next_token }, client);
        const page = answer.as<readonly Expiring[]>();
        found.push(...page);
        next_token = answer.headers.get('x-vault-next-token') ?? undefined;
        expect(page.length).toBe(next_token === undefined ? page.length : limit);
      } while (next_token !== undefined);
      expect([limit, found]).toEqual([limit, [...all]]);
    }
    for (const limit of [15, -1]) {
      const answer = await list({ limit });
      expect([answer.json, answer.headers.get('x-vault-next-token')]).toEqual([all, null]);
    }
    const pages = await Array.fromAsync(account.sdk.admin.expiringPages({ limit: 10 }));
    expect(pages.flatMap(({ data }) => data)).toEqual([...all]);
  });

  test('rejects a bad period and a cursor of another account or period', async () => {
    for (const within of ['soon', '', '-1d', '11y']) {
      const { outcome, field } = await list({ within });
      expect([within, outcome, field]).toEqual([within, '400 invalid_request', 'query.within']);
    }
    expect((await list({ limit: 0 })).field).toBe('query.limit');
    await createCapture(account, 'u', { ttl: 'P9D' });
    await createCapture(account, 'u', { ttl: 'P9D' });
    const next_token = (await list({ limit: 1 })).headers.get('x-vault-next-token') ?? '';
    expect((await list({ limit: 1, next_token })).outcome).toBe('200');
    expect((await list({ limit: 1, next_token, within: 'P31D' })).outcome).toBe('400 cursor_invalid');
    expect((await list({ next_token }, await vault.account())).outcome).toBe('400 cursor_invalid');
  });

  test('is for `usage:read`; a credential that is limited to keys sees what is theirs', async () => {
    await account.key('v');
    const { unique_id: own } = await createCapture(account, 'u', { ttl: 'P9D' });
    await createCapture(account, 'v', { ttl: 'P9D' });
    const used = await certificate(START + 3 * DAY);
    await connection('psp', used);
    const expires_in = 'P20D';
    const client = await credentialClient(vault.handle, account, ['usage:read'], { keys: ['u'], expires_in });
    const inside = await makeCredential(account, ['vault:list'], { keys: ['u'], expires_in });
    await makeCredential(account, ['vault:list'], { keys: ['u', 'v'], expires_in });
    await makeCredential(account, ['vault:list'], { expires_in });
    const seen = [used, 'psp', own, client.made.id, inside.id];
    expect((await idsOf({}, client)).toSorted()).toEqual(seen.toSorted());
    expect(await listed()).toHaveLength(8);
    const other = await credentialClient(vault.handle, account, ['vault:list', 'credential:write']);
    expect((await list({}, other)).outcome).toBe('403 not_allowed');
    expect(await listed({}, await vault.account())).toEqual([]);
  });
});

describe('an endpoint that is not among those by their end', () => {
  const strip = async (): Promise<void> => {
    await vault.raw.del(redisKeys.captureEnds(account.aid));
    expect(await idsOf()).toEqual([]);
  };

  test('is added by the next check of the sweep, if it was made for more than seven days', async () => {
    const { unique_id: long } = await createCapture(account, 'u', { ttl: 'P9D' });
    await createCapture(account, 'u', { ttl: 'P7D' });
    await strip();
    clock = START + DAY;
    await vault.opened.sweep();
    expect(await idsOf()).toEqual([long]);
  });

  test('is added without a time of creation, as in earlier versions, while it has more than a day left', async () => {
    const { unique_id: week } = await createCapture(account, 'u', { ttl: 'P7D' });
    await createCapture(account, 'u', { ttl: '24h' });
    const { crypto } = vault.opened;
    const describeNow = crypto.describeEndpoint;
    const earlier = spyOn(crypto, 'describeEndpoint').mockImplementation(async (input) => {
      const { createdAt: _, ...policy } = await describeNow(input);
      return policy;
    });
    clock = START + DAY / 2;
    await vault.opened.sweep();
    earlier.mockRestore();
    expect(await idsOf()).toEqual([week]);
  });

  test('is not added again by a sweep that meets its deletion', async () => {
    const { unique_id: id } = await createCapture(account, 'u', { ttl: 'P9D' });
    const [entry = ''] = await vault.raw.zrange(redisKeys.endpointDirectory(account.aid), '0', '-1');
    const [kid = '', , nonce = ''] = entry.split(' ');
    await account.send('DELETE', `/capture/${id}`);
    const gone = { kid, kind: 'capture', nonce, id } as const;
    await vault.opened.stores.endpointStore.noteEnd(account.aid, gone, START + 9 * DAY);
    expect(await vault.raw.exists(redisKeys.captureEnds(account.aid))).toBe(0);
  });
});

describe('the metric', () => {
  const figures = async (handle = vault.handle): Promise<Readonly<Record<string, number>>> => {
    const { series } = await scrape(handle);
    const own = series.filter(({ name }) => name === 'vault_expiring');
    return Object.fromEntries(
      own.map(({ labels, value }) => [`${labels['kind']} ${labels['within']}`, value]),
    );
  };
  /** Has one server count, as if the last count were a minute old. */
  const count = async (): Promise<void> => {
    await vault.raw.del(redisKeys.expiringLease);
    await vault.opened.services.expiring.round();
  };
  /** Servers read figures from Redis at most every five seconds. */
  const fresh = async () => {
    const server = await vault.secondServer();
    const found = await figures(server.handle);
    await server.close();
    return found;
  };

  test('counts by kind and period over all accounts, once for all servers', async () => {
    await count();
    const before = await fresh();
    expect(Object.keys(before)).toHaveLength(21);
    const other = await vault.account();
    await other.key('u');
    await makeCredential(other, ['vault:list'], { expires_in: '12h' });
    await makeCredential(account, ['vault:list'], { expires_in: 'P6D' });
    await makeCredential(account, ['vault:list'], { expires_in: 'P60D' });
    await connection('psp', await certificate(START - DAY));
    await createCapture(other, 'u', { ttl: 'P8D' });
    await createRetrieve(account, 'u', { ttl: 'P31D' });
    await vault.opened.services.expiring.round();
    expect(await fresh()).toEqual(before);
    await count();
    const grown = Object.entries(await fresh()).filter(([name, value]) => value !== before[name]);
    const growth = grown.map(([name, value]) => [name, value - (before[name] ?? 0)]);
    expect(Object.fromEntries(growth)).toEqual({
      ...{ 'certificate 1d': 1, 'certificate 7d': 1, 'certificate 30d': 1 },
      ...{ 'credential 1d': 1, 'credential 7d': 2, 'credential 30d': 2 },
      'capture 30d': 1,
      ...{ 'connection_certificate 1d': 1, 'connection_certificate 7d': 1, 'connection_certificate 30d': 1 },
    });
  });

  test('is counted by one of several servers at once, anew within a minute', async () => {
    await vault.raw.del(redisKeys.expiringLease, redisKeys.expiring);
    const claims = await Promise.all(
      [vault, second, vault, second].map(({ opened }) => opened.services.expiring.round()),
    );
    expect(new Set(claims)).toEqual(new Set([5_000]));
    expect(await vault.raw.pttl(redisKeys.expiringLease)).toBeLessThanOrEqual(55_000);
    expect(await vault.raw.exists(redisKeys.expiring)).toBe(1);
  });

  test('has no sample where no server counts, or the figures are none', async () => {
    for (const stored of ['', 'x', '1 2 3']) {
      await vault.raw.set(redisKeys.expiring, stored);
      expect(await fresh()).toEqual({});
    }
    await vault.raw.del(redisKeys.expiring);
    expect(await fresh()).toEqual({});
  });

  test('counts on where a record of an account is damaged', async () => {
    await count();
    const before = await fresh();
    const damaged = await vault.account();
    const { id } = await makeCredential(damaged, ['vault:list'], { expires_in: '12h' });
    await vault.raw.hset(redisKeys.credentials(damaged.aid), id, 'damaged');
    expect((await list({}, damaged)).outcome).toBe('500 integrity_failed');
    await makeCredential(account, ['vault:list'], { expires_in: '12h' });
    await count();
    expect((await fresh())['credential 1d']).toBe((before['credential 1d'] ?? 0) + 1);
    await vault.raw.hdel(redisKeys.credentials(damaged.aid), id);
  });
});
