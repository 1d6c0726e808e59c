import { afterAll, describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../server/config/config.ts';
import { ConfigError } from '../server/config/reader.ts';
import { SERVER_SETTING_NAMES } from '../server/config/settings.ts';
import { keyText, vectorPath, writePrivate } from './helpers/config.ts';
import { newAuthority } from './outbound/certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'cv-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const CERT = vectorPath('tls-cert.pem');
const KEY = file('tls-key.pem', readFileSync(vectorPath('tls-key.pem'), 'utf8'));
const MASTER = keyText(1);
function file(name: string, text: string): string {
  return writePrivate(join(folder, name), text);
}

function refusal(environment: Record<string, string>, runtimeArguments: string[] = []): string {
  try {
    loadConfig(environment, runtimeArguments);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.message;
    }
    throw error;
  }
  return 'nothing was refused';
}

describe('a bad value stops the start, named and not repeated', () => {
  const CANARY = 'canary4242';
  const bad: Readonly<Record<string, readonly string[]>> = {
    VAULT_ENV: [CANARY, 'Production', 'prod', 'staging '],
    VAULT_HOST: [`${CANARY}_`, '[::1]', '127.0.0.1:80', 'http://x', '256.1.1.1', '127.1', '-a'],
    VAULT_PORT: [CANARY, '-1', '65536', '80.0', '0x50', '1e3', ' 80', '080', '٨٠'],
    VAULT_ADMIN_HOST: [`${CANARY}_`, '127.0.0.1:80', '256.1.1.1'],
    VAULT_ADMIN_PORT: [CANARY, '-1', '65536', '080'],
    VAULT_DRAIN_SECONDS: [CANARY, '-1', '301', '5s'],
    VAULT_PUBLIC_URL: [
      CANARY,
      'ftp://a',
      'https://a/v1',
      'https://a/v1/',
      'https://a/vault',
      `https://u:${CANARY}@a`,
      'https://a?x',
      'https://a#x',
      '//a',
    ],
    VAULT_REDIS_URL: [
      ...[
        CANARY,
        'http://a',
        'redis://',
        'redis:a',
        `unix:${CANARY}`,
        'unix:/a?db=1',
        `unix:/${'a'.repeat(107)}`,
      ],
      ...[
        `redis://:${CANARY}@a/x`,
        'redis://a?b=c',
        'redis://a/1/2',
        'redis://a:99999',
        `redis://:${CANARY}%zz@a`,
      ],
      ...['redis+sentinel://a', 'redis+sentinel://a/', 'redis+sentinel:///name', 'redis+sentinel://a,a/name'],
      ...['redis+sentinel://a,/name', 'redis+sentinel://a:99999/name', 'redis+sentinel://a/name?db=1'],
      ...[`redis+sentinel://:${CANARY}@a/name/x`, `redis+sentinel://:${CANARY}%zz@a/name`],
      `redis+sentinel://a/name?sentinel_user=${CANARY}`,
      `redis+sentinel://a/name?sentinel_password=${CANARY}&sentinel_password=b`,
      ...[
        'redis://a,redis://a',
        'redis://a,rediss://b',
        `redis://:${CANARY}@a,redis://:other@b`,
        'redis://a/1,b',
        'redis://a,',
      ],
    ],
    VAULT_DATA_DIR: [`${CANARY} `, `a\0${CANARY}`],
    VAULT_REDIS_BIN: [`/${CANARY}`, '/', CERT],
    VAULT_MASTER_KEY: [
      ...[
        CANARY,
        Buffer.alloc(31, CANARY).toString('base64'),
        Buffer.alloc(33, CANARY).toString('base64'),
        MASTER.slice(0, -1),
      ],
      ...[
        `${MASTER},${MASTER}`,
        `a:${MASTER},a:${keyText(2)}`,
        `a b:${MASTER}`,
        `${'i'.repeat(33)}:${MASTER}`,
        `a:${MASTER},`,
        `:${MASTER}`,
      ],
      ...[Buffer.alloc(32).toString('base64'), `${MASTER} `, MASTER.replace('=', 'A'), `a:${MASTER}:b`],
    ],
    VAULT_MASTER_KEY_FILE: [`/${CANARY}`, '/', CERT],
    VAULT_MASTER_KEY_COMMAND: [' ', '\n\t'],
    VAULT_BOOTSTRAP_USER: [`${CANARY}:`, 'a b', 'x'.repeat(129)],
    VAULT_BOOTSTRAP_PASSWORD: [`${CANARY}\n`, `${CANARY}\0`, 'x'.repeat(1025), '\ud800'],
    VAULT_BOOTSTRAP_UNMASKED: [CANARY, 'yes', 'TRUE'],
    VAULT_OIDC_ISSUER: [
      CANARY,
      'http://a',
      `https://u:${CANARY}@a`,
      `https://a?${CANARY}`,
      'https://a/.well-known/x',
    ],
    VAULT_OIDC_CLIENT_ID: [`${CANARY}\n`, ` ${CANARY}`, 'ü', 'x'.repeat(513)],
    VAULT_OIDC_CLIENT_SECRET_FILE: [`/${CANARY}`, CERT, KEY, '/'],
    VAULT_OIDC_ROLES: [
      CANARY,
      `${CANARY}=a:b:c`,
      `a=${CANARY}:b`,
      'a=b:c:admin,',
      `a=b:${CANARY} c:admin`,
      'a=%:b:admin',
    ],
    VAULT_PROCESSES: [CANARY, '0', '65', '1.5'],
    VAULT_WORKERS: [CANARY, '0', '257', '1.5'],
    VAULT_PROXY_ALLOW: [
      CANARY,
      '10.0.0.0/33',
      '10.0.0/8',
      '0x7f.1',
      '::/129',
      '10.0.0.0/8,',
      '::ffff:10.0.0.0/104',
      'localhost',
      '10.0.0.0/-1',
    ],
    VAULT_PROXY_CA_FILE: [`/${CANARY}`, KEY, '/'],
    VAULT_STAGING_URL: [CANARY, 'https://a/v1', 'https://a/vault'],
    VAULT_REDIS_ALLOW_UNSAFE: [CANARY, 'appendonly,all', 'appendonly,,replica'],
    VAULT_REDIS_WAIT: [CANARY, '-1', '101'],
    VAULT_RATE_ACCOUNT: [CANARY, '-1'],
    VAULT_RATE_SOURCE: [CANARY, '1/s'],
    VAULT_AUDIT_SINK: [
      ...[` /${CANARY}`, `/${CANARY}/events`, folder, `${CERT}/events`],
      `http://${CANARY}:514`,
      `syslog://${CANARY}:514`,
      `syslog+tcp://${CANARY}`,
      `syslog+udp://${CANARY}:514`,
      `syslog+tls://${CANARY}:65536`,
      `syslog+tls://user:${CANARY}@host:1`,
    ],
    VAULT_UNKNOWN_PARAMETERS: [CANARY, 'true', 'Ignore'],
    VAULT_AUDIT_RETENTION: [CANARY, '400', '-P1D', 'P11Y'],
    VAULT_JOB_RETENTION: [CANARY, '30', '-P1D', 'P11Y'],
    VAULT_AUDIT_CHECKPOINT_FILE: [`${CANARY} `, `a\0${CANARY}`, `/${CANARY}/c`, folder],
    VAULT_FORMS_URL: [CANARY, 'https://a/path', 'https://a/?q'],
    VAULT_CONSOLE_URL: [CANARY, 'https://a/console', 'https://a/?q'],
    VAULT_CONSOLE_PASSWORD: [CANARY, 'no'],
    VAULT_TRUSTED_PROXIES: [CANARY, '*', '10.0.0.0/8;::1'],
    VAULT_AUTH_FAILURES_MAX: [CANARY, '-1'],
    VAULT_AUTH_LOCK_SECONDS: [CANARY, '0', '2592001'],
    VAULT_ARGON2: [
      CANARY,
      'm=19455,t=2,p=1',
      'm=65536,t=1,p=4',
      'm=65536,t=3,p=0',
      'm=65536,t=3',
      't=3,m=65536,p=4',
      'm=2097152,t=3,p=4',
      'm=65536,t=11,p=4',
      'm=65536,t=3,p=17',
    ],
    VAULT_WARM_UNLOCK_SECONDS: [CANARY, '301', '-1', '60s'],
    VAULT_SAD_REWRITE_SECONDS: [CANARY, '0', '86401'],
    VAULT_SAD_RETENTION: [CANARY, '0', '24', 'never', 'P0D'],
    VAULT_PRICES_FILE: [`/${CANARY}`, CERT, '/'],
    VAULT_NETWORK_TOKEN_FILE: [`/${CANARY}`, CERT],
    VAULT_TLS_CERT_FILE: [`/${CANARY}`, KEY],
    VAULT_TLS_KEY_FILE: [`/${CANARY}`, KEY],
    VAULT_ALLOW_PLAIN_HTTP: [CANARY, 'on'],
    VAULT_REDIS_CA_FILE: [`/${CANARY}`, KEY, '/'],
    VAULT_REDIS_CERT_FILE: [`/${CANARY}`, KEY],
    VAULT_REDIS_KEY_FILE: [`/${CANARY}`, CERT],
    OTEL_EXPORTER_OTLP_ENDPOINT: [CANARY, 'grpc://a:4317', 'https://user:pass@a', 'https://a/?q'],
    OTEL_EXPORTER_OTLP_HEADERS: [CANARY, 'a', `a=${CANARY},`, 'a=%0a', 'a=%', 'a b=c'],
  };

  test('for every setting', () => {
    expect(Object.keys(bad).toSorted()).toEqual([...SERVER_SETTING_NAMES].toSorted());
  });

  test.each(Object.entries(bad))('%s', (name, values) => {
    for (const value of ['', ...values]) {
      const message = refusal({ [name]: value });
      expect(message).toStartWith(
        name === 'VAULT_TLS_KEY_FILE' && value === KEY ? 'VAULT_TLS_CERT_FILE ' : `${name} `,
      );
      expect(message).not.toContain('canary');
      expect(message).not.toContain('\n');
    }
  });

  const files: ReadonlyArray<readonly [string, string, string]> = [
    ['VAULT_PRICES_FILE', '{"currency":"USD","prices":{"store":0.1},"default":"0"}', '/prices/store'],
    ['VAULT_PRICES_FILE', '{"currency":"USD","prices":{"storing":"1"},"default":"0"}', '/prices/storing'],
    ['VAULT_PRICES_FILE', '{"currency":"usd","prices":{},"default":"0"}', '/currency'],
    ['VAULT_PRICES_FILE', '{"currency":"USD","prices":{},"default":"-1"}', '/default'],
    ['VAULT_PRICES_FILE', '{"currency":"USD","prices":{},"default":"0","x":1}', '/x'],
    ['VAULT_PRICES_FILE', '[]', 'its top'],
    ['VAULT_PRICES_FILE', '{', 'not valid JSON'],
    ['VAULT_NETWORK_TOKEN_FILE', '[{"id":"a","url":"http://a","headers":{}}]', 'not https'],
    ['VAULT_NETWORK_TOKEN_FILE', '[{"id":"a","url":"https://u@a","headers":{}}]', 'not https'],
    ['VAULT_NETWORK_TOKEN_FILE', '[{"id":"sim","url":"https://a","headers":{}}]', 'built-in'],
    ['VAULT_NETWORK_TOKEN_FILE', '[{"id":"a","url":"https://a","headers":{"a b":"c"}}]', 'header'],
    [
      'VAULT_NETWORK_TOKEN_FILE',
      '[{"id":"a","url":"https://a","headers":{"a":"b\\r\\nc: d"}}]',
      '/0/headers/a',
    ],
    ['VAULT_NETWORK_TOKEN_FILE', '[{"id":"a","url":"https://a"}]', '/0/headers'],
  ];
  test.each(files)('%s with %s', (name, text, reason) => {
    const message = refusal({ [name]: file('bad.json', text) });
    expect(message).toStartWith(`${name} `);
    expect(message).toContain(reason);
  });
});

