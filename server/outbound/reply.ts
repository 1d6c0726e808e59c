import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { HeaderEntries } from './headers.ts';

/** The reply of a third party, with any status, including redirects. */
export interface OutboundReply {
  readonly status: number;
  /** In the received order and spelling, including duplicates. */
  readonly headers: HeaderEntries;
  /** Decoded from gzip, deflate or br; another content coding is left unchanged. */
  readonly body: Uint8Array;
}

/** The range of final statuses; the parser of the runtime accepts any three digits. */
const STATUS_MIN = 200;
const STATUS_MAX = 599;

/** The result of reading a reply. */
export type ReadReply =
  | ({ readonly kind: 'reply' } & OutboundReply)
  | { readonly kind: 'failed'; readonly code: 'reply_too_large' | 'target_unreachable' };

type Decode = (encoded: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

function pairsOf(raw: readonly string[]): HeaderEntries {
  return Array.from({ length: raw.length >> 1 }, (_, index) => [
    raw[2 * index] ?? '',
    raw[2 * index + 1] ?? '',
  ]);
}

function valuesOf(headers: HeaderEntries, wanted: string): string {
  return headers
    .filter(([name]) => name.toLowerCase() === wanted)
    .map(([, value]) => value.trim().toLowerCase())
    .join(',');
}

/** The most chunks of a body: with more, 1 MB would have chunks of less than 16 bytes, which only wastes CPU time. */
const PIECES_MAX = 65_536;
const FIRST_BYTES = 16_384;

/** Copies chunks into one growing buffer, so that a chunk does not keep the complete read buffer in memory. */
function createCollector(bytesMax: number) {
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
}

/** The encoded body; undefined, with the response destroyed, as soon as it exceeds the limit. */
function collect(response: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> {
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
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function failed(code: 'reply_too_large' | 'target_unreachable'): ReadReply {
  return { kind: 'failed', code };
}

/**
 * Reads a complete reply; its body has at most `bytesMax` bytes, both encoded and decoded. A reply that is incomplete, cannot be
 * decoded or has an invalid status is `target_unreachable`. Never rejects, and does not close the connection.
 */
export async function readReply(response: IncomingMessage, bytesMax: number): Promise<ReadReply> {
  const status = response.statusCode ?? 0;
  if (status < STATUS_MIN || status > STATUS_MAX) {
    return failed('target_unreachable');
  }
  const headers = pairsOf(response.rawHeaders);
  try {
    const encoded = await collect(response, bytesMax);
    if (encoded === undefined) {
      return failed('reply_too_large');
    }
    if (!response.complete) {
      return failed('target_unreachable');
    }
    const decode = DECODERS.get(valuesOf(headers, 'content-encoding'));
    const body =
      decode === undefined || encoded.length === 0
        ? encoded
        : await decode(encoded, { maxOutputLength: bytesMax });
    return { kind: 'reply', status, headers, body };
  } catch (error) {
    return failed(isTooLarge(error) ? 'reply_too_large' : 'target_unreachable');
  }
}
