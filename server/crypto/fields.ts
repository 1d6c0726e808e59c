/** How the values of server/crypto/client.ts become the byte fields of jobs, and replies become values again. */
import type { StoredFacts, StoredParts } from '../../workers/jobs/kinds.ts';
import { VaultError } from '../core/errors.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const EMPTY = new Uint8Array(0);

/** The parts of a page of items, in the order that the threads expect them. */
export interface PageFields {
  /** u16 per item: index into `blobs`. */
  readonly order: Uint8Array;
  readonly tokens: readonly string[];
  readonly storedAt: Float64Array;
  readonly blobs: readonly Uint8Array[];
}

/** Plain parameters as the bytes of their JSON text. */
export const json = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));
/** The value of a thread's own JSON text. */
export const parse = <T>(bytes: Uint8Array | undefined): T => JSON.parse(decoder.decode(bytes)) as T;

/** A field of a reply; a missing one is a mistake of ours. */
export function at(fields: readonly Uint8Array[], index: number): Uint8Array {
  const found = fields[index];
  if (!found) {
    throw new VaultError('internal');
  }
  return found;
}

/** The reply of a job that makes an item to be written. */
export const storedParts = (fields: readonly Uint8Array[]): StoredParts => ({
  facts: parse<StoredFacts>(at(fields, 0)),
  item: at(fields, 1),
  meta: at(fields, 2),
  sad: at(fields, 3),
  refMember: at(fields, 4),
  logEntry: at(fields, 5),
  identity: at(fields, 6),
});

/** Takes apart byte strings that were laid end to end; `offsets` tells where each begins (u32, little-endian). */
export function slices(whole: Uint8Array, offsets: Uint8Array): Uint8Array[] {
  const view = new DataView(offsets.buffer, offsets.byteOffset, offsets.byteLength);
  const out: Uint8Array[] = [];
  for (let i = 4; i < offsets.length; i += 4) {
    out.push(whole.subarray(view.getUint32(i - 4, true), view.getUint32(i, true)));
  }
  return out;
}

/** Byte strings one after the other, each with its length (u32) before it. */
export function pack(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 0
    ? EMPTY
    : Buffer.concat(
        parts.flatMap((part) => {
          const length = Buffer.alloc(4);
          length.writeUInt32BE(part.length);
          return [length, part];
        }),
      );
}

/** The fields that a page crosses in. */
export const pageFields = (page: PageFields): Uint8Array[] => [
  page.order,
  json(page.tokens),
  new Uint8Array(page.storedAt.buffer, page.storedAt.byteOffset, page.storedAt.byteLength),
  ...page.blobs,
];