describe('values that do not go together stop the start', () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const otherKey = file('other.pem', other.export({ type: 'pkcs8', format: 'pem' }).toString());
  const production = { VAULT_ENV: 'production', VAULT_MASTER_KEY: MASTER };
  const ring = file('master-key', MASTER);
  const redis = { VAULT_REDIS_URL: 'rediss://a' };
  const tls = { VAULT_TLS_CERT_FILE: CERT, VAULT_TLS_KEY_FILE: KEY };
  const OIDC = {
    VAULT_OIDC_ISSUER: 'https://login.example',
    VAULT_OIDC_CLIENT_ID: 'vault',
    VAULT_OIDC_CLIENT_SECRET_FILE: file('oidc-secret', 'a secret'),
    VAULT_OIDC_ROLES: 'groups=staff:shop:admin',
  };
  const rows: ReadonlyArray<readonly [string, Record<string, string>, string]> = [
    ['a certificate alone', { VAULT_TLS_CERT_FILE: CERT }, 'VAULT_TLS_KEY_FILE is required'],
    ['a private key alone', { VAULT_TLS_KEY_FILE: KEY }, 'VAULT_TLS_CERT_FILE is required'],
    [
      'a private key of another',
      { VAULT_TLS_CERT_FILE: CERT, VAULT_TLS_KEY_FILE: otherKey },
      'VAULT_TLS_KEY_FILE does not',
    ],
    [
      'a certificate for Redis alone',
      { VAULT_REDIS_CERT_FILE: CERT, ...redis },
      'VAULT_REDIS_KEY_FILE is required with',
    ],
    [
      'a key for Redis alone',
      { VAULT_REDIS_KEY_FILE: KEY, ...redis },
      'VAULT_REDIS_CERT_FILE is required with',
    ],
    [
      'a key for Redis of another',
      { VAULT_REDIS_CERT_FILE: CERT, VAULT_REDIS_KEY_FILE: otherKey, ...redis },
      'VAULT_REDIS_KEY_FILE does not name the unencrypted PEM private key of VAULT_REDIS_CERT_FILE',
    ],
    ['TLS to the own Redis', { VAULT_REDIS_CA_FILE: CERT }, 'VAULT_REDIS_CA_FILE is only for TLS'],
    ...['redis://a', 'redis+sentinel://a/b', 'unix:/a', 'redis://a,b'].map(
      (url) =>
        [
          `TLS to ${url}`,
          { VAULT_REDIS_CA_FILE: CERT, VAULT_REDIS_URL: url },
          'VAULT_REDIS_CA_FILE is only for TLS',
        ] as const,
    ),
    [
      'a public URL without TLS on a server with it',
      { VAULT_PUBLIC_URL: 'http://127.0.0.1:8443', ...tls },
      'VAULT_PUBLIC_URL must begin with https://: with VAULT_TLS_CERT_FILE',
    ],
    [
      'a console without TLS on a server with it',
      { VAULT_CONSOLE_URL: 'http://console.example', ...tls },
      'VAULT_CONSOLE_URL must begin with https://: with VAULT_TLS_CERT_FILE',
    ],
    [
      'a host for forms without TLS on a server with it',
      { VAULT_FORMS_URL: 'http://forms.example', ...tls },
      'VAULT_FORMS_URL must begin with https://: with VAULT_TLS_CERT_FILE',
    ],
    [
      'a staging server without TLS, called under HTTPS',
      { VAULT_PUBLIC_URL: 'https://vault.example', VAULT_STAGING_URL: 'http://staging.example' },
      'VAULT_STAGING_URL must begin with https://: browsers',
    ],
    [
      'a public URL without TLS, called by forms under HTTPS',
      { VAULT_PUBLIC_URL: 'http://vault.example', VAULT_FORMS_URL: 'https://forms.example' },
      'VAULT_PUBLIC_URL must begin with https://: browsers',
    ],
    ['a user alone', { VAULT_BOOTSTRAP_USER: 'a' }, 'VAULT_BOOTSTRAP_PASSWORD is required'],
    ['a password alone', { VAULT_BOOTSTRAP_PASSWORD: 'a' }, 'VAULT_BOOTSTRAP_USER is required'],
    ['two master keys', { VAULT_MASTER_KEY: MASTER, VAULT_MASTER_KEY_FILE: ring }, 'VAULT_MASTER_KEY and'],
    [
      'a master key and a command',
      { VAULT_MASTER_KEY: MASTER, VAULT_MASTER_KEY_COMMAND: 'exit 1' },
      'VAULT_MASTER_KEY and VAULT_MASTER_KEY_COMMAND are both set',
    ],
    [
      'a master key file and a command',
      { VAULT_MASTER_KEY_FILE: ring, VAULT_MASTER_KEY_COMMAND: 'exit 1' },
      'VAULT_MASTER_KEY_FILE and VAULT_MASTER_KEY_COMMAND are both set',
    ],
    [
      'no master key in production',
      { VAULT_ENV: 'production' },
      'VAULT_MASTER_KEY or VAULT_MASTER_KEY_FILE or VAULT_MASTER_KEY_COMMAND is required',
    ],
    ['an inspector in production', { ...production, BUN_INSPECT: 'ws://x' }, 'BUN_INSPECT is not allowed'],
    [
      'a console that browsers reach without TLS, with OpenID Connect',
      { ...OIDC, VAULT_CONSOLE_URL: 'http://vault.example' },
      'VAULT_OIDC_ISSUER needs',
    ],
    [
      'forms whose scripts could set the cookies of the console, with OpenID Connect',
      { ...OIDC, VAULT_PUBLIC_URL: 'https://vault.example', VAULT_FORMS_URL: 'https://vault.example:8443' },
      'VAULT_OIDC_ISSUER needs a console at another host name',
    ],
    [
      'a second listener without the address of the console, with OpenID Connect',
      { ...OIDC, VAULT_ADMIN_PORT: '81' },
      'VAULT_CONSOLE_URL is required',
    ],
    ['an admin address alone', { VAULT_ADMIN_HOST: '127.0.0.1' }, 'VAULT_ADMIN_PORT is required'],
    [
      'two listeners on one port',
      { VAULT_PORT: '81', VAULT_ADMIN_PORT: '81' },
      'VAULT_ADMIN_PORT must be another port',
    ],
    [
      'plain HTTP on an admin address',
      { VAULT_ADMIN_HOST: '192.0.2.1', VAULT_ADMIN_PORT: '81' },
      'VAULT_ADMIN_HOST is not a loopback address',
    ],
    ...['0.0.0.0', '::', '192.0.2.1', 'vault.example', '::ffff:192.0.2.1'].map(
      (host) =>
        [`plain HTTP on ${host}`, { VAULT_HOST: host }, 'VAULT_HOST is not a loopback address'] as const,
    ),
  ];
  test.each(rows)('%s', (_name, environment, message) => {
    expect(refusal(environment)).toStartWith(message);
    expect(refusal(environment)).not.toContain('\n');
  });

  test('an inspector on the command line in production', () => {
    expect(refusal(production, ['--inspect-wait=1'])).toStartWith('--inspect is not allowed');
    expect(loadConfig({}, ['--inspect']).env).toBe('staging');
  });

  test('but not where the operator says so, nor on loopback', () => {
    const open = { VAULT_HOST: '0.0.0.0', VAULT_ALLOW_PLAIN_HTTP: 'true' };
    expect(loadConfig({ ...production, ...open }).host).toBe('0.0.0.0');
    for (const host of ['127.8.9.1', '::1', 'localhost']) {
      expect(loadConfig({ VAULT_HOST: host }).host).toBe(host);
    }
  });

  test('but with URLs that browsers can use', () => {
    const own = { VAULT_PUBLIC_URL: 'https://vault.example', ...tls };
    const other = { VAULT_FORMS_URL: 'https://forms.example', VAULT_STAGING_URL: 'http://[::1]:8081' };
    expect(refusal({ ...own, ...other })).toBe('nothing was refused');
    expect(refusal({ VAULT_PUBLIC_URL: 'http://a', VAULT_STAGING_URL: 'http://b' })).toBe(
      'nothing was refused',
    );
  });

  test('production keeps verification codes for a day', () => {
    expect(loadConfig(production).sadRetention).toEqual({ kind: 'ttl', ms: 86_400_000 });
  });
});

