/** Two servers of one vault as processes of their own, on one Redis that others run. */
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccountClient, createAccountClient, type Handle } from '../helpers/clients.ts';
import {
  handleOf,
  OWNER,
  portOf,
  runVaultCommand,
  type Settings,
  spawnServer,
} from '../helpers/server-process.ts';

const MASTER_KEY = randomBytes(32).toString('base64');

/** One server process. */
export interface ClusterServer {
  readonly client: AccountClient;
  readonly handle: Handle;
  /** Status of `/health/ready`. */
  readonly ready: () => Promise<number>;
  readonly isRunning: () => boolean;
}

/** Two server processes that share a vault. */
export interface ClusterServers {
  readonly servers: readonly [ClusterServer, ClusterServer];
  /** Sends each request to one of the two, at random. */
  readonly handle: Handle;
  /** The first account, through either. */
  readonly client: AccountClient;
  /** All that both have printed. */
  readonly printed: () => string;
  /** Runs a command of the operator on the vault, and gives what it printed; throws unless it went well. */
  readonly command: (...args: readonly string[]) => Promise<string>;
  /** Asks both to end; gives their exit codes. */
  readonly stop: () => Promise<readonly number[]>;
}

async function startOne(
  folder: string,
  settings: Settings,
  printed: string[],
): Promise<ClusterServer & { readonly stop: () => Promise<number> }> {
  const child = spawnServer(settings, folder);
  const port = await portOf(child, printed);
  const handle = handleOf(async () => port);
  return {
    handle,
    client: createAccountClient(handle, OWNER),
    ready: async () => (await handle(new Request('http://localhost/health/ready'))).status,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      child.kill('SIGTERM');
      return child.exited;
    },
  };
}

async function runCommand(folder: string, settings: Settings, args: readonly string[]): Promise<string> {
  const { code, out, err } = await runVaultCommand(args, settings, folder);
  if (code !== 0) {
    throw new Error(`vault ${args.join(' ')}: ${err}`);
  }
  return out;
}

/**
 * Starts both on the Redis of an address of the settings; `caPem` is trusted of third parties, `settings` are added to
 * what every such server has.
 */
export async function startServers(
  redisUrl: string,
  { caPem, ...settings }: Settings & { readonly caPem?: string } = {},
): Promise<ClusterServers> {
  const folder = mkdtempSync(join(tmpdir(), 'cv-servers-'));
  if (caPem !== undefined) {
    writeFileSync(join(folder, 'ca.pem'), caPem);
  }
  const all: Settings = {
    VAULT_REDIS_URL: redisUrl,
    VAULT_MASTER_KEY: MASTER_KEY,
    VAULT_PROXY_ALLOW: '127.0.0.0/8',
    ...(caPem === undefined ? {} : { VAULT_PROXY_CA_FILE: join(folder, 'ca.pem') }),
    ...settings,
  };
  const printed: string[] = [];
  const start = (name: string) => startOne(folder, { ...all, VAULT_DATA_DIR: join(folder, name) }, printed);
  const [one, two] = await Promise.all([start('one'), start('two')]);
  const handle: Handle = (request) => (randomInt(2) === 0 ? one : two).handle(request);
  return {
    servers: [one, two],
    handle,
    client: createAccountClient(handle, OWNER),
    printed: () => printed.join(''),
    command: (...args) => runCommand(folder, { ...all, VAULT_DATA_DIR: join(folder, 'one') }, args),
    async stop() {
      const codes = await Promise.all([one.stop(), two.stop()]);
      rmSync(folder, { recursive: true, force: true });
      return codes;
    },
  };
}
