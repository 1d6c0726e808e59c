import { dlopen, ptr } from 'bun:ffi';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The C library of Linux by its names: glibc, and musl on the machines that the runtime exists for. */
export const C_LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];
const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;
const LISTENING = '0A';

/**
 * A classic BPF program (linux/filter.h: u16 code, u8 jump if true, u8 jump if false, u32 operand) that reads the
 * flags of a TCP header and drops the segments that ask for a connection (SYN); all others pass.
 */
const DROP_SYN = [
  [0x30, 0, 0, 13],
  [0x45, 0, 1, 0x02],
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xffff_ffff],
] as const;

const programBytes = (): Uint8Array => {
  const bytes = new Uint8Array(DROP_SYN.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [index, [code, whenTrue, whenFalse, operand]] of DROP_SYN.entries()) {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, whenTrue);
    view.setUint8(index * 8 + 3, whenFalse);
    view.setUint32(index * 8 + 4, operand, true);
  }
  return bytes;
};

const setFilter = (library: string, descriptors: readonly number[]): boolean => {
  const { symbols, close } = dlopen(library, {
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
  });
  try {
    const program = programBytes();
    // struct sock_fprog: the number of instructions, padding, and where they are.
    const header = new Uint8Array(16);
    const view = new DataView(header.buffer);
    view.setUint16(0, DROP_SYN.length, true);
    view.setBigUint64(8, BigInt(ptr(program)), true);
    const results = descriptors.map((descriptor) =>
      symbols.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, ptr(header), header.length),
    );
    return results.every((result) => result === 0);
  } finally {
    close();
  }
};

/** The inodes of the sockets on this machine's network that listen on the port. */
const inodesOf = (port: number): ReadonlySet<string> => {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/self/net/${table}`, 'latin1')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, address, , state]) => state === LISTENING && address?.endsWith(suffix) === true)
      .map((columns) => columns[9] ?? ''),
  );
  return new Set(inodes);
};

const socketInode = (descriptor: string): string | undefined => {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1];
  } catch {
    // It was the descriptor of the listing itself.
    return undefined;
  }
};

/** The descriptors of this process that listen on the port; none where the system has no /proc. */
export const listeningDescriptors = (port: number): readonly number[] => {
  try {
    const inodes = inodesOf(port);
    return readdirSync('/proc/self/fd')
      .filter((descriptor) => inodes.has(socketInode(descriptor) ?? ''))
      .map(Number);
  } catch {
    return [];
  }
};

/**
 * Lets nobody begin a connection with these listening sockets any more, while connections that have begun are still
 * taken. Without it, closing a socket on a port that is shared resets what waits in its queue, as the kernel hands
 * nothing over to the other sockets (net.ipv4.tcp_migrate_req is off by default). A client that is turned away here
 * asks again after a second, and meets another server. Gives false where the system cannot do it: then closing is
 * as rough as the kernel makes it.
 */
export const shutGate = (descriptors: readonly number[]): boolean => {
  if (process.platform !== 'linux' || descriptors.length === 0) {
    return false;
  }
  return C_LIBRARIES.some((library) => {
    try {
      return setFilter(library, descriptors);
    } catch {
      return false;
    }
  });
};
