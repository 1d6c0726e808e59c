/** The benchmark's own processes, each ended by its id, whatever happens. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const POLL_MS = 10;
const STOP_MS_MAX = 30_000;

const alive = new Set<number>();
const folders = new Set<string>();

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}

function endAll(): void {
  for (const pid of alive) {
    kill(pid, 'SIGKILL');
  }
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.once('exit', endAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}

/** A private folder that goes when the benchmark ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-bench-'));
  folders.add(folder);
  return folder;
}

/** Has a process, which another one started, end with the benchmark; the returned function forgets it. */
export function guard(pid: number): () => void {
  alive.add(pid);
  return () => void alive.delete(pid);
}

interface StartOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string | undefined>;
}

function guardChild<Child extends Bun.Subprocess>(child: Child): Child {
  const forget = guard(child.pid);
  void child.exited.then(forget);
  return child;
}

/** Starts a process that ends with the benchmark; its output goes into an open file, or nowhere. */
export function start(command: string[], output: number | 'ignore', options: StartOptions = {}) {
  return guardChild(Bun.spawn(command, { ...options, stdio: ['ignore', output, 'inherit'] }));
}

/** Starts a process that ends with the benchmark, its output to be read. */
export function startPiped(command: string[], options: StartOptions = {}) {
  return guardChild(Bun.spawn(command, { ...options, stdio: ['ignore', 'pipe', 'inherit'] }));
}

/** Tells what happens now. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Runs a benchmark to its end, whose processes then end too. */
export function runMain(name: string, main: () => Promise<void>): void {
  main().then(
    () => process.exit(0),
    (error: unknown) => {
      say(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      process.exit(1);
    },
  );
}

/** Runs a program to its end; gives what it printed behind `RESULT`, and the seconds of CPU that it used. */
export async function resultOf<Result>(
  command: string[],
): Promise<{ readonly result: Result; readonly cpuSeconds: number }> {
  const child = startPiped(command);
  const output = await new Response(child.stdout).text();
  await child.exited;
  const line = /^RESULT (.*)$/m.exec(output)?.[1];
  if (line === undefined) {
    throw new Error(`a program failed: ${output.slice(-500)}`);
  }
  return {
    result: JSON.parse(line) as Result,
    cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6,
  };
}

/** Ends this process with a result for `resultOf`. */
export function endWith(result: object): void {
  process.stdout.write(`RESULT ${JSON.stringify(result)}\n`, () => process.exit(0));
}

/** Ends a process in good order, and by force when it takes too long. */
export async function stop(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await child.exited;
  clearTimeout(timer);
}

/** Polls until `look` finds something; fails when the process ends first, or nothing is found in time. */
export async function until<T>(
  child: Bun.Subprocess,
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const end = performance.now() + STOP_MS_MAX;
  while (child.exitCode === null && child.signalCode === null && performance.now() < end) {
    const found = await look();
    if (found !== undefined) {
      return found;
    }
    await Bun.sleep(POLL_MS);
  }
  throw new Error(`${what} did not start`);
}
