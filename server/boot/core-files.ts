import { dlopen, ptr } from 'bun:ffi';
import { C_LIBRARIES } from '../http/listen/gate.ts';

const RLIMIT_CORE = 4;

const setLimit = (library: string): boolean => {
  const { symbols, close } = dlopen(library, { setrlimit: { args: ['i32', 'ptr'], returns: 'i32' } });
  try {
    // struct rlimit: the limit in force and the highest that it could be raised to, 64 bits each.
    return symbols.setrlimit(RLIMIT_CORE, ptr(new Uint8Array(16))) === 0;
  } finally {
    close();
  }
};

/**
 * Makes sure that this process, and those that it starts, never leave a core file, whoever has started it: its
 * memory holds keys and card data. Gives false where the system has no such limit.
 */
export const forbidCoreFiles = (): boolean =>
  process.platform === 'linux' &&
  C_LIBRARIES.some((library) => {
    try {
      return setLimit(library);
    } catch {
      return false;
    }
  });
