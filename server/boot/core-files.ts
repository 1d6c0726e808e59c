import { dlopen, ptr } from 'bun:ffi';

/** The C library of Linux by its names: glibc, and musl on the machines that the runtime exists for. */
const C_LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];
const RLIMIT_CORE = 4;

function setLimit(library: string): boolean {
  const { symbols, close } = dlopen(library, { setrlimit: { args: ['i32', 'ptr'], returns: 'i32' } });
  try {
    // struct rlimit: the limit in force and the highest that it could be raised to, 64 bits each.
    return symbols.setrlimit(RLIMIT_CORE, ptr(new Uint8Array(16))) === 0;
  } finally {
    close();
  }
}

/**
 * Forbids core files of this process and of those that it starts, whoever has started it: its memory holds keys and
 * card data. A container without a shell, as on Kubernetes, has no other place for the limit. Gives false where the
 * system has no such limit.
 */
export function forbidCoreFiles(): boolean {
  return (
    process.platform === 'linux' &&
    C_LIBRARIES.some((library) => {
      try {
        return setLimit(library);
      } catch {
        return false;
      }
    })
  );
}
