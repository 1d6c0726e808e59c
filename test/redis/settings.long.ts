import { afterAll, describe, expect, test } from 'bun:test';
import { loadConfig } from '../../server/config/config.ts';
import { ConfigError } from '../../server/config/reader.ts';
import { newFiles } from './tls-server.ts';

const files = await newFiles();
afterAll(() => files.remove());
const [one, two] = [await files.authority.issue(), await files.authority.issue()];
const CERT = files.write('cert.pem', one.certPem);
const KEY = files.write('key.pem', one.keyPem);
const OTHER_KEY = files.write('other.pem', two.keyPem);
const TLS = { VAULT_REDIS_URL: 'rediss://a' };

function refusal(environment: Record<string, string>): string {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.message;
    }
    throw error;
  }
  return 'nothing was refused';
}

test.each([
  'redis+sentinel://a',
  'redis+sentinel://a/',
  'redis+sentinel:///name',
  'redis+sentinel://:canary@a/name/x',
  'redis+sentinel://:canary%zz@a/name',
  'redis+sentinel://a,a/name',
  'redis+sentinel://a,/name',
  'redis+sentinel://a:99999/name',
  'redis+sentinel://a/name?db=1',
  'redis+sentinel://a/name?sentinel_user=canary',
  'redis+sentinel://a/name?sentinel_password=canary&sentinel_password=b',
])('%s is no address of Sentinels, and is not repeated', (url) => {
  const message = refusal({ VAULT_REDIS_URL: url });
  expect(message).toMatch(/^VAULT_REDIS_URL (must|contains) [^\n]+$/);
  expect(message).not.toContain('canary');
});

describe('files for TLS to Redis that do not fit', () => {
  test.each([
    ['a certificate alone', { VAULT_REDIS_CERT_FILE: CERT, ...TLS }, 'VAULT_REDIS_KEY_FILE is required with'],
    ['a private key alone', { VAULT_REDIS_KEY_FILE: KEY, ...TLS }, 'VAULT_REDIS_CERT_FILE is required with'],
    [
      'a private key of another certificate',
      { VAULT_REDIS_CERT_FILE: CERT, VAULT_REDIS_KEY_FILE: OTHER_KEY, ...TLS },
      'VAULT_REDIS_KEY_FILE does not name the unencrypted PEM private key of VAULT_REDIS_CERT_FILE',
    ],
    ['a Redis of the server', { VAULT_REDIS_CA_FILE: CERT }, 'VAULT_REDIS_CA_FILE is only for TLS'],
    ...['redis://a', 'redis+sentinel://a/b', 'unix:/a', 'redis://a,b'].map(
      (url) =>
        [
          `the address ${url}`,
          { VAULT_REDIS_CA_FILE: CERT, VAULT_REDIS_URL: url },
          'VAULT_REDIS_CA_FILE is only for TLS',
        ] as const,
    ),
  ] as const)('%s', (_name, environment, message) => {
    expect(refusal({ ...environment })).toStartWith(message);
    expect(refusal({ ...environment })).not.toContain('\n');
  });
});
