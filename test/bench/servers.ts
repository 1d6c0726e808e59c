/** Servers under measurement: programs of this folder, and the vault as its operator starts it. */
import { openSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Redis from 'ioredis';
import { preparePlace } from '../../server/boot/redis/process.ts';
import { guard, start, startPiped, stop, until } from './processes.ts';

const ROOT = resolve(import.meta.dir, '../..');
const ACCOUNT = 'bench';
const PASSWORD = 'a-password-for-measurements-only';

/** Opens every key of the benchmark; long enough for the vault to keep it unlocked. */
const PASSPHRASE = 'a-passphrase-for-measurements-only';

/** What the requests of an account bring along, those to the no-op server too. */
export type Credentials = Readonly<Record<'Authorization' | 'X-Vault-Passphrase', string>>;

/** The account that sees whole numbers. */
export const OWNER: Credentials = {
  Authorization: `Basic ${btoa(`${ACCOUNT}:${PASSWORD}`)}`,
  'X-Vault-Passphrase': PASSPHRASE,
};

/** A server under measurement. */
export interface Server {
  readonly pid: number;
  readonly port: number;
  /** The process of its Redis, where it has one. */
  readonly redisPid?: number;
  readonly stop: () => Promise<void>;
}

/** A running vault, with its Redis in view. */
export interface Vault extends Server {
  readonly redis: Redis;
  readonly redisPid: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** Starts a server of this folder that prints its port. */
export async function startProgram(file: string, args: readonly string[] = []): Promise<Server> {
  const child = startPiped([process.execPath, join(import.meta.dir, file), ...args]);
  const reader = child.stdout.getReader();
  const line = new TextDecoder().decode((await reader.read()).value);
  reader.releaseLock();
  const port = Number(/^PORT (\d+)/.exec(line)?.[1]);
  if (!(port > 0)) {
    throw new Error(`${file} did not start`);
  }
  return { pid: child.pid, port, stop: () => stop(child) };
}

/** The settings of a vault on a folder; all that is not named is left at its default. */
export function settingsOf(folder: string): Record<string, string> {
  return {
    VAULT_DATA_DIR: join(folder, 'vault'),
    VAULT_PORT: '0',
    // The CPU of one process is measured.
    VAULT_PROCESSES: '1',
    VAULT_BOOTSTRAP_USER: ACCOUNT,
    VAULT_BOOTSTRAP_PASSWORD: PASSWORD,
    VAULT_BOOTSTRAP_UNMASKED: 'true',
    ...(process.env['VAULT_REDIS_BIN'] === undefined
      ? {}
      : { VAULT_REDIS_BIN: process.env['VAULT_REDIS_BIN'] }),
  };
}

/** Starts a vault on a folder, its log in a file there. */
export async function startVault(
  folder: string,
  extra: Readonly<Record<string, string>> = {},
): Promise<Vault> {
  const { PATH, HOME, LD_LIBRARY_PATH, TMPDIR } = process.env;
  const settings = { ...settingsOf(folder), ...extra };
  const logPath = join(folder, `vault-${performance.now()}.log`);
  const log = openSync(logPath, 'w', 0o600);
  const child = start([process.execPath, join(ROOT, 'server/main.ts')], log, {
    cwd: folder,
    env: { PATH, HOME, LD_LIBRARY_PATH, TMPDIR, ...settings },
  });
  const port = await until(child, 'the vault', () => {
    const found = / API +http:\/\/[^:]+:(\d+)\/v1$/m.exec(readFileSync(logPath, 'utf8'))?.[1];
    return found === undefined ? undefined : Number(found);
  });
  const redis = new Redis({ path: preparePlace(join(folder, 'vault')).socketPath });
  const redisPid = Number(/^process_id:(\d+)/m.exec(await redis.info('server'))?.[1]);
  const forget = guard(redisPid);
  const end = async (): Promise<void> => {
    redis.disconnect();
    await stop(child);
    forget();
  };
  return { pid: child.pid, port, stop: end, redis, redisPid, settings };
}

/** One call of the vault's API; rejects with the vault's own words when the answer is not 200. */
export async function call(
  vault: Server,
  credentials: Credentials,
  target: string,
  body?: object,
): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${vault.port}${target}`, {
    ...(body === undefined
      ? { headers: credentials }
      : {
          headers: { ...credentials, 'Content-Type': 'application/json' },
          method: 'POST',
          body: JSON.stringify(body),
        }),
  });
  if (response.status !== 200) {
    throw new Error(`${target}: ${response.status} ${await response.text()}`);
  }
  return response;
}

/** Makes a vault key that the benchmark's passphrase opens. */
export async function makeKey(
  vault: Server,
  credentials: Credentials,
  user: string,
  more: object = {},
): Promise<void> {
  await call(vault, credentials, '/v1/key/', { user, passphrase: PASSPHRASE, ...more });
}
