/** Servers as their operators start them: processes of their own, on one vault. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAIN = join(import.meta.dir, '../../server/main.ts');
/** The kernel ends a server with this process, also when that is killed. */
const GUARD = Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL'];

/** The account that every vault of these tests begins with. */
export const OWNER = { name: 'owner', password: 'a password for this place only' } as const;

export type Settings = Readonly<Record<string, string | undefined>>;

/** One server process. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves with the port when it serves; rejects when it ends before, with what it said. */
  readonly ready: Promise<number>;
  readonly exited: Promise<number>;
  /** Everything that it has printed. */
  readonly printed: () => string;
  readonly signal: (signal: NodeJS.Signals) => void;
}

const alive = new Set<Bun.Subprocess>();
const folders = new Set<string>();

/** A folder that `endAll` removes. */
export const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'cv-serving-'));
  folders.add(folder);
  return folder;
};

/** Kills what is still running of these processes, and removes their folders. */
export const endAll = async (): Promise<void> => {
  for (const child of alive) {
    child.kill('SIGKILL');
    await child.exited;
  }
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
  folders.clear();
};

const environmentOf = (settings: Settings): Record<string, string | undefined> => {
  const { PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN } = process.env;
  return {
    ...{ PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN },
    VAULT_PORT: '0',
    VAULT_WORKERS: '1',
    VAULT_ARGON2: 'm=19456,t=2,p=1',
    VAULT_WARM_UNLOCK_SECONDS: '300',
    VAULT_BOOTSTRAP_USER: OWNER.name,
    VAULT_BOOTSTRAP_PASSWORD: OWNER.password,
    VAULT_BOOTSTRAP_UNMASKED: 'true',
    ...settings,
  };
};

/** Starts a server; what is set to undefined is left out of what these tests set otherwise. */
export const startProcess = (settings: Settings): ServerProcess => {
  const child = Bun.spawn([...GUARD, process.execPath, MAIN], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environmentOf(settings),
  });
  alive.add(child);
  const exited = child.exited.finally(() => alive.delete(child));
  let text = '';
  const up = Promise.withResolvers<number>();
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      const port = / API +https?:\/\/[^\s]+:(\d+)\/v1$/m.exec(text)?.[1];
      if (port !== undefined) {
        up.resolve(Number(port));
      }
    }
  };
  Promise.all([read(child.stdout), read(child.stderr)])
    .then(() => up.reject(new Error(`the server ended: ${text}`)))
    .catch(up.reject);
  up.promise.catch(() => undefined);
  return {
    pid: child.pid,
    ready: up.promise,
    exited,
    printed: () => text,
    signal: (signal) => child.kill(signal),
  };
};
