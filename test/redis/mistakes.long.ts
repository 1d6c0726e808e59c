/** Every mistake about Redis ends the start of a server with one clear line, within ten seconds. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConfigured } from '../../server/boot/open.ts';
import { loadConfig } from '../../server/config/config.ts';
import { ConfigError } from '../../server/config/reader.ts';
import { StartError } from '../../server/core/errors.ts';
import { startTestCluster, type TestCluster } from '../helpers/cluster.ts';
import { keyText } from '../helpers/config.ts';
import { freePort } from '../helpers/free-port.ts';
import { launchLimitedRedis } from '../helpers/redis-limited.ts';
import { newRedisFolder, sendCommand, socketIn } from '../helpers/redis-process.ts';
import { type Settings, spawnServer } from '../helpers/server-process.ts';
import { newAuthority } from '../outbound/certificates.ts';
import { startTestGroup, type TestGroup } from './group.ts';
import { issueServer, newFiles, startTlsRedis, type TestFiles } from './tls-server.ts';

const START_MS_MAX = 10_000;
const MASTER_KEY = keyText(3);

const root = mkdtempSync(join(tmpdir(), 'cv-mistakes-'));
const folder = newRedisFolder();
let files: TestFiles;
let group: TestGroup;
let guarded: TestGroup;
let cluster: TestCluster;
let limited: Awaited<ReturnType<typeof launchLimitedRedis>>;
let tls: Awaited<ReturnType<typeof startTlsRedis>>;
let mutual: Awaited<ReturnType<typeof startTlsRedis>>;
let named: Awaited<ReturnType<typeof startTlsRedis>>;
let silent: Server;
const sockets = new Set<Socket>();
/** Whatever this process prints, by any way that the server or its packages may use. */
const printed = [
  spyOn(process.stdout, 'write'),
  spyOn(process.stderr, 'write'),
  spyOn(console, 'error'),
  spyOn(console, 'warn'),
  spyOn(console, 'log'),
];

beforeAll(async () => {
  files = await newFiles();
  group = await startTestGroup();
  guarded = await startTestGroup({ servers: 'right', sentinel: 'other' });
  cluster = await startTestCluster();
  limited = await launchLimitedRedis(folder, true);
  tls = await startTlsRedis(files);
  mutual = await startTlsRedis(files, { wantsClient: true });
  named = await startTlsRedis(files, { credential: await issueServer(files, 'redis.example') });
  silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
}, 120_000);
afterAll(async () => {
  for (const spy of printed) {
    spy.mockRestore();
  }
  for (const socket of sockets) {
    socket.destroy();
  }
  silent.close();
  await Promise.all([group, guarded, cluster, tls, mutual, named].map((server) => server.stop()));
  limited.child.kill('SIGKILL');
  await limited.child.exited;
  files.remove();
  rmSync(folder, { recursive: true, force: true });
  rmSync(root, { recursive: true, force: true });
});

function limitedUrl(): string {
  return limited.target.kind === 'url' ? limited.target.url : '';
}

