import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { settingsOf } from '../server/boot/options.ts';
import { type Config, loadConfig, publicUrl } from '../server/config/config.ts';
import { checkPrivate } from '../server/config/files.ts';
import { SERVER_SETTING_NAMES } from '../server/config/settings.ts';
import { keyText, vectorPath, writePrivate } from './helpers/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'cv-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const CERT = vectorPath('tls-cert.pem');
const KEY = file('tls-key.pem', readFileSync(vectorPath('tls-key.pem'), 'utf8'));
const MASTER = keyText(1);
/** A file to append to need not exist. */
const NEW_FILE = join(folder, 'new-file');
function file(name: string, text: string, mode?: number): string {
  return writePrivate(join(folder, name), text, mode);
}

describe('without any setting', () => {
  const config = loadConfig({ PATH: '/bin', HOME: '/root' });

  test('the documented defaults hold', () => {
    expect(config).toMatchObject({
      env: 'staging',
      host: '127.0.0.1',
      port: 8080,
      tls: undefined,
      publicUrl: undefined,
      redis: { kind: 'embedded' },
      redisWait: 0,
      masterKey: undefined,
      masterKeyCommand: undefined,
      bootstrap: { account: undefined, unmasked: false },
      proxyAllow: [],
      trustedProxies: [],
      ratePerAccount: 0,
      ratePerSource: 0,
      authFailuresMax: 10,
      authLockSeconds: 1_800,
      auditRetention: 400 * 86_400_000,
      jobRetention: 30 * 86_400_000,
      argon2: { memoryKiB: 65_536, passes: 3, parallelism: 4 },
      warmUnlockSeconds: 60,
      sadRetention: { kind: 'keep' },
      prices: { currency: 'USD', prices: {}, default: '0' },
      networkTokenRequesters: [],
    });
    expect(config.dataDir).toBe(join(process.cwd(), '.vault'));
    expect(config.processes).toBe(Math.max(1, Math.floor(availableParallelism() / 4)));
    expect(config.workers).toBeGreaterThanOrEqual(1);
    expect(config.redisAllowUnsafe.size).toBe(0);
    expect(publicUrl(config)).toBe('http://127.0.0.1:8080');
  });

  test('every setting is read and described', () => {
    expect(Object.keys(config.effective).toSorted()).toEqual([...SERVER_SETTING_NAMES].toSorted());
  });
});

