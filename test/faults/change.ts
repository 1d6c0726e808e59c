/**
 * Kills server, Redis or command in the middle of changes of a passphrase and of a master key, and checks after each
 * kill that exactly one passphrase works and that every item decrypts:
 * `bun test/faults/change.ts [--seed N] [--kills N] [--items N]`.
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { renderTable } from '../bench/report.ts';
import { chanceOfCase } from '../fuzz/chance.ts';
import { freePort } from '../helpers/free-port.ts';
import { OWNER, type Settings } from '../helpers/server-process.ts';
import { childrenOf, endAll, newFolder, type ServerProcess, startProcess } from '../serving/process.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    kills: { type: 'string', default: '40' },
    items: { type: 'string', default: '5000' },
  },
});
const seed = Number(values.seed ?? randomInt(1_000_000));
const kills = Number(values.kills);
const items = Number(values.items);

const STORES_AT_ONCE = 16;
const POLL_MS = 10;
const READY_MS_MAX = 30_000;
const REDIS = /redis-server|valkey-server/;
const CLI = join(import.meta.dir, '../../server/cli.ts');

const folder = newFolder();
const port = freePort();
const url = `http://127.0.0.1:${port}/v1`;
const keys = ['a', 'b'].map(
  (id) => `${id}:${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`,
);
let server: ServerProcess;

/** The settings with the key of the ring that writes. */
function settingsWith(first: number): Settings {
  return {
    VAULT_PORT: String(port),
    VAULT_DATA_DIR: join(folder, 'data'),
    VAULT_MASTER_KEY: first === 0 ? keys.join(',') : keys.toReversed().join(','),
    // Each round asks with a passphrase that is wrong by then.
    VAULT_AUTH_FAILURES_MAX: '0',
  };
}

async function ask(method: string, path: string, passphrase: string, body?: object): Promise<Response> {
  const headers = {
    Authorization: `Basic ${btoa(`${OWNER.name}:${OWNER.password}`)}`,
    'X-Vault-Passphrase': passphrase,
  };
  return fetch(`${url}${path}`, {
    method,
    headers,
    keepalive: false,
    body: body === undefined ? null : JSON.stringify(body),
  });
}

/** The status of a read once the vault serves again; a store that is away is asked again. */
async function statusOf(token: string, passphrase: string): Promise<number> {
  const until = performance.now() + READY_MS_MAX;
  for (;;) {
    const status = await ask('GET', `/vault?user=u&reference=0&token=${token}`, passphrase).then(
      (reply) => reply.arrayBuffer().then(() => reply.status),
      () => 0,
    );
    if (status === 200 || (status >= 400 && status < 500) || performance.now() > until) {
      return status;
    }
    await Bun.sleep(POLL_MS);
  }
}

async function storeAll(passphrase: string): Promise<readonly string[]> {
  const tokens: string[] = [];
  let next = 0;
  const store = async (): Promise<void> => {
    while (next < items) {
      const n = next++;
      const body = { card_number: '4111111111111111', name: `item ${n}` };
      const reply = await ask('POST', `/vault?user=u&reference=${n}`, passphrase, body);
      const text = await reply.text();
      if (reply.status !== 200) {
        throw new Error(`an item could not be stored: ${reply.status} ${text}`);
      }
      tokens[n] = JSON.parse(text).token;
    }
  };
  await Promise.all(Array.from({ length: STORES_AT_ONCE }, store));
  return tokens;
}

/** How many items a listing decrypts, each with what was stored in it. */
async function decrypted(passphrase: string): Promise<number> {
  const seen = new Set<string>();
  let next: string | null = null;
  do {
    const query = next === null ? '' : `&next_token=${encodeURIComponent(next)}`;
    const reply = await ask('GET', `/vault?user=u&decrypt_all=true&limit=1000${query}`, passphrase);
    const tree = Object(await reply.json()) as Record<
      string,
      readonly { readonly data?: { readonly name?: string } }[]
    >;
    for (const { data } of Object.values(tree).flat()) {
      if (/^item \d+$/.test(data?.name ?? '')) {
        seen.add(data?.name ?? '');
      }
    }
    next = reply.headers.get('x-vault-next-token');
  } while (next !== null);
  return seen.size;
}

/** Starts a server until one serves, as a supervisor does: the first may still meet the Redis of the one that died. */
async function restart(first: number, tries = 5): Promise<void> {
  server = startProcess(settingsWith(first));
  try {
    await server.ready;
  } catch (error) {
    if (tries === 1) {
      throw error;
    }
    await restart(first, tries - 1);
  }
}

type Victim = 'server' | 'redis' | 'command';