function silentPort(): number {
  const address = silent.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function trusted(): Settings {
  return { VAULT_REDIS_CA_FILE: files.write('ca.pem', files.authority.pem) };
}

const PRODUCTION: Settings = { VAULT_ENV: 'production' };

/** What is wrong, what makes the settings and changes Redis if that is wrong, and the line. */
type Row = readonly [name: string, settings: () => Settings | Promise<Settings>, line: string];

let issued = 0;
async function clientFiles(usedKey: 'own' | 'other', issuer = files.authority): Promise<Settings> {
  const [one, two] = [await issuer.issue({ use: 'clientAuth' }), await issuer.issue({ use: 'clientAuth' })];
  issued += 1;
  return {
    ...trusted(),
    VAULT_REDIS_URL: mutual.url,
    VAULT_REDIS_CERT_FILE: files.write(`client-${issued}.pem`, one.certPem),
    VAULT_REDIS_KEY_FILE: files.write(`client-${issued}.key`, (usedKey === 'own' ? one : two).keyPem),
  };
}

const ADDRESSES: readonly Row[] = [
  [
    'nothing listens',
    () => ({ VAULT_REDIS_URL: `redis://127.0.0.1:${freePort()}` }),
    'Redis does not answer: the connection was refused; nothing listens on this address. Check VAULT_REDIS_URL.',
  ],
  [
    'a host that does not exist',
    () => ({ VAULT_REDIS_URL: 'redis://redis.invalid' }),
    'Redis does not answer: the host name cannot be resolved. Check VAULT_REDIS_URL.',
  ],
  [
    'a socket that does not exist',
    () => ({ VAULT_REDIS_URL: `unix:${root}/none` }),
    'Redis does not answer: the socket does not exist. Check VAULT_REDIS_URL.',
  ],
  [
    'a port that never answers',
    () => ({ VAULT_REDIS_URL: `redis://127.0.0.1:${silentPort()}` }),
    'Redis does not answer: it accepts connections and does not answer. Check VAULT_REDIS_URL.',
  ],
  [
    'a database that is not there',
    () => ({ VAULT_REDIS_URL: `redis://127.0.0.1:${group.primary.port}/99` }),
    'Redis does not answer: it does not have the database of VAULT_REDIS_URL.',
  ],
  [
    'a replica',
    () => ({ VAULT_REDIS_URL: `redis://127.0.0.1:${group.replica.port}` }),
    'This Redis is a replica, which does not accept writes (READONLY); VAULT_REDIS_URL must name its primary. Change this setting, or add "replica" to VAULT_REDIS_ALLOW_UNSAFE.',
  ],
  [
    'a Sentinel as a server',
    () => ({ VAULT_REDIS_URL: `redis://127.0.0.1:${group.sentinelPort}` }),
    'This is a Sentinel. VAULT_REDIS_URL must be redis+sentinel://host:port/name.',
  ],
  [
    'one server as a Cluster',
    () => ({ VAULT_REDIS_URL: `redis://127.0.0.1:${group.primary.port},127.0.0.1:${freePort()}` }),
    'Redis does not answer: it is not part of a Cluster, so VAULT_REDIS_URL must name one host.',
  ],
  [
    'a Cluster of which nothing listens',
    () => ({ VAULT_REDIS_URL: `redis://127.0.0.1:${freePort()},127.0.0.1:${freePort()}` }),
    'Redis does not answer: none of its nodes can be reached; check addresses, TLS and certificates. Check VAULT_REDIS_URL.',
  ],
  [
    'a database of a Cluster',
    () => ({ VAULT_REDIS_URL: `${cluster.target.urls[0]}/1` }),
    'Redis does not answer: it does not have the database of VAULT_REDIS_URL.',
  ],
];

const USERS: readonly Row[] = [
  [
    'a wrong password',
    () => ({ VAULT_REDIS_URL: limitedUrl().replace(/:[^:@]+@/, ':wrong@') }),
    'Redis does not answer: it rejects the user name or password. Check VAULT_REDIS_URL.',
  ],
  [
    'no password',
    () => ({ VAULT_REDIS_URL: limitedUrl().replace(/\/\/[^@]+@/, '//nobody@') }),
    'Redis does not answer: it rejects the user name or password. Check VAULT_REDIS_URL.',
  ],
  [
    'a user without a command',
    async () => {
      await sendCommand(socketIn(folder), 'ACL SETUSER less on >less ~{* &* +@all -zadd -hset');
      return { VAULT_REDIS_URL: limitedUrl().replace(/\/\/[^@]+@/, '//less:less@') };
    },
    'Redis does not let its user run these commands: hset, zadd.',
  ],
  [
    'a user without scripts',
    async () => {
      await sendCommand(socketIn(folder), 'ACL SETUSER noeval on >less ~{* &* +@all -@scripting');
      return { VAULT_REDIS_URL: limitedUrl().replace(/\/\/[^@]+@/, '//noeval:less@') };
    },
    'Redis does not let its user run the command eval.',
  ],
  [
    'a user of other keys',
    async () => {
      await sendCommand(socketIn(folder), 'ACL SETUSER other on >less ~other:* &* +@all');
      return { VAULT_REDIS_URL: limitedUrl().replace(/\/\/[^@]+@/, '//other:less@') };
    },
    'Redis does not let its user use the keys of a vault, which begin with a brace.',
  ],
];

const TLS: readonly Row[] = [
  [
    'TLS to a plain port',
    () => ({ VAULT_REDIS_URL: `rediss://127.0.0.1:${group.primary.port}` }),
    'Redis does not answer: no TLS handshake in time; if this port speaks no TLS, use redis:// instead of rediss://. Check VAULT_REDIS_URL.',
  ],
  [
    'no TLS to a port of TLS',
    () => ({ VAULT_REDIS_URL: tls.url.replace('rediss', 'redis') }),
    'Redis does not answer: the connection was cut; if this port speaks TLS, use rediss:// instead of redis://. Check VAULT_REDIS_URL.',
  ],
  [
    'no authority',
    () => ({ VAULT_REDIS_URL: tls.url }),
    'Redis does not answer: no known authority has signed its certificate; name the right one in VAULT_REDIS_CA_FILE.',
  ],
  [
    'another authority',
    async () => ({
      VAULT_REDIS_URL: tls.url,
      VAULT_REDIS_CA_FILE: files.write('other.pem', (await newAuthority()).pem),
    }),
    'Redis does not answer: no known authority has signed its certificate; name the right one in VAULT_REDIS_CA_FILE.',
  ],
  [
    'a certificate of another host',
    () => ({ ...trusted(), VAULT_REDIS_URL: named.url }),
    'Redis does not answer: its certificate is for another host name than the one in VAULT_REDIS_URL.',
  ],
  [
    'no client certificate',
    () => ({ ...trusted(), VAULT_REDIS_URL: mutual.url }),
    'Redis does not answer: it wants a client certificate: set VAULT_REDIS_CERT_FILE and VAULT_REDIS_KEY_FILE.',
  ],
  [
    'a client certificate of another authority',
    async () => clientFiles('own', await newAuthority()),
    'Redis does not answer: it rejects the client certificate of VAULT_REDIS_CERT_FILE.',
  ],
  [
    'the key of another certificate',
    () => clientFiles('other'),
    'VAULT_REDIS_KEY_FILE does not name the unencrypted PEM private key of VAULT_REDIS_CERT_FILE',
  ],
  [
    'a file that is not there',
    () => ({ VAULT_REDIS_URL: tls.url, VAULT_REDIS_CA_FILE: join(root, 'none') }),
    'VAULT_REDIS_CA_FILE names a file that cannot be read (ENOENT)',
  ],
  [
    'a certificate without its key',
    async () => ({ ...(await clientFiles('own')), VAULT_REDIS_KEY_FILE: undefined }),
    'VAULT_REDIS_KEY_FILE is required with VAULT_REDIS_CERT_FILE',
  ],
  [
    'files without TLS',
    () => ({ ...trusted(), VAULT_REDIS_URL: `redis://127.0.0.1:${group.primary.port}` }),
    'VAULT_REDIS_CA_FILE is only for TLS: VAULT_REDIS_URL must begin with rediss:// or rediss+sentinel://',
  ],
];

const SENTINELS: readonly Row[] = [
  [
    'a name that the Sentinels do not know',
    () => ({ VAULT_REDIS_URL: group.url.replace('/vault', '/other') }),
    'Redis does not answer: the Sentinels know no primary of the name in VAULT_REDIS_URL.',
  ],
  [
    'no Sentinel there',
    () => ({ VAULT_REDIS_URL: `redis+sentinel://127.0.0.1:${freePort()}/vault` }),
    'Redis does not answer: no Sentinel can be reached; check addresses, TLS and certificates. Check VAULT_REDIS_URL.',
  ],
  [
    'a server as a Sentinel',
    () => ({ VAULT_REDIS_URL: `redis+sentinel://127.0.0.1:${group.primary.port}/vault` }),
    'Redis does not answer: a host of VAULT_REDIS_URL is not a Sentinel.',
  ],
  [
    'a wrong password of the Sentinel',
    () => ({ VAULT_REDIS_URL: guarded.url.replace('=other', '=wrong') }),
    'Redis does not answer: a Sentinel rejects the user name or password; its own are sentinel_user and sentinel_password in VAULT_REDIS_URL.',
  ],
  [
    'no password of the Sentinel',
    () => ({ VAULT_REDIS_URL: guarded.url.replace(/\?.*/, '') }),
    'Redis does not answer: a Sentinel rejects the user name or password; its own are sentinel_user and sentinel_password in VAULT_REDIS_URL.',
  ],
  [
    'a wrong password of the servers',
    () => ({ VAULT_REDIS_URL: guarded.url.replace('right', 'wrong') }),
    'Redis does not answer: it rejects the user name or password. Check VAULT_REDIS_URL.',
  ],
  [
    'TLS to plain Sentinels',
    () => ({ VAULT_REDIS_URL: group.url.replace('redis+', 'rediss+') }),
    'Redis does not answer: no Sentinel can be reached; check addresses, TLS and certificates. Check VAULT_REDIS_URL.',
  ],
];

const UNSAFE: readonly Row[] = [
  [
    'no append-only file',
    async () => {
      await group.primary.command('CONFIG SET appendonly no');
      return { ...PRODUCTION, VAULT_REDIS_URL: `redis://127.0.0.1:${group.primary.port}` };
    },
    'Redis does not keep an append-only file (appendonly is not yes). Change this setting, or add "appendonly" to VAULT_REDIS_ALLOW_UNSAFE.',
  ],
];

interface Ended {
  readonly lines: string;
  readonly code: number;
  readonly ms: number;
}

/** Starts a server as a process. The line must be on standard error alone. */
async function startProcess(settings: Settings): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawnServer(
    { VAULT_MASTER_KEY: MASTER_KEY, VAULT_DATA_DIR: join(root, 'data'), ...settings },
    root,
  );
  // One that starts after all must not hold up the others.
  const end = setTimeout(() => child.kill('SIGKILL'), 2 * START_MS_MAX);
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  clearTimeout(end);
  expect(out).toBe('');
  return { lines: err, code: await child.exited, ms: performance.now() - startedAt };
}