describe('a certificate', () => {
  const day = (offset: number): Date => new Date(Date.now() + offset * 86_400_000);
  test.each([
    ['that has expired', [-2, -1], 'VAULT_TLS_CERT_FILE names a certificate that has expired'],
    ['that is not valid yet', [1, 2], 'VAULT_TLS_CERT_FILE names a certificate that is not valid yet'],
    ['that is valid now', [-1, 1], 'nothing was refused'],
  ] as const)('%s', async (_name, [from, to], message) => {
    const made = await newAuthority().then((authority) =>
      authority.issue({ notBefore: day(from), notAfter: day(to) }),
    );
    const cert = file('dated.pem', made.certPem);
    expect(refusal({ VAULT_TLS_CERT_FILE: cert, VAULT_TLS_KEY_FILE: file('dated.key', made.keyPem) })).toBe(
      message,
    );
  });
});

describe('several problems', () => {
  test('are told at once, one line each, and none twice', () => {
    const readable = writePrivate(join(folder, 'readable'), MASTER, 0o444);
    const message = refusal({
      VAULT_ENV: 'production',
      VAULT_PROT: '1',
      VAULT_HSOT: 'x',
      VAULT_HOST: '0.0.0.0',
      VAULT_MASTER_KEY_FILE: readable,
      VAULT_BOOTSTRAP_USER: 'a',
      VAULT_WORKERS: 'many',
      BUN_INSPECT: 'ws://x',
    });
    expect(message.split('\n').map((line) => line.split(' ').slice(0, 4).join(' '))).toEqual([
      'VAULT_PROT is not a',
      'VAULT_HSOT is not a',
      'BUN_INSPECT is not allowed',
      'VAULT_HOST is not a',
      'VAULT_MASTER_KEY_FILE names a file',
      'VAULT_BOOTSTRAP_PASSWORD is required with',
      'VAULT_WORKERS must be a',
    ]);
  });

  test('a bad file of a pair is no missing one', () => {
    expect(refusal({ VAULT_TLS_CERT_FILE: '/x', VAULT_TLS_KEY_FILE: KEY, VAULT_HOST: '::' })).toBe(
      'VAULT_TLS_CERT_FILE names a file that cannot be read (ENOENT)',
    );
  });
});

