import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { HeaderList } from './headers.ts';

/** What a third party answered: any status, a redirect included. */
export interface Reply {
  readonly status: number;
  /** In the order and spelling in which they came, repeated ones too. */
  readonly headers: HeaderList;
  /** Without its content coding, where that was gzip, deflate or br; any other is left as it came. */
  readonly body: Uint8Array;
}

/** Of final replies; the parser of the runtime takes any three digits. */
const STATUS_MIN = 200;
const STATUS_MAX = 599;

type Unpack = (packed: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const UNPACK: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

const pairsOf = (raw: readonly string[]): HeaderList =>
  Array.from({ length: raw.length >> 1 }, (_, index) => [raw[2 * index] ?? '', raw[2 * index + 1] ?? '']);

const valuesOf = (headers: HeaderList, wanted: string): string =>
  headers
    .filter(([name]) => name.toLowerCase() === wanted)
    .map(([, value]) => value.trim().toLowerCase())
    .join(',');

/** A body that comes in more pieces is made to keep us busy: 1 MB would be in chunks of less than 16 bytes. */
const PIECES_MAX = 65_536;
const FIRST_BYTES = 16_384;

/** Copies pieces into one buffer that doubles, so that a piece does not keep the whole read that it came in. */
const createCollector = (bytesMax: number) => {
  let held = new Uint8Array(0);
  let bytes = 0;
  let pieces = 0;
  const add = (piece: Uint8Array): boolean => {
    const needed = bytes + piece.length;
    pieces += 1;
    if (needed > bytesMax || pieces > PIECES_MAX) {
      return false;
    }
    if (needed > held.length) {
      const larger = new Uint8Array(Math.min(bytesMax, Math.max(needed, 2 * held.length, FIRST_BYTES)));
      larger.set(held.subarray(0, bytes));
      held = larger;
    }
    held.set(piece, bytes);
    bytes = needed;
    return true;
  };
  return { add, whole: (): Uint8Array => Buffer.from(held.buffer, 0, bytes) };
};

/** The body as it came over the line, or undefined, with the reply destroyed, as soon as there is too much of it. */
const collect = (response: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> => {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
  const { add, whole } = createCollector(bytesMax);
  response.on('data', (piece: Uint8Array) => {
    if (!add(piece)) {
      resolve(undefined);
      response.destroy();
    }
  });
  response.on('end', () => resolve(whole()));
  response.on('error', reject);
  response.on('close', () => reject(new Error('broken off')));
  return promise;
};

const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';

/**
 * Reads a whole reply, its body up to `bytesMax` bytes both as sent and unpacked. A reply that breaks off, cannot
 * be unpacked or has a status that no reply has is `target_unreachable`: nobody knows what it said. Never rejects, and leaves the
 * connection to its owner.
 */
export const readReply = async (
  response: IncomingMessage,
  bytesMax: number,
): Promise<Reply | 'reply_too_large' | 'target_unreachable'> => {
  const status = response.statusCode ?? 0;
  if (status < STATUS_MIN || status > STATUS_MAX) {
    return 'target_unreachable';
  }
  const headers = pairsOf(response.rawHeaders);
  try {
    const packed = await collect(response, bytesMax);
    if (packed === undefined) {
      return 'reply_too_large';
    }
    if (!response.complete) {
      return 'target_unreachable';
    }
    const unpack = UNPACK.get(valuesOf(headers, 'content-encoding'));
    const body =
      unpack === undefined || packed.length === 0
        ? packed
        : await unpack(packed, { maxOutputLength: bytesMax });
    return { status, headers, body };
  } catch (error) {
    return isTooLarge(error) ? 'reply_too_large' : 'target_unreachable';
  }
};
