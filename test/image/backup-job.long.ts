/** The backup of the manifests, run as its job runs it, and read again. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { YAML } from 'bun';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { launchLimitedRedis } from '../helpers/redis-limited.ts';
import { newRedisFolder } from '../helpers/redis-process.ts';
import { OWNER, portOf, type Server, spawnServer } from '../helpers/server-process.ts';

const ROOT = join(import.meta.dir, '..', '..');

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: { readonly key: string };
  };
}
interface Job {
  readonly spec: {
    readonly jobTemplate: {
      readonly spec: {
        readonly template: {
          readonly spec: { readonly containers: [{ readonly args: string[]; readonly env: Variable[] }] };
        };
      };
    };
  };
}

const [job] = [YAML.parse(readFileSync(join(ROOT, 'deploy/kubernetes/backup.yaml'), 'utf8'))].flat() as [Job];
const [container] = job.spec.jobTemplate.spec.template.spec.containers;

const folder = mkdtempSync(join(tmpdir(), 'cv-job-'));
const redisFolder = newRedisFolder();
const keyFile = join(folder, 'secrets', 'master-key');
let redis: Bun.Subprocess;
let server: Server;
let secret: Readonly<Record<string, string>> = {};
let stored: { readonly token: string };

const HEADERS = {
  Authorization: `Basic ${btoa(`${OWNER.name}:${OWNER.password}`)}`,
  'X-Vault-Passphrase': 'a passphrase of this test',
};
/** No published test number: this vault is in production. */
const NUMBER = '4929123456789011';

beforeAll(async () => {
  for (const name of ['secrets', 'backups', 'data']) {
    mkdirSync(join(folder, name), { mode: 0o700 });
  }
  writeFileSync(keyFile, Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64'), {
    mode: 0o400,
  });
  const limited = await launchLimitedRedis(redisFolder, true);
  redis = limited.child;
  if (limited.target.kind !== 'url') {
    throw new Error('the limited Redis is reached by its URL');
  }
  secret = { VAULT_REDIS_URL: limited.target.url };
  const settings = {
    ...secret,
    VAULT_ENV: 'production',
    VAULT_MASTER_KEY_FILE: keyFile,
    VAULT_ARGON2: undefined,
    VAULT_DATA_DIR: join(folder, 'data'),
  };
  server = spawnServer(settings, ROOT);
  const url = `http://127.0.0.1:${await portOf(server, [])}/v1`;
  const post = async (path: string, body: object) => {
    const reply = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify(body),
    });
    return { status: reply.status, json: (await reply.json()) as { token: string } };
  };
  expect(await post('/key', { user: 'u', passphrase: HEADERS['X-Vault-Passphrase'] })).toMatchObject({
    status: 200,
  });
  const { status, json } = await post('/vault?user=u', { card_number: NUMBER });
  expect([status, json]).toEqual([200, expect.anything()]);
  stored = json;
}, 60_000);
afterAll(async () => {
  for (const child of [server, redis]) {
    child?.kill('SIGKILL');
    await child?.exited;
  }
  for (const path of [folder, redisFolder]) {
    rmSync(path, { recursive: true, force: true });
  }
});

/** What Kubernetes makes of the container: its variables, and its arguments with them, in the folders of this test. */
function commandOf(podName: string): {
  readonly args: readonly string[];
  readonly env: Record<string, string>;
} {
  const here = (text: string): string => text.replace(/^\/(secrets|backups)\//, `${folder}/$1/`);
  const env = Object.fromEntries(
    container.env.map(({ name, value, valueFrom }) => [
      name,
      here(value ?? (valueFrom?.fieldRef ? podName : (secret[valueFrom?.secretKeyRef?.key ?? ''] ?? ''))),
    ]),
  );
  const filled = (arg: string): string =>
    arg.replaceAll(/\$\((\w+)\)/g, (_, name: string) => env[name] ?? '');
  return { args: container.args.map((arg) => here(filled(arg))), env };
}

async function run(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: ROOT,
    // As in the image: no home, and nothing of this machine's settings.
    env: { HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, err };
}

test('each night leaves a file of its own, which a restore reads', async () => {
  for (const pod of ['backup-29000001-abcde', 'backup-29001441-fghij']) {
    const { args, env } = commandOf(pod);
    expect(await run(args, env)).toMatchObject({ code: 0 });
  }
  const files = readdirSync(join(folder, 'backups')).sort();
  expect(files).toEqual(['backup-29000001-abcde.backup', 'backup-29001441-fghij.backup']);
  const file = join(folder, 'backups', files[1] ?? '');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file).includes(NUMBER)).toBe(false);

  const again = join(folder, 'again');
  mkdirSync(again, { mode: 0o700 });
  const settings = {
    VAULT_ENV: 'production',
    VAULT_MASTER_KEY_FILE: keyFile,
    VAULT_DATA_DIR: again,
    VAULT_REDIS_BIN: findRedisBinary() ?? '',
    PATH: process.env['PATH'] ?? '',
  };
  const restored = await run(['server/cli.ts', 'restore', file], settings);
  expect([restored.code, restored.err]).toEqual([0, expect.anything()]);
  const second = spawnServer({ ...settings, VAULT_ARGON2: undefined }, ROOT);
  try {
    const url = `http://127.0.0.1:${await portOf(second, [])}/v1`;
    const reply = await fetch(`${url}/vault?user=u&token=${stored.token}`, { headers: HEADERS });
    expect(await reply.json()).toEqual({ card_number: NUMBER });
  } finally {
    second.kill('SIGTERM');
    await second.exited;
  }
}, 120_000);

test('a run that Redis rejects fails, and leaves no file', async () => {
  const { args, env } = commandOf('backup-1-x');
  const { code } = await run(args, {
    ...env,
    VAULT_REDIS_URL: env['VAULT_REDIS_URL']?.replace(/:[^:@]+@/, ':another@') ?? '',
  });
  expect(code).not.toBe(0);
  expect(readdirSync(join(folder, 'backups')).filter((name) => name.includes('backup-1-x'))).toEqual([]);
}, 60_000);
