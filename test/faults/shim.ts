/** The shim under server and Redis: how the tests turn its clock, fill its disk, and cut its power. */
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

const OFFSET_AT = 0;
const BYTES_LEFT_AT = 8;
const CONTROL_BYTES = 16;

export interface Shim {
  /** For the environment of a process that is to run on it. */
  readonly env: Readonly<Record<string, string>>;
  readonly setClock: (offsetMs: number) => void;
  /** How many bytes still fit on the disk; negative for any number. */
  readonly setDisk: (bytesLeft: number) => void;
  /** Takes away what was never synced from every file below a folder; gives the bytes lost. No process may run. */
  readonly cutPower: (folder: string) => number;
}

/** Compiles the shim into a folder; needs `cc`. */
export function buildShim(folder: string): string {
  const library = join(folder, 'shim.so');
  const source = join(import.meta.dir, 'shim.c');
  const { exitCode, stderr } = Bun.spawnSync([
    'cc',
    '-O2',
    '-shared',
    '-fPIC',
    '-o',
    library,
    source,
    '-ldl',
  ]);
  if (exitCode !== 0) {
    throw new Error(`cc: ${stderr.toString()}`);
  }
  return library;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** The length of each file, by its inode, that a sync has reached last. */
function syncedLengths(notes: string): Map<number, number> {
  const text = existsSync(notes) ? readFileSync(notes, 'utf8') : '';
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' ').map(Number) as [number, number]),
  );
}

/** A shim with controls of its own. */
export function openShim(library: string, folder: string): Shim {
  const [control, notes] = [join(folder, 'control'), join(folder, 'synced')];
  const fd = openSync(control, 'w+', 0o600);
  const set = (at: number, value: number): void => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(fd, bytes, 0, 8, at);
  };
  writeSync(fd, Buffer.alloc(CONTROL_BYTES));
  set(BYTES_LEFT_AT, -1);
  process.once('exit', () => closeSync(fd));
  return {
    env: { LD_PRELOAD: library, FAULT_CONTROL: control, FAULT_SYNCED: notes },
    setClock: (offsetMs) => set(OFFSET_AT, offsetMs),
    setDisk: (bytesLeft) => set(BYTES_LEFT_AT, bytesLeft),
    cutPower: (below) => {
      const synced = syncedLengths(notes);
      return filesBelow(below).reduce((lost, file) => {
        const { ino, size } = statSync(file);
        const kept = Math.min(size, synced.get(ino) ?? 0);
        truncateSync(file, kept);
        return lost + size - kept;
      }, 0);
    },
  };
}
