/** Servers as their operators start them: processes of their own, on one vault. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { portOf, type Settings, spawnServer } from '../helpers/server-process.ts';

const ROOT = join(import.meta.dir, '../..');

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
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cv-serving-'));
  folders.add(folder);
  return folder;
}

/** Kills what is still running of these processes, and removes their folders. */
export async function endAll(): Promise<void> {
  for (const child of alive) {
    child.kill('SIGKILL');
    await child.exited;
  }
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
  folders.clear();
}

/** Starts a server; what is set to undefined is left out of what these tests set otherwise. */
export function startProcess(settings: Settings): ServerProcess {
  const child = spawnServer(settings, ROOT);
  alive.add(child);
  const exited = child.exited.finally(() => alive.delete(child));
  const printed: string[] = [];
  const ready = portOf(child, printed);
  ready.catch(() => undefined);
  return {
    pid: child.pid,
    ready,
    exited,
    printed: () => printed.join(''),
    signal: (signal) => child.kill(signal),
  };
}

/** The children of a thread; none of one that has ended meanwhile. */
function childrenOfThread(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
  } catch {
    return '';
  }
}

/** The children of a process that a pattern fits, by their command lines, and that have not ended. */
export function childrenOf(pid: number, pattern: RegExp): readonly number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => childrenOfThread(pid, thread).trim().split(' '))
    .filter((child) => child !== '' && pattern.test(readFileSync(`/proc/${child}/cmdline`, 'latin1')))
    .map(Number)
    .toSorted((a, b) => a - b);
}

/** The processes that serve, of a server that has several. */
export function serversOf({ pid }: ServerProcess): readonly number[] {
  return childrenOf(pid, /main\.ts\0process\0/);
}

/** How often a server has printed an event. */
export function countEvents({ printed }: ServerProcess, event: string): number {
  return printed().split(`"event":"${event}"`).length - 1;
}

/** Waits until something is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) {
    await Bun.sleep(20);
  }
}
