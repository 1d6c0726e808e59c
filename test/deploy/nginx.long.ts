/** The configuration of deploy/nginx before a real vault with two listeners, where there is an nginx. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../helpers/free-port.ts';
import { type GuideServer, startServer } from '../pages/server.ts';

const ROOT = join(import.meta.dir, '..', '..');
const MS_MAX = 120_000;
const VENDORED = join(ROOT, '.vendor/nginx');

Bun.spawnSync(['sh', join(ROOT, 'scripts/nginx-vendor.sh')], { stdio: ['ignore', 2, 2] });
const nginx = Bun.which('nginx', { PATH: `${process.env['PATH']}:/usr/sbin:${VENDORED}` });

const folder = mkdtempSync(join(tmpdir(), 'cv-nginx-'));
const port = freePort();
const publicPort = freePort();
const adminPort = freePort();
let vault: GuideServer;
let proxy: Bun.Subprocess;

/** Lays out a prefix of nginx with the configuration, its ports and certificates being those of this test. */
function layOut(): void {
  const certificate = ['-keyout', join(folder, 'vault.key'), '-out', join(folder, 'vault.pem')];
  Bun.spawnSync([
    ...'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'.split(' '),
    ...['-subj', '/CN=vault.example.com', ...certificate],
  ]);
  const conf = readFileSync(join(ROOT, 'deploy/nginx/cardvault.conf'), 'utf8')
    .replaceAll('listen 443 ', `listen 127.0.0.1:${port} `)
    .replaceAll('/etc/nginx/tls', folder)
    .replace('127.0.0.1:8080', `127.0.0.1:${publicPort}`)
    .replace('127.0.0.1:8081', `127.0.0.1:${adminPort}`);
  writeFileSync(join(folder, 'cardvault.conf'), conf);
  const common = readFileSync(join(ROOT, 'deploy/nginx/cardvault-proxy.inc'), 'utf8');
  writeFileSync(join(folder, 'cardvault-proxy.inc'), common);
  mkdirSync(join(folder, 'temp'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, 'temp', name)};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${join(folder, 'pid')}; error_log stderr warn; events {}\nhttp { access_log off; ${temporary.join(' ')} include cardvault.conf; }\n`,
  );
}

interface Answer {
  readonly status: string;
  readonly headers: string;
  readonly body: string;
}

/** The command that asks nginx under one of its names. */
function curl(name: string, path: string, ...args: readonly string[]): string[] {
  const host = `${name}:${port}`;
  return [
    ...['curl', '-sSki', '--max-time', '20', '--resolve', `${host}:127.0.0.1`, ...args],
    `https://${host}${path}`,
  ];
}

function ask(name: string, path: string, ...args: readonly string[]): Answer {
  const { stdout } = Bun.spawnSync(curl(name, path, ...args));
  const [head = '', body = ''] = stdout.toString().split(/\r\n\r\n(.*)/s);
  return { status: head.split(' ')[1] ?? '', headers: head.toLowerCase(), body };
}
const PUBLIC = 'vault.example.com';
const ADMIN = 'vault.internal.example.com';

beforeAll(async () => {
  if (nginx === null) {
    return;
  }
  vault = await startServer(join(folder, 'data'), {
    VAULT_PUBLIC_URL: `https://${PUBLIC}`,
    VAULT_PORT: String(publicPort),
    VAULT_ADMIN_PORT: String(adminPort),
    VAULT_TRUSTED_PROXIES: '127.0.0.1/32',
  });
  layOut();
  proxy = Bun.spawn([nginx, '-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  while (ask(PUBLIC, '/health/live').status !== '200') {
    expect(proxy.exitCode).toBeNull();
    await Bun.sleep(50);
  }
}, MS_MAX);
afterAll(async () => {
  proxy?.kill();
  await proxy?.exited;
  await vault?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.skipIf(nginx === null)('each name has what its listener has', () => {
  const who = ['-u', `admin:${vault.password}`];
  expect(ask(PUBLIC, '/v1/whoami', ...who).status).toBe('404');
  expect(ask(PUBLIC, '/metrics').status).toBe('404');
  expect(ask(PUBLIC, '/v1/retrieve/unknown').status).toBe('403');
  expect(ask(ADMIN, '/v1/whoami', ...who).status).toBe('200');
  expect(ask(ADMIN, '/metrics').status).toBe('200');
  expect(ask(PUBLIC, '/health/live').headers).toContain('strict-transport-security: max-age=31536000');
});

test.skipIf(nginx === null)('the vault learns who calls, and believes no header of a caller', () => {
  const bad = ['-u', 'admin:wrong', '-H', 'X-Forwarded-For: 9.9.9.9'];
  expect(ask(ADMIN, '/v1/whoami', ...bad).status).toBe('401');
  const log = ask(ADMIN, '/v1/audit?limit=5', '-u', `admin:${vault.password}`).body;
  expect(log).toContain('"source_ip":"127.0.0.1"');
  expect(log).not.toContain('9.9.9.9');
});

test.skipIf(nginx === null)(
  'a long body is refused, and no part of it lies on the disk meanwhile',
  async () => {
    const file = join(folder, 'long.json');
    writeFileSync(file, JSON.stringify({ card_number: '4111111111111111', note: 'x'.repeat(2_000_000) }));
    const args = ['-H', 'X-Vault-Capture-Secret: vcs1_x', '--data-binary', `@${file}`];
    const sent = ask(PUBLIC, '/v1/capture/none', ...args);
    // The vault closes the connection before all is sent: whether its reply or 502 of nginx arrives is a race.
    expect(sent.status).toMatch(/^4..$|^502$/);
    const slow = Bun.spawn(curl(PUBLIC, '/v1/capture/none', '--limit-rate', '400k', ...args), {
      stdout: 'ignore',
    });
    for (let polls = 0; polls < 50; polls++) {
      const stored = readdirSync(join(folder, 'temp'), { recursive: true, withFileTypes: true });
      expect(stored.filter((each) => each.isFile())).toEqual([]);
      await Bun.sleep(20);
    }
    slow.kill();
    await slow.exited;
  },
);
