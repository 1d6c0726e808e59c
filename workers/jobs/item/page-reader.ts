/** Takes a page of items apart, as the store's script has written it. */
import { IntegrityError } from '../../crypto/primitives/bytes.ts';
import type { ThreadPage } from './jobs.ts';

/** Four lengths (item, metadata, log tail, sensitive authentication data) and the length of the log, u32 each. */
const HEAD_BYTES = 20;

/** The records of one item as they lie in a page; `sad` may be empty. */
export interface PageItem {
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly tail: Uint8Array;
  readonly sad: Uint8Array;
  readonly logLength: number;
}

interface BlobReader {
  readonly blob: Uint8Array;
  readonly view: DataView;
  at: number;
}

function take(reader: BlobReader, length: number): Uint8Array {
  const { blob, at } = reader;
  if (at + length > blob.length) {
    throw new IntegrityError('item blob');
  }
  reader.at += length;
  return blob.subarray(at, at + length);
}

/** The next item of a bucket; undefined for one that is gone. */
function nextItem(reader: BlobReader): PageItem | undefined {
  const { view, at: head } = reader;
  take(reader, HEAD_BYTES);
  const item = take(reader, view.getUint32(head));
  const meta = take(reader, view.getUint32(head + 4));
  const tail = take(reader, view.getUint32(head + 8));
  const sad = take(reader, view.getUint32(head + 12));
  return meta.length === 0 ? undefined : { item, meta, tail, sad, logLength: view.getUint32(head + 16) };
}

/** The items of a page in its order, with the token of each. Throws an `IntegrityError` for a page that is cut. */
export function* itemsOf({ order, tokens, storedAt, blobs }: ThreadPage): Generator<{
  readonly token: string;
  /** ms since 1970. */
  readonly storedAt: number;
  readonly records: PageItem | undefined;
}> {
  const bucketOf = new DataView(order.buffer, order.byteOffset, order.byteLength);
  const readers = blobs.map((blob) => ({
    blob,
    view: new DataView(blob.buffer, blob.byteOffset, blob.byteLength),
    at: 0,
  }));
  for (const [i, token] of tokens.entries()) {
    const reader = readers[bucketOf.getUint16(2 * i)];
    if (!reader) {
      throw new IntegrityError('page');
    }
    yield { token, storedAt: storedAt[i] ?? 0, records: nextItem(reader) };
  }
}
