/** Programs that do the same work with the installed package, one for each way to run it, and what runs them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../helpers/packages.ts';
import type { Given } from './work.ts';

const VENDORED = join(import.meta.dir, '../../../.vendor/runtimes/node_modules');

const IMPORTS =
  "import * as sdk from '@cardvault/sdk';\nimport { given } from './given.js';\nimport { work } from './work.js';\n";

/** The user of the vault is the program's name. */
function program(user: string): string {
  return `${IMPORTS}console.log('--- ' + JSON.stringify(await work(sdk, given, '${user}')));\n`;
}

const CJS = `const sdk = require('@cardvault/sdk');
const main = async () => {
  const { given } = await import('./given.js');
  const { work } = await import('./work.js');
  console.log('--- ' + JSON.stringify(await work(sdk, given, 'node-cjs')));
};
main();
`;

const WORKER = `${IMPORTS}export default {
  fetch: async () => Response.json(await work(sdk, given, 'workerd').catch((error) => ({ error: String(error) }))),
};
`;

const WORKERD = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "out", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.bundle.js")],
  compatibilityDate = "2026-01-01",
  globalOutbound = "out",
);
`;

/** A runtime of `.vendor`; which of the packages is there depends on the machine. */
function vendored(...candidates: string[]): string {
  const found = candidates.map((path) => join(VENDORED, path)).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error('The runtimes are not there: run sh scripts/test/runtimes.sh first.');
  }
  return found;
}

export function findDeno(): string {
  return vendored('@deno/linux-x64-glibc/deno', '@deno/linux-arm64-glibc/deno');
}
function findWorkerd(): string {
  return vendored('@cloudflare/workerd-linux-64/bin/workerd', '@cloudflare/workerd-linux-arm64/bin/workerd');
}

/** Writes the programs into a folder that has the package installed. */
export async function writePrograms(folder: string, given: Given): Promise<void> {
  const source = await Bun.file(join(import.meta.dir, 'work.ts')).text();
  const files: Readonly<Record<string, string>> = {
    'work.js': new Bun.Transpiler({ loader: 'ts' }).transformSync(source),
    'given.js': `export const given = ${JSON.stringify(given)};\n`,
    'node.mjs': program('node-esm'),
    'node.cjs': CJS,
    'bun.mjs': program('bun'),
    'deno.mjs': program('deno'),
    'worker.mjs': WORKER,
    'workerd.capnp': WORKERD,
  };
  for (const [name, text] of Object.entries(files)) {
    await Bun.write(join(folder, name), text);
  }
}

/** What a program printed before its result, and the result. */
export interface Outcome {
  readonly printed: string;
  readonly result: unknown;
}

async function runProgram(command: readonly string[], folder: string): Promise<Outcome> {
  const [printed = '', result = ''] = (await run(command, folder)).split(/^--- /m);
  return { printed, result: JSON.parse(result) };
}

/** As deploying a worker does; what is imported is what the conditions of workers lead to. */
async function bundleWorker(folder: string): Promise<void> {
  const { success } = await Bun.build({
    entrypoints: [join(folder, 'worker.mjs')],
    outdir: folder,
    naming: 'worker.bundle.js',
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
  });
  if (!success) {
    throw new Error('The worker was not bundled.');
  }
}

async function runWorker(folder: string): Promise<Outcome> {
  await bundleWorker(folder);
  const server = Bun.spawn([findWorkerd(), 'serve', 'workerd.capnp', '--control-fd=1'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  let result: unknown;
  const decoder = new TextDecoder();
  for await (const chunk of server.stdout) {
    printed += decoder.decode(chunk, { stream: true });
    const [, port] = /"port":(\d+)/.exec(printed) ?? [];
    if (port !== undefined && result === undefined) {
      result = await (await fetch(`http://127.0.0.1:${port}`)).json();
      server.kill();
    }
  }
  return { printed, result };
}

/** By name, which is also the key's; each gives what it printed. */
export const PROGRAMS: Readonly<Record<string, (folder: string) => Promise<Outcome>>> = {
  'node-esm': (folder) => runProgram(['node', 'node.mjs'], folder),
  'node-cjs': (folder) => runProgram(['node', 'node.cjs'], folder),
  bun: (folder) => runProgram([process.execPath, 'bun.mjs'], folder),
  deno: (folder) =>
    runProgram([findDeno(), 'run', '--quiet', '--no-remote', '--allow-net=127.0.0.1', 'deno.mjs'], folder),
  workerd: runWorker,
};
