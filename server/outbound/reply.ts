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

/** The body as it came over the line, or undefined as soon as it is longer than `bytesMax`. */
const collect = async (response: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';

/**
 * Reads a whole reply, its body up to `bytesMax` bytes both as sent and unpacked. A reply that breaks off or
 * cannot be unpacked is `target_unreachable`: nobody knows what it said. Never rejects, and leaves the
 * connection to its owner.
 */
export const readReply = async (
  response: IncomingMessage,
  bytesMax: number,
): Promise<Reply | 'reply_too_large' | 'target_unreachable'> => {
  const status = response.statusCode ?? 0;
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
