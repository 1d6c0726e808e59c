import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../server/config/config.ts';
import { ensureMasterKey } from '../server/config/master-key.ts';
import { keyText } from './helpers/config.ts';
import { runVaultCommand, spawnServer } from './helpers/server-process.ts';

const CANARY = 'canary4242';
const KEY = keyText(1);
const NEXT = "Its output is never shown: run it in a shell as the server's user to see why";

const folder = mkdtempSync(join(tmpdir(), 'cv-command-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function newPath(): string {
  files += 1;
  return join(folder, `file-${files}`);
}

const { PATH = '', HOME = '' } = process.env;
async function run(line: string, others: Record<string, string> = {}) {
  const config = loadConfig({ PATH, HOME, VAULT_MASTER_KEY_COMMAND: line, ...others });
  return (await ensureMasterKey(config)).expose();
}

async function refusal(line: string): Promise<string> {
  return run(line).then(
    () => 'nothing was refused',
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}

function pidsIn(path: string): readonly number[] {
  return readFileSync(path, 'utf8').trim().split('\n').map(Number);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await Bun.sleep(20);
  }
}

describe('the command of the master key', () => {
  test('prints a key without an id, which gets the id default', async () => {
    for (const line of [`printf %s ${KEY}`, `echo ${KEY}`, `printf '\\n ${KEY} \\r\\n'`]) {
      const ring = await run(line);
      expect([ring.writeId, [...ring.keys.keys()]]).toEqual(['default', ['default']]);
      expect(Buffer.from(ring.keys.get('default') ?? '').toString('base64')).toBe(KEY);
    }
  });

  test('prints a ring, the first key of which writes, by as many programs as it likes', async () => {
    const ring = await run(`{ printf new:; echo ${KEY}; } | tr '\\n' ,; echo old:${keyText(2)}`);
    expect([ring.writeId, [...ring.keys.keys()]]).toEqual(['new', ['new', 'old']]);
  });

  test('may print 64 KB, and no byte more', async () => {
    const padded = (size: number): string =>
      `echo ${KEY}; head -c ${size - KEY.length - 1} /dev/zero | tr '\\0' ' '`;
    expect((await run(padded(65_536))).writeId).toBe('default');
    expect(await refusal(padded(65_537))).toBe(
      `ConfigError: VAULT_MASTER_KEY_COMMAND printed more than 64 KB and was killed. ${NEXT}`,
    );
  });

  test('has the environment of the server without its settings, its folder, and nothing to read', async () => {
    const seen = newPath();
    await run(`{ env; pwd; wc -c; } > ${seen}; echo ${KEY}`, {
      CREDENTIALS_DIRECTORY: '/run/credentials/a',
      PKCS11_MODULE: '/a.so',
      VAULT_BOOTSTRAP_USER: 'admin',
      VAULT_BOOTSTRAP_PASSWORD: CANARY,
      OTEL_EXPORTER_OTLP_HEADERS: `a=${CANARY}`,
    });
    const text = readFileSync(seen, 'utf8');
    for (const line of [`PATH=${PATH}`, `HOME=${HOME}`, 'CREDENTIALS_DIRECTORY=/run/credentials/a']) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).toContain('PKCS11_MODULE=/a.so\n');
    expect(text).toEndWith(`${process.cwd()}\n0\n`);
    expect(text).not.toMatch(/VAULT_|OTEL_|canary/);
  });

  test('is not run by whoever only reads the settings, such as the check of health', async () => {
    const mark = newPath();
    const config = loadConfig({ VAULT_MASTER_KEY_COMMAND: `touch ${mark}; echo ${KEY}` });
    expect(config.effective['VAULT_MASTER_KEY_COMMAND']).toBe('[secret]');
    expect(existsSync(mark)).toBe(false);
    await ensureMasterKey(config);
    expect(existsSync(mark)).toBe(true);
  });

  const cases: readonly (readonly [string, string])[] = [
    [`echo ${CANARY}; echo ${CANARY} >&2; exit 3`, 'ended with exit code 3'],
    [`echo ${CANARY}; ${CANARY}`, 'ended with exit code 127'],
    [`echo ${KEY}; false`, 'ended with exit code 1'],
    [`echo ${KEY}; kill -TERM $$`, 'was ended by SIGTERM'],
    [`echo ${CANARY} >&2`, 'printed nothing'],
    [
      `echo ${CANARY}`,
      'printed no ring: its output must contain keys of exactly 32 bytes in base64 (openssl rand -base64 32)',
    ],
    [
      `echo ${CANARY} ${CANARY}:${KEY}`,
      'printed no ring: its output must contain id:key pairs, with ids of 1 to 32 characters from A-Z a-z 0-9 _ -',
    ],
    [`echo a:${KEY},a:${KEY}`, 'printed no ring: its output must not contain the same id twice'],
    [String.raw`printf '\377\376\000\201'`, 'printed no ring: its output must contain '],
  ];
  test.each(cases)('%s: the reason is told, and no byte of the output', async (line, reason) => {
    const message = await refusal(line);
    expect(message).toStartWith(`ConfigError: VAULT_MASTER_KEY_COMMAND ${reason}`);
    expect(message).toEndWith(`. ${NEXT}`);
    expect(message).not.toContain('canary');
    expect(message).not.toContain(KEY.slice(0, 8));
  });

  test.concurrent('has 10 seconds, then it is killed with all that it has started', async () => {
    const pids = newPath();
    const started = Date.now();
    const background = `sh -c 'echo $$ >> ${pids}; sleep 61; true'`;
    expect(await refusal(`echo $$ >> ${pids}; ${background} & echo ${KEY}; ${background}`)).toBe(
      `ConfigError: VAULT_MASTER_KEY_COMMAND did not end within 10 seconds and was killed. ${NEXT}`,
    );
    expect(Date.now() - started).toBeGreaterThan(9_900);
    expect(pidsIn(pids)).toHaveLength(3);
    await until(() => !pidsIn(pids).some(isRunning));
  });

  test.concurrent('keeps no server waiting by what has left its group with its output', async () => {
    const pid = newPath();
    const message = await refusal(`setsid sh -c 'echo $$ > ${pid}; exec sleep 62' & echo ${KEY}`);
    expect(message).toContain('did not end within 10 seconds');
    for (const left of pidsIn(pid)) {
      process.kill(left, 'SIGKILL');
    }
  });
});

