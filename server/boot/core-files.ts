import { dlopen, ptr } from 'bun:ffi';

/** File names of the C library on Linux: glibc, and musl on the architectures that Bun supports. */
const C_LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];
/** The resource number of `setrlimit(2)` for the size of core files. */
const RLIMIT_CORE = 4;

/** Sets the limit through one C library; throws if that library is not installed. */
function setLimit(library: string): boolean {
  const { symbols, close } = dlopen(library, { setrlimit: { args: ['i32', 'ptr'], returns: 'i32' } });
  try {
    // struct rlimit: the soft and the hard limit, 64 bits each; both are 0.
    return symbols.setrlimit(RLIMIT_CORE, ptr(new Uint8Array(16))) === 0;
  } finally {
    close();
  }
}

/**
 * Disables core files for this process and its children, since its memory contains keys and card data. Done here and
 * not by a shell's `ulimit`, because container images may have no shell. Returns false where the system has no such
 * limit; the caller only logs that.
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
