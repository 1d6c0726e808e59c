/** Servers whose master key ring is the output of a command. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyText } from '../helpers/config.ts';
import { OWNER, runVaultCommand, type Settings } from '../helpers/server-process.ts';
import {
  countEvents,
  endAll,
  newFolder,
  type ServerProcess,
  serversOf,
  startProcess,
  until,
} from './process.ts';

setDefaultTimeout(180_000);

const CANARY = 'canary4242';
const OLD = keyText(3);
const NEW = keyText(4);
const HEADERS = {
  Authorization: `Basic ${btoa(`${OWNER.name}:${OWNER.password}`)}`,
  'X-Vault-Passphrase': 'a passphrase of this test',
};
const CARD = { card_number: '4111111111111111' };

afterAll(endAll);

/** All that a process was started with; its environment can be seen by root alone. */
function startOf(pid: number): string {
  const read = (name: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'latin1');
    } catch {
      return '';
    }
  };
  return read('cmdline') + read('environ');
}

describe('two processes with the ring of a command', () => {
  const folder = newFolder();
  const runs = join(folder, 'runs');
  const ringFile = join(folder, 'ring');
  const settings: Settings = {
    VAULT_PROCESSES: '2',
    VAULT_DATA_DIR: join(folder, 'data'),
    VAULT_MASTER_KEY_COMMAND: `echo run >> ${runs}; echo ${CANARY} >&2; cat ${ringFile}`,
  };
  let server: ServerProcess;
  let url = '';
  let token = '';

  const send = async (path: string, body?: object) => {
    const reply = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: HEADERS,
      body: body === undefined ? null : JSON.stringify(body),
      keepalive: false,
    });
    expect(reply.status).toBeLessThan(300);
    return (await reply.json()) as { token: string };
  };
  const readAll = async () => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => send(`/vault?user=u&token=${token}`)));
    expect(replies).toEqual(replies.map(() => CARD) as never);
  };
  const runCount = (): number => (existsSync(runs) ? readFileSync(runs, 'utf8').split('\n').length - 1 : 0);
  const startedCount = (): number => countEvents(server, 'started');

  beforeAll(async () => {
    writeFileSync(ringFile, `old:${OLD}\n`);
    server = startProcess(settings);
    url = `http://127.0.0.1:${await server.ready}/v1`;
    await until(() => startedCount() === 2);
    await send('/key', { user: 'u', passphrase: HEADERS['X-Vault-Passphrase'] });
    token = (await send('/vault?user=u', CARD)).token;
  });

  test('run it once, and both have the ring', async () => {
    expect(runCount()).toBe(1);
    expect(serversOf(server)).toHaveLength(2);
    await readAll();
  });

  test('have it neither as an argument nor in their environment', () => {
    for (const pid of [server.pid, ...serversOf(server)]) {
      expect(startOf(pid)).toContain('main.ts');
      expect(startOf(pid)).not.toContain(OLD.slice(0, 16));
    }
  });

  test('give it to the process that replaces one, without another run', async () => {
    const [first = 0] = serversOf(server);
    writeFileSync(ringFile, 'nothing that is read');
    process.kill(first, 'SIGKILL');
    await until(() => startedCount() === 3);
    expect(runCount()).toBe(1);
    await readAll();
  });

  test('keep running when it fails at SIGHUP', async () => {
    const pids = serversOf(server);
    server.signal('SIGHUP');
    await until(() => server.printed().includes('"event":"rolling_restart_failed"'));
    expect(server.printed()).toContain('VAULT_MASTER_KEY_COMMAND printed no ring');
    expect(serversOf(server)).toEqual(pids);
    await readAll();
  });

  test('change their key by SIGHUP, while commands of the operator have it from the same setting', async () => {
    const restart = async (ring: string): Promise<void> => {
      const started = startedCount();
      writeFileSync(ringFile, ring);
      server.signal('SIGHUP');
      await until(() => startedCount() === started + 2);
      await until(() => serversOf(server).length === 2);
      await readAll();
    };
    const vault = async (...args: string[]) => {
      const { code, out, err } = await runVaultCommand(args, settings, folder);
      expect([code, err]).toEqual([0, expect.not.stringContaining(CANARY)]);
      return JSON.parse(out);
    };
    await restart(`old:${OLD},new:${NEW}`);
    await restart(`new:${NEW},old:${OLD}`);
    expect(await vault('rotate-master', '--quiet', '--json')).toMatchObject({ removable: ['old'] });
    await restart(`new:${NEW}`);
    expect(await vault('verify', '--quiet', '--json')).toMatchObject({ ok: true });
    const file = join(folder, 'copy.backup');
    expect(await vault('backup', file, '--quiet', '--json')).toMatchObject({ items: 1 });
    const elsewhere = { ...settings, VAULT_DATA_DIR: join(folder, 'copy') };
    const restored = await runVaultCommand(['restore', file, '--json'], elsewhere, folder);
    expect([restored.code, JSON.parse(restored.out)]).toEqual([0, expect.objectContaining({ items: 1 })]);
    // One run for each restart, and one for each command.
    expect(runCount()).toBe(1 + 1 + 3 + 4);
  });

  test('print nothing of what it prints, and write it nowhere', async () => {
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
    const written = readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    expect(written.length).toBeGreaterThan(1);
    for (const text of [server.printed(), ...written]) {
      for (const secret of [CANARY, OLD, NEW, OLD.slice(0, 16), NEW.slice(0, 16)]) {
        expect(text).not.toContain(secret);
      }
    }
  });
});