// Beside the two tests above, which wait for ten seconds each.
describe.concurrent('a process that runs the command', () => {
  test('ends with it when it is asked to', async () => {
    const pid = newPath();
    const server = spawnServer(
      { VAULT_DATA_DIR: newPath(), VAULT_MASTER_KEY_COMMAND: `echo $$ > ${pid}; sleep 63; true` },
      folder,
    );
    await until(() => existsSync(pid) && readFileSync(pid, 'utf8').endsWith('\n'));
    server.kill('SIGTERM');
    await server.exited;
    expect(server.signalCode).toBe('SIGTERM');
    await until(() => !pidsIn(pid).some(isRunning));
  });

  test.each(['1', '2'])('does not start without a ring, and says why: %s processes', async (processes) => {
    const server = spawnServer(
      {
        VAULT_DATA_DIR: newPath(),
        VAULT_PROCESSES: processes,
        VAULT_MASTER_KEY_COMMAND: `echo ${CANARY}; echo ${CANARY} >&2; exit 5`,
      },
      folder,
    );
    const [out, err] = await Promise.all([server.stdout.text(), server.stderr.text()]);
    expect(await server.exited).toBe(1);
    expect(err).toBe(`cardvault: VAULT_MASTER_KEY_COMMAND ended with exit code 5. ${NEXT}\n`);
    expect(out).not.toContain('canary');
  });

  test('may be a command of the operator', async () => {
    const settings = { VAULT_DATA_DIR: newPath(), VAULT_MASTER_KEY_COMMAND: `echo ${CANARY} >&2; exit 6` };
    for (const args of [
      ['account', 'list'],
      ['restore', join(folder, 'none.backup')],
    ]) {
      const { code, out, err } = await runVaultCommand(args, settings, folder);
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain(`VAULT_MASTER_KEY_COMMAND ended with exit code 6. ${NEXT}`);
      expect(err).not.toContain('canary');
    }
  });
});