describe('a name that is not a setting stops the start', () => {
  const misspellings: Readonly<Record<string, string>> = {
    VAULT_PORT: 'VAULT_PROT VAULT_POR VAULT_PORTS vault_port VALT_PORT VAULTPORT',
    VAULT_REDIS_URL: 'VAULT_REDIS VAULT_REDISURL VAULT_REDIS_URI VUALT_REDIS_URL',
    VAULT_MASTER_KEY: 'VAULT_MASTERKEY VAULT_MASTER_KEYS',
    VAULT_ARGON2: 'VAULT_ARGON VAULT_ARGON2ID',
  };
  test.each(Object.entries(misspellings))('what could be %s is answered with it: %s', (meant, names) => {
    for (const name of names.split(' ')) {
      expect(refusal({ [name]: 'canary' })).toBe(`${name} is not a setting; did you mean ${meant}?`);
    }
  });

  test('what could be none is only named', () => {
    for (const name of ['VAULT_', 'VAULT_TOKEN']) {
      expect(refusal({ [name]: 'canary' })).toStartWith(`${name} is not a setting`);
    }
  });

  test('but other programs may have their names', () => {
    const others = {
      VIRTUAL_ENV: 'x',
      VISUAL: 'vi',
      VSCODE_PID: '1',
      HOST: 'a',
      PORT: '1',
      REDIS_URL: 'b',
      MY_VAULT_PORT: 'c',
    };
    expect(loadConfig(others).port).toBe(8080);
  });

  test('a name that is no name is made printable', () => {
    const message = refusal({ [`VAULT_\u001b[31m\n${'x'.repeat(500)}`]: '1' });
    expect(message).toMatch(/^VAULT_[\w?.-]{1,60} is not a setting$/);
  });
});