function kill(victim: Victim, command?: Bun.Subprocess): void {
  if (victim === 'command') {
    command?.kill('SIGKILL');
    return;
  }
  const [redis] = childrenOf(server.pid, REDIS);
  process.kill(victim === 'redis' && redis !== undefined ? redis : server.pid, 'SIGKILL');
}

/** A change that runs, and when it is over. */
interface Change {
  readonly over: Promise<unknown>;
  readonly command?: Bun.Subprocess;
}

function changePassphrase(from: string, to: string): Change {
  const body = { user: 'u', passphrase: from, new_passphrase: to };
  return {
    over: ask('PUT', '/key', from, body)
      .then((reply) => reply.text())
      .catch(() => undefined),
  };
}

function changeMasterKey(first: number): Change {
  const command = Bun.spawn([process.execPath, CLI, 'rotate-master', '--quiet'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      VAULT_REDIS_BIN: process.env['VAULT_REDIS_BIN'],
      ...settingsWith(first),
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  return { over: command.exited, command };
}

interface Tally {
  kills: number;
  /** Kills that came while the change was still running. */
  within: number;
  changed: number;
  wrong: number;
  missing: number;
}
const tallies = new Map<string, Tally>();

function tallyOf(name: string): Tally {
  const tally = tallies.get(name) ?? { kills: 0, within: 0, changed: 0, wrong: 0, missing: 0 };
  tallies.set(name, tally);
  return tally;
}

/** What a run knows from one kill to the next. */
interface State {
  passphrase: string;
  /** Which key of the ring writes. */
  first: number;
  /** How long a whole change of each kind takes, in ms. */
  readonly spans: { passphrase: number; 'master key': number };
}

async function round(n: number, token: string, state: State): Promise<void> {
  const chance = chanceOfCase(seed, 'change', n);
  const kind = n % 2 === 0 ? 'passphrase' : 'master key';
  const victims: readonly [Victim, ...Victim[]] =
    kind === 'passphrase' ? ['server', 'redis'] : ['server', 'redis', 'command'];
  const victim = chance.pick(victims);
  const tally = tallyOf(`${kind}: ${victim} killed`);
  const wanted = `passphrase ${n} of this run, long enough`;
  if (kind === 'master key') {
    // The servers have read the new ring before the command runs, as the guide asks.
    state.first = 1 - state.first;
    server.signal('SIGTERM');
    await server.exited;
    await restart(state.first);
  }
  const change =
    kind === 'passphrase' ? changePassphrase(state.passphrase, wanted) : changeMasterKey(state.first);
  let isOver = false;
  change.over.finally(() => {
    isOver = true;
  });
  await Bun.sleep(chance.int(Math.max(2, Math.round(state.spans[kind] * 1.2))));
  tally.kills += 1;
  tally.within += isOver ? 0 : 1;
  kill(victim, change.command);
  if (victim === 'server') {
    await server.exited;
    await restart(state.first);
  }
  await change.over;
  const [old, next] = [await statusOf(token, state.passphrase), await statusOf(token, wanted)];
  if ([old, next].sort().join() !== '200,403') {
    tally.wrong += 1;
    process.stdout.write(`${n}: the old passphrase gets ${old}, the new one ${next}\n`);
  }
  if (next === 200) {
    state.passphrase = wanted;
    tally.changed += 1;
  }
  tally.missing += items - (await decrypted(state.passphrase));
}

async function measured(change: () => Change): Promise<number> {
  const begun = performance.now();
  await change().over;
  return performance.now() - begun;
}

async function main(): Promise<number> {
  await restart(0);
  const begin = 'passphrase of the beginning, long enough';
  await ask('POST', '/key', begin, { user: 'u', passphrase: begin });
  const tokens = await storeAll(begin);
  const [token = ''] = tokens;
  const passphrase = 'passphrase of a whole change, long enough';
  const state: State = {
    passphrase,
    first: 0,
    spans: {
      passphrase: await measured(() => changePassphrase(begin, passphrase)),
      'master key': await measured(() => changeMasterKey(0)),
    },
  };
  for (let n = 0; n < kills; n++) {
    await round(n, token, state);
  }
  const all = [...tallies].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = all.map(([name, { kills, within, changed, wrong, missing }]) =>
    [name, kills, within, changed, wrong, missing].map(String),
  );
  const head = [
    'What was killed',
    'Kills',
    'within the change',
    'changed',
    'not one passphrase',
    'items lost',
  ];
  process.stdout.write(`Seed ${seed}, ${items} items\n\n${renderTable({ head, rows })}\n`);
  return all.reduce((sum, [, { wrong, missing }]) => sum + wrong + missing, 0);
}

let failed = 1;
try {
  failed = await main();
} finally {
  await endAll();
}
process.exit(failed === 0 ? 0 : 1);
