/** What the server's own TLS agrees to, as openssl finds out. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Elysia } from 'elysia';
import { type Listener, openListener } from '../../server/http/listen/listen.ts';

const HOST = { hostname: '127.0.0.1', port: 0 } as const;
const STRONG = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305', 'ECDHE-RSA-AES128-GCM-SHA256'];

let folder: string;
let listener: Listener;
/** The runtime with its own choice, which shows that openssl would have agreed to it. */
let bare: Bun.Server<undefined>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cv-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = Bun.spawnSync([
    ...['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
    ...['-keyout', key, '-out', cert],
  ]);
  expect(made.exitCode).toBe(0);
  const tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  listener = openListener(new Elysia(), { ...HOST, idleTimeoutSeconds: 30, tls });
  bare = Bun.serve({ ...HOST, tls, fetch: () => new Response() });
});
afterAll(async () => {
  await listener.close();
  await bare.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

/** The cipher that a client of openssl and a server agree on; undefined if on none. */
async function agreed(port: number | undefined, ...options: readonly string[]): Promise<string | undefined> {
  const client = Bun.spawn(['openssl', 's_client', '-connect', `127.0.0.1:${port}`, ...options], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const text = await new Response(client.stdout).text();
  await client.exited;
  const [, cipher] = /Cipher is (\S+)/.exec(text) ?? [];
  return cipher === '(NONE)' ? undefined : cipher;
}

function withCiphers(...ciphers: readonly string[]): readonly string[] {
  return ['-tls1_2', '-cipher', [...ciphers, '@SECLEVEL=0'].join(':')];
}

describe('TLS 1.2', () => {
  test.each(['AES128-SHA', 'AES256-GCM-SHA384', 'ECDHE-RSA-AES128-SHA'])(
    'is not spoken with %s: static RSA or CBC',
    async (cipher) => {
      expect(await agreed(bare.port, ...withCiphers(cipher))).toBe(cipher);
      expect(await agreed(listener.port, ...withCiphers(cipher))).toBeUndefined();
    },
  );

  test.each(STRONG)('is spoken with %s', async (cipher) => {
    expect(await agreed(listener.port, ...withCiphers(cipher))).toBe(cipher);
  });

  test('has the order of the server, not that of the client', async () => {
    const reversed = withCiphers(...STRONG.toReversed());
    expect(await agreed(bare.port, ...reversed)).toBe(STRONG[2]);
    expect(await agreed(listener.port, ...reversed)).toBe(STRONG[0]);
  });

  test.each(['NULL-SHA256', 'ADH-AES128-SHA', 'DHE-RSA-AES128-GCM-SHA256'])(
    'is not spoken with %s',
    async (cipher) => {
      expect(await agreed(listener.port, ...withCiphers(cipher))).toBeUndefined();
    },
  );
});

test('an older version is not spoken, and TLS 1.3 is', async () => {
  for (const version of ['-tls1', '-tls1_1']) {
    expect(await agreed(listener.port, version, '-cipher', 'ALL:@SECLEVEL=0')).toBeUndefined();
  }
  expect(await agreed(listener.port, '-tls1_3')).toMatch(/^TLS_/);
});