/** Opens the vault in this process, as a server does first of all. The messages of these two errors are its lines. */
async function openHere(settings: Settings): Promise<Omit<Ended, 'code'>> {
  const startedAt = performance.now();
  const all = { VAULT_MASTER_KEY: MASTER_KEY, VAULT_DATA_DIR: join(root, 'data'), ...settings };
  const events: string[] = [];
  try {
    await (
      await openConfigured(loadConfig(all, []), { recordEvent: (name) => void events.push(name) })
    ).close();
  } catch (error) {
    if (error instanceof ConfigError || error instanceof StartError) {
      expect(events).toEqual([]);
      return { lines: `cardvault: ${error.message}\n`, ms: performance.now() - startedAt };
    }
    throw error;
  }
  throw new Error('nothing was refused');
}

/** One row of each kind is a start of a whole process, and so is the one that asks the name server of this machine. */
const OF_PROCESSES: readonly string[] = [
  'a host that does not exist',
  'a user without a command',
  'the key of another certificate',
  'a wrong password of the servers',
  'no append-only file',
];

const ROWS = Object.entries({
  'an address': ADDRESSES,
  'a user': USERS,
  TLS: TLS,
  Sentinels: SENTINELS,
  'what could lose data': UNSAFE,
}).flatMap(([about, rows]) =>
  rows.map(([name, settings, line]) => ({ name: `${about}: ${name}`, row: name, settings, line })),
);
const isOfProcess = ({ row }: { readonly row: string }): boolean => OF_PROCESSES.includes(row);

describe('a mistake about', () => {
  // Most of them wait for an answer that never comes: all of them wait at the same time.
  test.concurrent.each(ROWS.filter((row) => !isOfProcess(row)))(
    '$name',
    async ({ settings, line }) => {
      const { lines, ms } = await openHere(await settings());
      expect(lines).toBe(`cardvault: ${line}\n`);
      expect(ms).toBeLessThan(START_MS_MAX);
    },
    30_000,
  );

  test('none of these prints anything but its line', () => {
    expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
  });

  test.each(ROWS.filter(isOfProcess))(
    '$name, which ends the process with exit code 1 and its line on standard error',
    async ({ settings, line }) => {
      const { lines, code, ms } = await startProcess(await settings());
      expect(lines).toBe(`cardvault: ${line}\n`);
      expect(code).toBe(1);
      expect(ms).toBeLessThan(START_MS_MAX);
    },
    30_000,
  );

  test('has a process for every row that is named for one', () => {
    expect(ROWS.filter(isOfProcess)).toHaveLength(OF_PROCESSES.length);
  });
});
