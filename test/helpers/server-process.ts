/** Servers and commands of the operator as processes of their own. */
import { join } from 'node:path';
import type { Handle } from './clients.ts';
import { GUARD } from './guard.ts';

const MAIN = join(import.meta.dir, '../../server/main.ts');
const CLI = join(import.meta.dir, '../../server/cli.ts');

/** The account that every vault of these processes begins with. */
export const OWNER = { name: 'owner', password: 'a password for this place only', aid: '' } as const;

/** Variables of the environment; one that is undefined is left out. */
export type Settings = Readonly<Record<string, string | undefined>>;
export type Server = Bun.Subprocess<'ignore', 'pipe', 'pipe'>;

function environmentOf(settings: Settings): Record<string, string | undefined> {
  const { PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN } = process.env;
  return {
    ...{ PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN },
    VAULT_PORT: '0',
    VAULT_PROCESSES: '1',
    VAULT_WORKERS: '1',
    VAULT_ARGON2: 'm=19456,t=2,p=1',
    VAULT_WARM_UNLOCK_SECONDS: '300',
    VAULT_BOOTSTRAP_USER: OWNER.name,
    VAULT_BOOTSTRAP_PASSWORD: OWNER.password,
    VAULT_BOOTSTRAP_UNMASKED: 'true',
    ...settings,
  };
}

/** Starts a server. `settings` come before those that all of them have; `folder` is where it runs. */
export function spawnServer(settings: Settings, folder: string): Server {
  return Bun.spawn([...GUARD, process.execPath, MAIN], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: folder,
    env: environmentOf(settings),
  });
}

/** Matches the line that contains the port: a message in staging, a log line in production. */
const PORT =
  / API +https?:\/\/\S+:(\d+)\/v1$|"event":"started",.*"VAULT_ENV":"production",.*"port":(\d+)[,}]/m;

/**
 * Reads what a server prints, into `printed`, for as long as it runs; gives its port as soon as that is known, and
 * rejects with all that was printed when the server ends before.
 */
export function portOf(child: Server, printed: string[]): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const read = async (stream: Server['stdout']): Promise<void> => {
    const decoder = new TextDecoder();
    let unknown: string | undefined = '';
    for await (const chunk of stream) {
      const piece = decoder.decode(chunk, { stream: true });
      printed.push(piece);
      if (unknown !== undefined) {
        unknown += piece;
        const [, banner, port = banner] = PORT.exec(unknown) ?? [];
        if (port !== undefined) {
          unknown = undefined;
          resolve(Number(port));
        }
      }
    }
  };
  Promise.all([read(child.stdout), read(child.stderr)])
    .then(() => reject(new Error(`the server ended: ${printed.join('')}`)))
    .catch(reject);
  return promise;
}

/** Sends requests to the server that listens on a port of this machine, as soon as that is known. */
export function handleOf(port: () => Promise<number>, msMax?: number): Handle {
  return async ({ url, method, headers, body }) => {
    const here = url.replace('http://localhost', `http://127.0.0.1:${await port()}`);
    const signal = msMax === undefined ? null : AbortSignal.timeout(msMax);
    return fetch(here, { method, headers, body, signal });
  };
}

/** Starts a command of the operator on the vault that the settings describe; `stdin` is nothing if omitted. */
export function spawnVaultCommand(
  args: readonly string[],
  settings: Settings,
  folder: string,
  stdin: Blob | 'ignore' = 'ignore',
) {
  return Bun.spawn([process.execPath, CLI, ...args], {
    stdio: [stdin, 'pipe', 'pipe'],
    cwd: folder,
    env: environmentOf(settings),
  });
}

/** Runs a command of the operator on the vault that the settings describe. */
export async function runVaultCommand(
  args: readonly string[],
  settings: Settings,
  folder: string,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const child = spawnVaultCommand(args, settings, folder);
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, err };
}
