/** `vault check`: the errors of a start, without one. */
import { afterAll, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../server/config/config.ts';
import { runCommand } from '../helpers/command.ts';
import { keyText, vectorPath, writePrivate } from '../helpers/config.ts';
import { newAuthority } from '../workers/crypto/authority.ts';

const folder = mkdtempSync(join(tmpdir(), 'cv-check-'));
afterAll(() => rmSync(folder, { recursive: true }));

function check(environment: Readonly<Record<string, string>>, ...args: readonly string[]) {
  return runCommand(['check', ...args], { config: () => loadConfig(environment) });
}

test('complete settings are exit code 0, and nothing is opened, made or run', async () => {
  const data = join(folder, 'data');
  const ran = join(folder, 'ran');
  const settings = { VAULT_DATA_DIR: data, VAULT_MASTER_KEY_COMMAND: `touch ${ran}` };
  expect(await check(settings)).toEqual({
    ...{ code: 0, out: 'The settings are complete (staging).\n', err: '', opened: 0 },
  });
  expect([existsSync(data), existsSync(ran)]).toEqual([false, false]);
  expect(JSON.parse((await check(settings, '--json')).out)).toEqual({ ok: true, warnings: [] });
});

test('a file of certificates may begin with a key', async () => {
  const file = join(folder, 'both.pem');
  const pem = readFileSync(vectorPath('tls-cert.pem'), 'utf8');
  writePrivate(file, `-----BEGIN PRIVATE KEY-----\nbm9uZQ==\n-----END PRIVATE KEY-----\n${pem}`);
  expect((await check({ VAULT_PROXY_CA_FILE: file })).code).toBe(0);
  rmSync(file);
});

test('each error is a line with its setting and no value, and exit code 1', async () => {
  const password = 'canary-4242';
  const { code, out, err } = await check({
    ...{ VAULT_ENV: 'production', VAULT_PORTT: '1', VAULT_HOST: '0.0.0.0', VAULT_PORT: 'canary-1' },
    ...{ VAULT_PUBLIC_URL: 'https://vault.example.com', VAULT_FORMS_URL: 'https://vault.example.com' },
    ...{ VAULT_BOOTSTRAP_USER: `cred_${'a'.repeat(22)}`, VAULT_BOOTSTRAP_PASSWORD: password },
    VAULT_TLS_KEY_FILE: join(folder, 'missing.key'),
  });
  expect([code, out]).toEqual([1, '']);
  const lines = err.trimEnd().split('\n');
  expect(lines.map((line) => line.split(' ')[0])).toEqual([
    'VAULT_PORTT',
    'VAULT_PORT',
    'VAULT_TLS_KEY_FILE',
    'VAULT_FORMS_URL',
    'VAULT_MASTER_KEY',
    'VAULT_BOOTSTRAP_USER',
  ]);
  expect(err).not.toContain('canary');
});

test('a certificate that ends soon is a warning, and exit code 0', async () => {
  const soon = join(folder, 'ca.pem');
  await Bun.write(soon, (await newAuthority()).pem);
  const { code, out } = await check({ VAULT_PROXY_CA_FILE: soon, VAULT_MASTER_KEY: keyText(1) });
  expect(code).toBe(0);
  const [warning, ...others] = out.trimEnd().split('\n');
  expect(warning).toMatch(
    /^warning: VAULT_PROXY_CA_FILE names a certificate that expires on \d{4}-\d\d-\d\d$/,
  );
  expect(others).toEqual(['The settings are complete (staging).']);
  const later = {
    VAULT_TLS_CERT_FILE: vectorPath('tls-cert.pem'),
    VAULT_TLS_KEY_FILE: writePrivate(
      join(folder, 'key.pem'),
      readFileSync(vectorPath('tls-key.pem'), 'utf8'),
    ),
  };
  expect((await check(later)).out).toBe('The settings are complete (staging).\n');
  expect(readdirSync(folder).toSorted()).toEqual(['ca.pem', 'key.pem']);
});
