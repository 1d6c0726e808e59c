import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const root = join(import.meta.dir, '..');
setDefaultTimeout(60_000);
/** Takes from root what other users do not have either. */
const AS_USER = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all'] : [];

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cv-start-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** `bun run start` in this checkout, with the settings given, on a port of the system's choice. */
function start(settings: Record<string, string> = {}) {
  return Bun.spawn([...AS_USER, process.execPath, 'run', 'start'], {
    cwd: root,
    env: {
      PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      HOME: process.env['HOME'],
      VAULT_DATA_DIR: join(folder, 'data'),
      VAULT_PORT: '0',
      VAULT_PROCESSES: '1',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Reads on until the pattern has come, and gives its first group. */
async function readUntil(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const [, found] = pattern.exec(text) ?? [];
    if (found !== undefined) {
      return found;
    }
  }
  throw new Error('the output ended before that');
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}

/** The exit code of an attempt to look into a process, by another one of its user. */
function readByPeer(pid: number): number {
  return Bun.spawnSync([...AS_USER, 'cat', `/proc/${pid}/maps`]).exitCode;
}

describe('bun run start', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'serves, leaves no core file, lets nobody look into it, and ends with exit code 0 on %s',
    async (signal) => {
      const command = start();
      const url = await readUntil(command.stdout, /(http:\/\/127\.0\.0\.1:\d+)\/v1/);
      expect((await fetch(`${url}/health/ready`)).status).toBe(200);
      const server = childOf(command.pid);
      expect(readFileSync(`/proc/${server}/limits`, 'utf8')).toMatch(/^Max core file size +0 +0 /m);
      // What started it can be looked into, and has no keys in its memory but those of its environment.
      expect(readByPeer(command.pid)).toBe(0);
      expect(readByPeer(server)).not.toBe(0);
      expect(readFileSync(`/proc/${server}/status`, 'utf8')).toMatch(/^VmLck:\s+[1-9]\d* kB$/m);
      const redis = childOf(server);
      command.kill(signal);
      expect(await command.exited).toBe(0);
      expect(existsSync(`/proc/${server}`)).toBe(false);
      expect(existsSync(`/proc/${redis}`)).toBe(false);
    },
  );

  test('prints a command with the password of the first account once, which stores a card as it stands', async () => {
    const command = start();
    const line = await readUntil(command.stdout, /Create a key and store a card:\n\n(.*)\n/);
    const [, password = 'none'] = /^ {2}AUTH='admin:([^']+)'; /.exec(line) ?? [];
    expect(line.split(password)).toHaveLength(2);
    expect(line).toContain('/v1/vault?key=demo&');
    expect(line).not.toContain('user');
    const shell = Bun.spawnSync(['sh', '-c', line]);
    expect(shell.stdout.toString().split('\n')).toEqual([
      expect.stringContaining('{"user":"demo",'),
      expect.stringContaining('"reference":"customer-1"'),
      '',
    ]);
    command.kill('SIGTERM');
    expect(await command.exited).toBe(0);
  });

  test.each(['1', '2'])(
    'installs nothing in production, prints JSON lines alone, and warns of nothing at a clean stop: %s processes',
    async (processes) => {
      const packages = statSync(join(root, 'node_modules')).mtimeMs;
      const command = start({
        VAULT_ENV: 'production',
        VAULT_PROCESSES: processes,
        VAULT_MASTER_KEY: randomBytes(32).toString('base64'),
        VAULT_BOOTSTRAP_USER: 'admin',
        VAULT_BOOTSTRAP_PASSWORD: 'correct-horse-battery-staple',
        // Whatever is asked of a registry would fail.
        BUN_CONFIG_REGISTRY: 'http://127.0.0.1:9',
      });
      const errors = new Response(command.stderr).text();
      let output = '';
      // Once: a second signal would end `bun run` before the server.
      let isAsked = false;
      for await (const chunk of command.stdout.pipeThrough(new TextDecoderStream())) {
        output += chunk;
        const started = output.match(/"event":"started"/g)?.length ?? 0;
        const isSettled = started === Number(processes) && output.includes('"event":"sad_rewritten"');
        if (isSettled && !isAsked) {
          isAsked = true;
          command.kill('SIGTERM');
        }
      }
      expect(await command.exited).toBe(0);
      const lines = output.split('\n').filter((line) => line !== '');
      const levels = lines.map((line) => (JSON.parse(line) as { level: string }).level);
      expect(levels.filter((level) => level !== 'info')).toEqual([]);
      expect(lines.at(-1)).toContain('"event":"stopped"');
      expect(await errors).not.toContain('install');
      expect(statSync(join(root, 'node_modules')).mtimeMs).toBe(packages);
    },
  );

  test('says what to install where there is no Redis and none can be fetched', () => {
    mkdirSync(join(folder, 'scripts'));
    for (const name of ['redis-vendor.sh', 'debian-package.sh']) {
      copyFileSync(join(root, 'scripts', name), join(folder, 'scripts', name));
    }
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    for (const name of ['sh', 'dirname', 'mkdir', 'mktemp', 'rm']) {
      symlinkSync(Bun.which(name) ?? '', join(bin, name));
    }
    const { exitCode, stderr } = Bun.spawnSync([join(bin, 'sh'), 'scripts/redis-vendor.sh'], {
      cwd: folder,
      env: { PATH: bin },
    });
    expect([exitCode, stderr.toString()]).toEqual([
      1,
      [
        'No redis-server found, and none could be fetched. Install Redis 7 or newer, for example with',
        '    sudo apt-get install redis-server',
        'or set VAULT_REDIS_BIN to the program, or VAULT_REDIS_URL to a Redis that runs already.',
        '',
      ].join('\n'),
    ]);
  });

  test.each(['VAULT_ENV', 'NODE_ENV'])(
    'names every missing package where %s is production, and fetches none',
    async (setting) => {
      mkdirSync(join(folder, 'scripts'));
      for (const name of ['start.sh', 'missing-packages.ts']) {
        copyFileSync(join(root, 'scripts', name), join(folder, 'scripts', name));
      }
      const packages = {
        '.': { dependencies: { whole: '1.0.0', other: '2.0.0', gone: '1.0.0', '@a/gone': '1.0.0' } },
        whole: { version: '1.0.0', dependencies: { within: '^1.0.0', beside: '*', deep: '*' } },
        'whole/node_modules/within': { version: '1.2.0', dependencies: { beside: '1' } },
        beside: { version: '1.0.0', dependencies: { whole: '1.0.0' } },
        other: { version: '2.0.1' },
      };
      for (const [name, manifest] of Object.entries(packages)) {
        const path = name === '.' ? folder : join(folder, 'node_modules', name);
        await Bun.write(join(path, 'package.json'), JSON.stringify(manifest));
      }
      const command = Bun.spawn(['sh', 'scripts/start.sh'], {
        cwd: folder,
        env: { PATH: process.env['PATH'], [setting]: 'production' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      expect(await new Response(command.stderr).text()).toBe(
        [
          'Missing packages: @a/gone, deep, gone, other 2.0.0 (not 2.0.1).\n',
          "Nothing is installed in production: run 'bun install --frozen-lockfile' first.\n",
        ].join(''),
      );
      expect(await new Response(command.stdout).text()).toBe('');
      expect(await command.exited).toBe(1);
      expect(readdirSync(join(folder, 'node_modules')).sort()).toEqual(['beside', 'other', 'whole']);
    },
  );

  test('imports nothing that is not installed, however it is started', async () => {
    const asked: string[] = [];
    using registry = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => {
        asked.push(url);
        return new Response(null, { status: 404 });
      },
    });
    copyFileSync(join(root, 'bunfig.toml'), join(folder, 'bunfig.toml'));
    await Bun.write(join(folder, 'server/main.ts'), "import 'elysia';");
    const command = Bun.spawn([process.execPath, 'server/main.ts'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, BUN_CONFIG_REGISTRY: registry.url.href },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    expect(await new Response(command.stderr).text()).toContain("Cannot find package 'elysia'");
    expect(await command.exited).toBe(1);
    expect(asked).toEqual([]);
  });

  test('ends with one clear line and exit code 1 on a wrong setting', async () => {
    const command = start({ VAULT_PROT: '8080' });
    const output = await new Response(command.stderr).text();
    expect(await command.exited).toBe(1);
    expect(output).toContain('VAULT_PROT is not a setting; did you mean VAULT_PORT?\n');
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});
