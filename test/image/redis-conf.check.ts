/** The Redis of the manifests, started with their files. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Glob, YAML } from 'bun';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { openRedis } from '../../server/redis/open.ts';
import { findUnsafe } from '../../server/redis/safety.ts';
import { freePort } from '../helpers/free-port.ts';
import { GUARD } from '../helpers/guard.ts';
import { documentedUsers } from '../helpers/redis-limited.ts';

const root = join(import.meta.dir, '..', '..');
const PASSWORD = 'a-password-of-this-test';
const BINARY = findRedisBinary() ?? '';

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

const folder = mkdtempSync(join(tmpdir(), 'cv-conf-'));
const port = freePort();
let redis: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;

/** What a shell says that has the programs of the image, which ask at the usual port. */
function shell(command: string): { readonly code: number; readonly out: string } {
  const libraries = [...new Glob('usr/lib/*').scanSync({ cwd: dirname(BINARY), onlyFiles: false })];
  const { exitCode, stdout } = Bun.spawnSync(['sh', '-c', command], {
    env: {
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      LD_LIBRARY_PATH: libraries.map((path) => join(dirname(BINARY), path)).join(':'),
    },
  });
  return { code: exitCode, out: stdout.toString().trim() };
}

function cli(...args: readonly string[]): string {
  return shell(`redis-cli --no-auth-warning ${args.map((arg) => `'${arg}'`).join(' ')} 2>&1`).out;
}

beforeAll(async () => {
  Bun.spawnSync(['mkdir', join(folder, 'bin')]);
  // Of the machine, or of the package that scripts/redis-vendor.sh unpacks.
  const found = Bun.which('redis-cli', {
    PATH: `${process.env['PATH']}:${join(dirname(BINARY), 'usr/bin')}`,
  });
  if (found === null) {
    throw new Error('No redis-cli for the tests: install redis-tools.');
  }
  writeFileSync(join(folder, 'bin', 'redis-cli'), `#!/bin/sh\nexec '${found}' -p ${port} "$@"\n`, {
    mode: 0o755,
  });
  const users = read('deploy/users.acl').replace('CHANGE-THIS-PASSWORD', PASSWORD);
  writeFileSync(join(folder, 'users.acl'), users);
  const conf = read('deploy/redis.conf')
    .replace('dir /data', `dir ${folder}`)
    .replace('/etc/redis/users.acl', join(folder, 'users.acl'));
  writeFileSync(join(folder, 'redis.conf'), conf);
  redis = Bun.spawn(
    [...GUARD, BINARY, join(folder, 'redis.conf'), '--port', String(port), '--bind', '127.0.0.1'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const decoder = new TextDecoder();
  let printed = '';
  for await (const chunk of redis.stdout) {
    printed += decoder.decode(chunk, { stream: true });
    if (/ready to accept connections/i.test(printed)) {
      break;
    }
  }
});
afterAll(async () => {
  redis.kill('SIGKILL');
  await redis.exited;
  rmSync(folder, { recursive: true, force: true });
});

describe('the Redis of the manifests', () => {
  test('is what production asks for, to the user of the vault', async () => {
    const target = { kind: 'url', url: `redis://vault:${PASSWORD}@127.0.0.1:${port}` } as const;
    const opened = await openRedis(target, { replicas: 0 });
    expect(await findUnsafe(opened)).toEqual([]);
    await opened.close();
    expect(cli('--user', 'vault', '--pass', PASSWORD, 'config', 'get', 'maxmemory')).toMatch(
      /^maxmemory\n1468006400$/,
    );
  });

  test('gives nobody else anything', () => {
    for (const [who, command] of [
      [[], ['get', '{a}']],
      [[], ['ping']],
      [['--user', 'vault', '--pass', 'another'], ['ping']],
      [['--user', 'vault', '--pass', PASSWORD], ['flushall']],
      [
        ['--user', 'probe', '--pass', 'x'],
        ['get', '{a}'],
      ],
      [['--user', 'probe', '--pass', 'x'], ['info']],
    ] as const) {
      expect(cli(...who, ...command)).toMatch(/NOAUTH|WRONGPASS|NOPERM/);
    }
  });

  test('has the users that the guide to production has, and one who only asks whether it answers', () => {
    const [first, second, ...others] = read('deploy/users.acl').trim().split('\n');
    expect([first ?? '', second ?? '']).toEqual([...documentedUsers()]);
    expect(others).toEqual(['user probe on nopass resetkeys resetchannels -@all +ping']);
  });
});

describe('the question whether Redis is ready', () => {
  const compose = YAML.parse(read('deploy/compose.yaml')) as {
    services: { redis: { healthcheck: { test: [string, string] } } };
  };
  const [, first = ''] = compose.services.redis.healthcheck.test;

  test('is answered yes', () => {
    expect(shell(first)).toEqual({ code: 0, out: '' });
  });

  test('is the same on Kubernetes', () => {
    const [set] = [YAML.parse(read('deploy/kubernetes/redis.yaml'))].flat() as [
      { spec: { template: { spec: { containers: [{ readinessProbe: { exec: { command: string[] } } }] } } } },
    ];
    const [container] = set.spec.template.spec.containers;
    expect(container.readinessProbe.exec.command).toEqual(['sh', '-c', first]);
  });

  test('is answered no where nobody listens, or where its user is not known', () => {
    expect(shell(first.replace('redis-cli', `redis-cli -p ${freePort()}`)).code).not.toBe(0);
    expect(shell(first.replace('--user probe', '--user nobody')).code).not.toBe(0);
  });
});
