/** The path of one warm store through the server: an instrumented copy of a checkout serves it over HTTP. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccountClient } from '../helpers/clients.ts';
import { GUARD } from '../helpers/guard.ts';
import { handleOf, OWNER, portOf } from '../helpers/server-process.ts';
import type { Recording } from './probe.ts';
import { type FunctionPlace, functionsOf } from './source.ts';

/** Calls while a request was served. A file change is a call in another file than the call before it. */
export type Path = Readonly<Record<'calls' | 'functions' | 'files' | 'file changes', number>>;

/** One warm store; `named` leaves out functions without a name of their own. */
export interface StorePath {
  readonly threads: Readonly<Record<'main' | 'worker' | 'main, named' | 'worker, named', Path>>;
  /** By thread and file, in the order of first calls: `name:line` and how often it was called. */
  readonly called: Readonly<Record<string, readonly string[]>>;
}

const RUNS = 3;
const WARM_UP = 3;
const QUIET_MS = 300;
const HERE = join(import.meta.dir, '../..');

/** Adds a call of `__called` to the start of each function body; every line keeps its number. */
export function instrument(path: string, text: string, known: FunctionPlace[]): string {
  const edits: [at: number, add: string][] = [];
  for (const place of functionsOf(path, text)) {
    const call = `globalThis.__called?.(${known.push(place) - 1})`;
    const [start, end] = [place.body.getStart(), place.body.getEnd()];
    if ('statements' in place.body) {
      edits.push([start + 1, `${call};`]);
    } else {
      edits.push([start, `(${call}, `], [end, ')']);
    }
  }
  let [done, out] = [0, ''];
  for (const [at, add] of edits.sort(([a], [b]) => a - b)) {
    out += text.slice(done, at) + add;
    done = at;
  }
  return out + text.slice(done);
}

/** Counts calls in their order. */
export function summarize(calls: readonly FunctionPlace[]): Path {
  return {
    calls: calls.length,
    functions: new Set(calls).size,
    files: new Set(calls.map(({ file }) => file)).size,
    'file changes': calls.filter(({ file }, at) => at > 0 && calls[at - 1]?.file !== file).length,
  };
}

function list(thread: string, calls: readonly FunctionPlace[]): Record<string, string[]> {
  const times = Map.groupBy(calls, (place) => place);
  const files = Map.groupBy(times, ([{ file }]) => file);
  const tell = ([{ name, line }, all]: [FunctionPlace, unknown[]]): string => `${name}:${line} ${all.length}`;
  return Object.fromEntries([...files].map(([file, inside]) => [`${thread} ${file}`, inside.map(tell)]));
}

function copyInstrumented(root: string, copy: string): FunctionPlace[] {
  const left = ['node_modules', '.vendor', '.git', '.vault'].map((name) => join(root, name));
  cpSync(root, copy, { recursive: true, filter: (path) => !left.includes(path) });
  for (const name of ['node_modules', '.vendor']) {
    const place = [root, HERE].map((folder) => join(folder, name)).find(existsSync);
    if (place !== undefined) {
      symlinkSync(place, join(copy, name));
    }
  }
  const probe = join(copy, 'probe.ts');
  cpSync(join(import.meta.dir, 'probe.ts'), probe);
  const known: FunctionPlace[] = [];
  for (const path of new Bun.Glob('{server,workers}/**/*.ts').scanSync(copy)) {
    const text = instrument(path, readFileSync(join(copy, path), 'utf8'), known);
    const isLoader = path === 'server/main.ts' || path.startsWith('workers/');
    writeFileSync(join(copy, path), isLoader ? `import ${JSON.stringify(probe)};${text}` : text);
  }
  return known;
}

function pathOf(recordings: readonly Recording[], known: readonly FunctionPlace[]): StorePath {
  const [[from, to] = [0, 0], ...others] = recordings.flatMap(({ requests }) => requests);
  if (to === 0 || others.length > 0) {
    throw new Error('not exactly one request was recorded');
  }
  const during = ([, at]: readonly [unknown, number]): boolean => at >= from && at <= to;
  const callsIn = (isMain: boolean): FunctionPlace[] =>
    recordings
      .filter((recording) => recording.isMain === isMain)
      .flatMap(({ calls }) => calls.filter(during).flatMap(([id]) => known[id] ?? []));
  const [main, worker] = [callsIn(true), callsIn(false)];
  const named = (calls: readonly FunctionPlace[]): Path =>
    summarize(calls.filter(({ name }) => name !== 'closure'));
  return {
    threads: {
      main: summarize(main),
      worker: summarize(worker),
      'main, named': named(main),
      'worker, named': named(worker),
    },
    called: { ...list('main', main), ...list('worker', worker) },
  };
}

/**
 * Serves warm stores one at a time from a copy of the checkout at `root` and returns the median one by its calls on
 * the main thread. Nothing before a request arrives or after its response is made counts.
 */
export async function measureStore(root: string): Promise<StorePath> {
  const folder = mkdtempSync(join(tmpdir(), 'measure-'));
  const copy = join(folder, 'copy');
  const known = copyInstrumented(root, copy);
  const { PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN } = process.env;
  const paths: StorePath[] = [];
  let recordings: Recording[] = [];
  const server = Bun.spawn([...GUARD, process.execPath, join(copy, 'server/main.ts')], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    ipc: (message) => recordings.push(message),
    env: {
      ...{ PATH, HOME, LD_LIBRARY_PATH, VAULT_REDIS_BIN },
      ...{ VAULT_DATA_DIR: join(folder, 'vault'), VAULT_PORT: '0', VAULT_PROCESSES: '1', VAULT_WORKERS: '1' },
      ...{ VAULT_BOOTSTRAP_USER: OWNER.name, VAULT_BOOTSTRAP_PASSWORD: OWNER.password },
    },
  });
  try {
    const port = portOf(server, []);
    const handle = handleOf(() => port);
    const account = createAccountClient(handle, OWNER);
    await account.key('measure');
    for (let run = 0; run < WARM_UP + RUNS; run += 1) {
      recordings = [];
      server.send('record');
      await Bun.sleep(QUIET_MS);
      // A reference of its own: the same number without one would take the path of a repeated store.
      await account.store('measure', { card_number: '4111111111111111' }, { reference: `card-${run}` });
      await Bun.sleep(QUIET_MS);
      server.send('report');
      while (recordings.length < 2 && server.exitCode === null) {
        await Bun.sleep(QUIET_MS);
      }
      paths.push(pathOf(recordings, known));
    }
  } finally {
    server.kill();
    await server.exited;
    rmSync(folder, { recursive: true, force: true });
  }
  const [, median] = paths.slice(WARM_UP).sort((a, b) => a.threads.main.calls - b.threads.main.calls);
  if (median === undefined) {
    throw new Error('nothing was measured');
  }
  return median;
}