describe('a value is taken', () => {
  const rows: ReadonlyArray<readonly [string, string, (config: Config) => unknown, unknown]> = [
    ['VAULT_HOST', '::1', (c) => c.host, '::1'],
    ['VAULT_PORT', '0', (c) => c.port, 0],
    ['VAULT_ADMIN_PORT', '8081', (c) => c.admin, { host: '127.0.0.1', port: 8081 }],
    ['VAULT_PUBLIC_URL', 'https://vault.example:443/', (c) => c.publicUrl, 'https://vault.example'],
    ['VAULT_CONSOLE_URL', 'https://console.example/', (c) => c.consoleUrl, 'https://console.example'],
    ['VAULT_CONSOLE_PASSWORD', 'false', (c) => c.consolePassword, false],
    ['VAULT_FORMS_URL', 'https://forms.example/', (c) => c.formsUrl, 'https://forms.example'],
    ['VAULT_STAGING_URL', 'http://localhost:8081', (c) => c.stagingUrl, 'http://localhost:8081'],
    ['VAULT_REDIS_URL', 'unix:/run/redis.sock', (c) => c.redis, { kind: 'socket', path: '/run/redis.sock' }],
    ['VAULT_REDIS_BIN', process.execPath, (c) => c.redisBinary, process.execPath],
    [
      'VAULT_REDIS_ALLOW_UNSAFE',
      'replica, eviction',
      (c) => [...c.redisAllowUnsafe],
      ['replica', 'eviction'],
    ],
    ['VAULT_PROCESSES', '3', (c) => c.processes, 3],
    ['VAULT_WORKERS', '3', (c) => c.workers, 3],
    [
      'VAULT_PROXY_ALLOW',
      '10.0.0.0/8, ::1, 192.0.2.1',
      (c) => c.proxyAllow,
      ['10.0.0.0/8', '::1/128', '192.0.2.1/32'],
    ],
    ['VAULT_PROXY_CA_FILE', CERT, (c) => c.proxyCa, readFileSync(CERT, 'utf8')],
    ['VAULT_TRUSTED_PROXIES', '2001:DB8::/32', (c) => c.trustedProxies, ['2001:db8::/32']],
    ['VAULT_AUDIT_SINK', 'stdout', (c) => c.auditSink, { kind: 'stdout' }],
    ['VAULT_AUDIT_SINK', NEW_FILE, (c) => c.auditSink, { kind: 'file', path: NEW_FILE }],
    [
      'VAULT_AUDIT_SINK',
      'syslog+tcp://[::1]:514',
      (c) => c.auditSink,
      { kind: 'syslog', host: '::1', port: 514, tls: false },
    ],
    [
      'VAULT_AUDIT_SINK',
      'syslog+tls://logs.example.com:6514',
      (c) => c.auditSink,
      { kind: 'syslog', host: 'logs.example.com', port: 6514, tls: true },
    ],
    ['VAULT_AUDIT_RETENTION', '0', (c) => c.auditRetention, 'forever'],
    ['VAULT_JOB_RETENTION', 'P1W', (c) => c.jobRetention, 604_800_000],
    ['VAULT_AUDIT_CHECKPOINT_FILE', NEW_FILE, (c) => c.auditCheckpointFile, NEW_FILE],
    ['VAULT_AUTH_FAILURES_MAX', '0', (c) => c.authFailuresMax, 0],
    ['VAULT_AUTH_LOCK_SECONDS', '60', (c) => c.authLockSeconds, 60],
    ['VAULT_ARGON2', 'm=19456,t=2,p=1', (c) => c.argon2, { memoryKiB: 19_456, passes: 2, parallelism: 1 }],
    ['VAULT_WARM_UNLOCK_SECONDS', '300', (c) => c.warmUnlockSeconds, 300],
    ['VAULT_SAD_RETENTION', 'PT10M', (c) => c.sadRetention, { kind: 'ttl', ms: 600_000 }],
    [
      'VAULT_SAD_RETENTION',
      'after_proxy_success',
      (c) => c.sadRetention,
      { kind: 'after_proxy_success', ms: 86_400_000 },
    ],
    ['VAULT_SAD_REWRITE_SECONDS', '30', (c) => c.sadRewriteSeconds, 30],
    ['VAULT_BOOTSTRAP_UNMASKED', 'true', (c) => c.bootstrap.unmasked, true],
    ['VAULT_RATE_ACCOUNT', '600', (c) => c.ratePerAccount, 600],
    ['VAULT_RATE_SOURCE', '60', (c) => c.ratePerSource, 60],
    ['VAULT_REDIS_WAIT', '2', (c) => c.redisWait, 2],
  ];
  test.each(rows)('%s=%s', (name, value, pick, expected) => {
    expect(pick(loadConfig({ [name]: value }))).toEqual(expected);
  });

  test('the Redis of a URL, and the nodes of a Cluster, whose passwords stay hidden', () => {
    const one = loadConfig({ VAULT_REDIS_URL: 'rediss://me:p%40ss@db.example/3' }).redis;
    if (one.kind !== 'url') {
      throw new Error('not a url');
    }
    expect(one.url.expose()).toBe('rediss://me:p%40ss@db.example:6379/3');
    expect(one.shown).toBe('rediss://me:[secret]@db.example:6379/3');
    const many = loadConfig({ VAULT_REDIS_URL: 'redis://:pw@a:7000,b:7001, redis://:pw@[::1]:7002' }).redis;
    if (many.kind !== 'cluster') {
      throw new Error('not a cluster');
    }
    expect(many.urls.expose()).toEqual([
      'redis://:pw@a:7000',
      'redis://:pw@b:7001',
      'redis://:pw@[::1]:7002',
    ]);
    expect(many.shown).not.toContain('pw');
  });

  test('Sentinels with the name of what they watch, whose passwords stay hidden', () => {
    const { redis } = loadConfig({
      VAULT_REDIS_URL: 'rediss+sentinel://me:p%40ss@a,[::1]:7002/cards/2?sentinel_password=of%2Ftheirs',
    });
    if (redis.kind !== 'sentinel') {
      throw new Error('not Sentinels');
    }
    expect(redis.group.expose()).toEqual({
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: '::1', port: 7_002 },
      ],
      ...{ name: 'cards', database: 2, isTls: true },
      credentials: { username: 'me', password: 'p@ss' },
      sentinelCredentials: { username: '', password: 'of/theirs' },
    });
    expect(redis.shown).toBe('rediss+sentinel://me:[secret]@a:26379,[::1]:7002/cards/2');
    expect(loadConfig({ VAULT_REDIS_URL: 'redis+sentinel://a/b' }).redis).toMatchObject({
      shown: 'redis+sentinel://a:26379/b',
    });
  });

  test('TLS to Redis, whose private key stays hidden', () => {
    const { redisTls } = loadConfig({
      VAULT_REDIS_URL: 'rediss://a',
      VAULT_REDIS_CA_FILE: CERT,
      VAULT_REDIS_CERT_FILE: CERT,
      VAULT_REDIS_KEY_FILE: KEY,
    });
    const pem = readFileSync(CERT, 'utf8');
    expect(redisTls).toMatchObject({ ca: pem, client: { cert: pem } });
    expect(redisTls?.client?.key.expose()).toBe(readFileSync(KEY, 'utf8'));
    expect(JSON.stringify(redisTls)).not.toContain('PRIVATE');
  });

  test('TLS, with which any address may be listened on', () => {
    const tls = { VAULT_TLS_CERT_FILE: CERT, VAULT_TLS_KEY_FILE: KEY };
    const config = loadConfig({ VAULT_HOST: '0.0.0.0', VAULT_PORT: '8443', ...tls });
    expect(config.tls?.key.expose()).toBe(readFileSync(KEY, 'utf8'));
    expect(publicUrl(config)).toBe('https://localhost:8443');
  });

  test('prices and requesters from their files', () => {
    const prices = { currency: 'EUR', prices: { store: '0.0020' }, default: '0' };
    const requester = { id: 'net', url: 'https://tsp.example/', headers: { 'x-api-key': 'canary' } };
    const config = loadConfig({
      VAULT_PRICES_FILE: file('prices.json', JSON.stringify(prices)),
      VAULT_NETWORK_TOKEN_FILE: file('requesters.json', JSON.stringify([requester])),
    });
    expect(config.prices).toEqual(prices);
    expect(config.networkTokenRequesters[0]?.headers.expose()).toEqual(requester.headers);
  });

  test('the first account', () => {
    const config = loadConfig({ VAULT_BOOTSTRAP_USER: 'ops', VAULT_BOOTSTRAP_PASSWORD: 'p w:é' });
    expect(config.bootstrap.account?.user).toBe('ops');
    expect(config.bootstrap.account?.password.expose()).toBe('p w:é');
  });
});

