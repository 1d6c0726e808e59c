/** Two servers of one vault as processes of their own, on one Redis Cluster. */
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccountClient, createAccountClient, type Handle } from '../helpers/clients.ts';
import type { TestCluster } from '../helpers/cluster.ts';
import { portOf } from '../helpers/server-port.ts';

const MAIN = join(import.meta.dir, '../../server/main.ts');
const CLI = join(import.meta.dir, '../../server/cli.ts');
const OWNER = { name: 'owner', password: 'a password for this place only', aid: '' };
/** The kernel ends a server with this process, also when that is killed. */
const GUARD = Bun.which('setpriv') === null ? [] : ['setpriv', '--pdeathsig', 'KILL'];
const MASTER_KEY = randomBytes(32).toString('base64');

type Settings = Readonly<Record<string, string>>;

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

const startOne = async (
  folder: string,
  settings: Settings,
  printed: string[],
): Promise<ClusterServer & { readonly stop: () => Promise<number> }> => {
  const { PATH, HOME } = process.env;
  const child = Bun.spawn([...GUARD, process.execPath, MAIN], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: folder,
    env: { PATH, HOME, ...settings },
  });
  const here = `http://127.0.0.1:${await portOf(child, printed)}`;
  const handle: Handle = ({ url, method, headers, body }) =>
    fetch(url.replace('http://localhost', here), { method, headers, body });
  return {
    handle,
    client: createAccountClient(handle, OWNER),
    ready: async () => (await fetch(`${here}/health/ready`)).status,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      child.kill('SIGTERM');
      return child.exited;
    },
  };
};

const runCommand = async (folder: string, settings: Settings, args: readonly string[]): Promise<string> => {
  const { PATH, HOME } = process.env;
  const child = Bun.spawn([process.execPath, CLI, ...args], {
    cwd: folder,
    env: { PATH, HOME, ...settings },
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) {
    throw new Error(`vault ${args.join(' ')}: ${err}`);
  }
  return out;
};

/** Starts both; `caPem` is trusted of third parties, `settings` are added to what every such server has. */
export const startServers = async (
  { target }: Pick<TestCluster, 'target'>,
  { caPem, ...settings }: Settings & { readonly caPem?: string } = {},
): Promise<ClusterServers> => {
  const folder = mkdtempSync(join(tmpdir(), 'cv-servers-'));
  if (caPem !== undefined) {
    writeFileSync(join(folder, 'ca.pem'), caPem);
  }
  const all: Settings = {
    VAULT_REDIS_URL: target.urls.join(','),
    VAULT_MASTER_KEY: MASTER_KEY,
    VAULT_PORT: '0',
    VAULT_WORKERS: '1',
    VAULT_ARGON2: 'm=19456,t=2,p=1',
    VAULT_WARM_UNLOCK_SECONDS: '300',
    VAULT_BOOTSTRAP_USER: OWNER.name,
    VAULT_BOOTSTRAP_PASSWORD: OWNER.password,
    VAULT_BOOTSTRAP_UNMASKED: 'true',
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
};
