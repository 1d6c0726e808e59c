import { dlopen, ptr } from 'bun:ffi';

/** File names of the C library on Linux: glibc, and musl on the architectures that Bun supports. */
const C_LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];
/** The resource number of `setrlimit(2)` for the size of core files. */
const RLIMIT_CORE = 4;
/** The option of `prctl(2)` for whether other programs of this user may read the memory, and core files be written. */
const PR_SET_DUMPABLE = 4;

const FUNCTIONS = {
  setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
  mlock: { args: ['ptr', 'u64'], returns: 'i32' },
} as const;

/** The C library; undefined on other systems. It is loaded for each call, of which there are few. */
function openLibrary() {
  for (const library of process.platform === 'linux' ? C_LIBRARIES : []) {
    try {
      return dlopen(library, FUNCTIONS).symbols;
    } catch {
      // Not this system's.
    }
  }
  return undefined;
}

/**
 * Forbids core files of this process and its children, and the memory of this process to other programs of its user.
 * Threads share both; a child that runs another program has to call this itself. Done here and not by a shell's
 * `ulimit`, because container images may have no shell. Returns false where the system cannot do both.
 */
export function closeMemory(): boolean {
  const library = openLibrary();
  // struct rlimit: the soft and the hard limit, 64 bits each; both are 0.
  const isCoreOff = library?.setrlimit(RLIMIT_CORE, ptr(new Uint8Array(16))) === 0;
  const isUndumpable = library?.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) === 0;
  return isCoreOff && isUndumpable;
}

/**
 * Keeps the pages of long-lived keys out of swap. Returns false where RLIMIT_MEMLOCK or the system forbids it. Only
 * these: with all memory locked (`mlockall`) the runtime could return none of it to the system, and its address space,
 * 6 GB when it starts, would exceed any usual limit.
 */
export function lockMemory(keys: readonly Uint8Array[]): boolean {
  const library = openLibrary();
  return keys.every((key) => key.length === 0 || library?.mlock(ptr(key), key.length) === 0);
}
