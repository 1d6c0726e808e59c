import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { layOut } from './image.ts';

/** The user of the image. */
const UID = 65532;
const isRoot = process.getuid?.() === 0;
/** As root, the server is another user, who can get no rights; else it is this one, who has none either. */
const CONFINED = isRoot
  ? [
      'setpriv',
      `--reuid=${UID}`,
      `--regid=${UID}`,
      '--clear-groups',
      '--bounding-set=-all',
      '--inh-caps=-all',
      '--no-new-privs',
    ]
  : [];

let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-image-'));
  chmodSync(folder, 0o755);
  await layOut(join(folder, 'app'));
  // Where only root may look, another user finds no runtime.
  copyFileSync(process.execPath, join(folder, 'bun'));
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  writeFileSync(
    join(folder, 'master-key'),
    `${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}\n`,
  );
  if (isRoot) {
    chownSync(join(folder, 'data'), UID, UID);
    chownSync(join(folder, 'master-key'), 0, UID);
  }
  // As Kubernetes hands a secret on: root's file, readable by the group.
  chmodSync(join(folder, 'master-key'), isRoot ? 0o440 : 0o400);
  await Bun.$`chmod -R a-w ${join(folder, 'app')}`;
});
afterAll(async () => {
  await Bun.$`chmod -R u+w ${join(folder, 'app')}`;
  rmSync(folder, { recursive: true, force: true });
});

test('a server runs from files that it cannot write, as a user without rights, without home and shell', async () => {
  const redis = findRedisBinary();
  const port = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const env = {
    HOME: '/nonexistent',
    TMPDIR: '/nonexistent',
    VAULT_PORT: String(port.port),
    VAULT_DATA_DIR: join(folder, 'data'),
    VAULT_REDIS_BIN: redis,
    VAULT_MASTER_KEY_FILE: join(folder, 'master-key'),
    VAULT_BOOTSTRAP_USER: 'shop',
    VAULT_BOOTSTRAP_PASSWORD: 'a-password-of-the-image-test',
  };
  const url = `http://127.0.0.1:${port.port}`;
  port.stop(true);
  const run = (script: string) =>
    Bun.spawn([...CONFINED, join(folder, 'bun'), script], {
      cwd: join(folder, 'app'),
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });

  expect(await run('server/cli/probe.ts').exited).toBe(1);
  const server = run('server/main.ts');
  try {
    const decoder = new TextDecoder();
    let printed = '';
    for await (const chunk of server.stdout) {
      printed += decoder.decode(chunk, { stream: true });
      if (printed.includes('Ctrl-C stops the server.')) {
        break;
      }
    }
    expect(printed).toContain(`API     ${url}/v1`);
    expect(await run('server/cli/probe.ts').exited).toBe(0);

    const headers = {
      Authorization: `Basic ${btoa('shop:a-password-of-the-image-test')}`,
      'X-Vault-Passphrase': 'a-passphrase-of-the-image-test',
    };
    const post = (path: string, body: object): Promise<Response> =>
      fetch(`${url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect((await post('/key', { user: 'demo', passphrase: headers['X-Vault-Passphrase'] })).status).toBe(
      200,
    );
    const stored = await post('/vault?user=demo', { card_number: '4111111111111111' });
    const { token } = (await stored.json()) as { token: string };
    const read = await fetch(`${url}/v1/vault?user=demo&token=${token}`, { headers });
    expect(await read.json()).toEqual({ card_number: '************1111' });

    expect(await (await fetch(`${url}/docs/vault`)).text()).toContain('id="storeItem"');
    expect((await fetch(`${url}/v1/retrieve/iframe/pcd`)).status).toBe(200);
    expect((await fetch(`${url}/sdk/cardvault-sdk.tgz`)).status).toBe(200);

    const guide = await (await fetch(`${url}/guide/forms`)).text();
    expect(guide).toContain('class="hljs-');
    const loaded = [...guide.matchAll(/(?:src|<link rel="\w+" href)="([^"]+)"/g)].map(([, path]) => path);
    expect(loaded.length).toBeGreaterThanOrEqual(4);
    for (const path of [...loaded, '/guide/search.json']) {
      expect((await fetch(`${url}${path}`)).status).toBe(200);
    }
  } finally {
    server.kill('SIGTERM');
  }
  expect(await server.exited).toBe(0);
}, 60_000);
