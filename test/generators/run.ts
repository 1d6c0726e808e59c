/**
 * Makes a client from the server's own OpenAPI document with each generator that is installed, compiles it, and runs a
 * program that creates a key and stores, lists and decrypts a card: `bun run test:generators [NAME …]`. A generator
 * whose tools are missing is left out, in a line of its own.
 */
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OWNER, portOf, spawnServer } from '../helpers/server-process.ts';
import { CLIENTS, type Client, type Command } from './clients.ts';

const CARD = '4111111111111111';
const COMMAND_MS_MAX = 300_000;
const OUTPUT_LINES = 30;

type Outcome =
  | { readonly kind: 'works' }
  | { readonly kind: 'left out'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

interface Ran {
  readonly isGood: boolean;
  readonly output: string;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function run(command: Command, folder: string, env: Record<string, string> = {}): Promise<Ran> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_MS_MAX,
  });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { isGood: (await child.exited) === 0, output: `${out}${err}`.trimEnd() };
}

/** The last lines of what a command printed. */
function tailOf(output: string): string {
  return output.split('\n').slice(-OUTPUT_LINES).join('\n');
}

/** Runs commands until one fails; gives what that one printed. */
async function runAll(commands: readonly Command[], folder: string): Promise<string | undefined> {
  for (const command of commands) {
    const { isGood, output } = await run(command, folder);
    if (!isGood) {
      return `${command.slice(0, 4).join(' ')}\n${tailOf(output)}`;
    }
  }
  return undefined;
}

async function writeInputs(client: Client, folder: string, document: string): Promise<void> {
  await Bun.write(join(folder, 'openapi.json'), document);
  for (const [path, text] of Object.entries(client.files ?? {})) {
    await Bun.write(join(folder, path), text);
  }
}

/** After the generator, which may empty its folder. */
async function copyProgram({ program: [from, to] }: Client, folder: string): Promise<void> {
  const target = join(folder, to);
  await mkdir(dirname(target), { recursive: true });
  await cp(join(import.meta.dir, 'programs', from), target);
}

async function tryClient(client: Client, folder: string, document: string, url: string): Promise<Outcome> {
  const missing = client.tools.filter((tool) => Bun.which(tool) === null);
  if (missing.length > 0) {
    return { kind: 'left out', reason: `not on the PATH: ${missing.join(', ')}` };
  }
  await writeInputs(client, folder, document);
  const version = await run(client.version, folder);
  say(`${client.name}: version ${version.output.split('\n').at(-1)}`);
  const ungenerated = await runAll([client.generate], folder);
  if (ungenerated !== undefined) {
    return { kind: 'failed', reason: ungenerated };
  }
  await copyProgram(client, folder);
  const unfetched = await runAll(client.fetch, folder);
  if (unfetched !== undefined) {
    return { kind: 'left out', reason: `what generated code depends on is missing: ${unfetched}` };
  }
  const uncompiled = await runAll(client.compile(folder), folder);
  if (uncompiled !== undefined) {
    return { kind: 'failed', reason: uncompiled };
  }
  const env = { VAULT_URL: `${url}/v1`, VAULT_NAME: OWNER.name, VAULT_PASSWORD: OWNER.password, CARD };
  const { isGood, output } = await run(client.run, folder, env);
  const isRight = isGood && output.split('\n').includes(`1 listed, decrypted ${CARD}`);
  return isRight ? { kind: 'works' } : { kind: 'failed', reason: tailOf(output) };
}

async function tryAll(clients: readonly Client[], place: string): Promise<readonly Outcome[]> {
  const server = spawnServer({ VAULT_DATA_DIR: join(place, 'data') }, place);
  const outcomes: Outcome[] = [];
  try {
    const url = `http://127.0.0.1:${await portOf(server, [])}`;
    const document = await (await fetch(`${url}/openapi.json?webhooks=false`)).text();
    for (const client of clients) {
      const folder = join(place, client.name);
      await mkdir(folder);
      const outcome = await tryClient(client, folder, document, url);
      outcomes.push(outcome);
      say(`${client.name}: ${outcome.kind}${'reason' in outcome ? `, ${outcome.reason}` : ''}`);
    }
  } finally {
    server.kill();
    await server.exited;
  }
  return outcomes;
}

const names = process.argv.slice(2);
const unknown = names.filter((name) => CLIENTS.every((client) => client.name !== name));
if (unknown.length > 0) {
  say(`Unknown: ${unknown.join(', ')}. Known: ${CLIENTS.map((client) => client.name).join(', ')}`);
  process.exit(2);
}
const place = await mkdtemp(join(tmpdir(), 'cv-generators-'));
try {
  const chosen = CLIENTS.filter(({ name }) => names.length === 0 || names.includes(name));
  const outcomes = await tryAll(chosen, place);
  const counts = (['works', 'left out', 'failed'] as const).map(
    (kind) => `${outcomes.filter((outcome) => outcome.kind === kind).length} ${kind}`,
  );
  say(counts.join(', '));
  process.exitCode = outcomes.some(({ kind }) => kind === 'failed') ? 1 : 0;
} finally {
  await rm(place, { recursive: true, force: true });
}