describe('the description for the start log', () => {
  test('shows what is in force and no secret', () => {
    const environment = {
      VAULT_REDIS_URL: 'redis://reader:canary-1@db.example:6380',
      VAULT_MASTER_KEY: `now:${MASTER},before:${keyText(7)}`,
      VAULT_BOOTSTRAP_USER: 'ops',
      VAULT_BOOTSTRAP_PASSWORD: 'canary-2',
      VAULT_TLS_CERT_FILE: CERT,
      VAULT_TLS_KEY_FILE: KEY,
      VAULT_NETWORK_TOKEN_FILE: file(
        'canary.json',
        '[{"id":"net","url":"https://tsp.example","headers":{"authorization":"canary-3"}}]',
      ),
    };
    const config = loadConfig(environment);
    const texts = [
      JSON.stringify(config.effective),
      JSON.stringify(config),
      Bun.inspect(config, { depth: 9 }),
    ];
    for (const text of texts) {
      expect(text.replaceAll('canary.json', '')).not.toContain('canary');
      expect(text).not.toContain(MASTER.slice(0, 20));
      expect(text).not.toContain('PRIVATE KEY');
    }
    expect(config.effective).toMatchObject({
      VAULT_PORT: '8080 (default)',
      VAULT_REDIS_URL: 'redis://reader:[secret]@db.example:6380',
      VAULT_MASTER_KEY: '[secret]',
      VAULT_BOOTSTRAP_PASSWORD: '[secret]',
      VAULT_TLS_KEY_FILE: KEY,
      VAULT_PUBLIC_URL: 'not set',
    });
  });
});

test('codes that wait for a payment are kept for a day at most', () => {
  const config = loadConfig({ VAULT_SAD_RETENTION: 'after_proxy_success' });
  expect(settingsOf(config)).toMatchObject({
    sadAfterProxy: true,
    sadTtlMs: 86_400_000,
    sadRewriteMs: 600_000,
  });
});

describe('a file with a secret', () => {
  test('of master keys gives the ring when only its owner can read it', () => {
    const path = file('key', `now:${MASTER},before:${keyText(7)}\n`, 0o400);
    const ring = loadConfig({ VAULT_ENV: 'production', VAULT_MASTER_KEY_FILE: path }).masterKey?.expose();
    expect(ring?.writeId).toBe('now');
    expect([...(ring?.keys.keys() ?? [])]).toEqual(['now', 'before']);
    expect(Buffer.from(ring?.keys.get('now') ?? []).toString('base64')).toBe(MASTER);
  });

  const secrets: readonly (readonly [string, string, Record<string, string>])[] = [
    ['VAULT_MASTER_KEY_FILE', MASTER, {}],
    ['VAULT_TLS_KEY_FILE', readFileSync(KEY, 'utf8'), { VAULT_TLS_CERT_FILE: CERT }],
    ['VAULT_NETWORK_TOKEN_FILE', '[]', {}],
  ];
  test.each(secrets)('%s is refused when others may use it', (name, text, others) => {
    for (const mode of [0o644, 0o640, 0o604, 0o660, 0o610]) {
      const path = file('open', text, mode);
      expect(() => loadConfig({ ...others, [name]: path })).toThrow(
        `${name} names a file that other users can read`,
      );
      expect(statSync(path).mode & 0o777).toBe(mode);
    }
    for (const mode of [0o400, 0o600]) {
      expect(loadConfig({ ...others, [name]: file('private', text, mode) }).env).toBe('staging');
    }
  });

  test('is refused when it is another user’s, unless that is root', () => {
    const uid = process.getuid?.() ?? 0;
    expect(() => checkPrivate({ mode: 0o100400, uid: uid + 1 })).toThrow('belongs to another user');
    expect(() => checkPrivate({ mode: 0o100400, uid })).not.toThrow();
    expect(() => checkPrivate({ mode: 0o100400, uid: 0 })).not.toThrow();
  });
});
