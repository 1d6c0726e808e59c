/** Handlers of the jobs on pages of items in `jobs.ts`, which says what each promises. */
import { formatStoredAt } from '../../../server/domain/text/time-text.ts';
import { EMPTY, IntegrityError, readBytes, readU32, wipe } from '../../crypto/primitives/bytes.ts';
import type { ThreadHandlers } from '../context.ts';
import { openKey, WARM_MISS } from '../key/open.ts';
import type { CardFacts, ITEM_JOBS, Packed, ReferenceFilter, ThreadPage } from './jobs.ts';
import { logEntry, metaOf, openText } from './records.ts';
import { viewOf } from './view.ts';

/** The records of one item as they lie in a page; `sad` may be empty. */
interface PageItem {
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly tail: Uint8Array;
  readonly sad: Uint8Array;
  readonly logLength: number;
}

/** Four lengths (item, metadata, log tail, sensitive authentication data) and the length of the log, u32 each. */
const HEAD_BYTES = 20;
/** What an item's text has beside the data, but for its token and reference: names and time. */
const TEXT_BYTES = 128;
/** A sealed log entry with a user agent of usual length. */
const ENTRY_BYTES = 256;
const COMMA = 0x2c;

/** A place in a bucket: the items are read one after the other. */
interface Cursor {
  readonly blob: Uint8Array;
  at: number;
}

function take(cursor: Cursor, length: number): Uint8Array {
  const part = length === 0 ? EMPTY : readBytes(cursor.blob, cursor.at, length);
  cursor.at += length;
  return part;
}

function takeItem(cursor: Cursor): PageItem {
  const { blob, at: head } = cursor;
  const logLength = readU32(blob, head + 16);
  cursor.at = head + HEAD_BYTES;
  const item = take(cursor, readU32(blob, head));
  const meta = take(cursor, readU32(blob, head + 4));
  const tail = take(cursor, readU32(blob, head + 8));
  return { item, meta, tail, sad: take(cursor, readU32(blob, head + 12)), logLength };
}

function rejectPage(): never {
  throw new IntegrityError('page');
}

/**
 * Calls `visit` for the items of a page in its order; those that are gone have no metadata. `IntegrityError` for a page
 * that is cut.
 */
function forEachItem(
  { order, tokens, storedAt, blobs }: ThreadPage,
  visit: (token: string, storedAt: number, records: PageItem, bucket: number) => void,
): void {
  const bucketOf = new DataView(order.buffer, order.byteOffset, order.byteLength);
  const cursors = blobs.map((blob): Cursor => ({ blob, at: 0 }));
  for (const [i, token] of tokens.entries()) {
    const bucket = bucketOf.getUint16(2 * i);
    const cursor = cursors[bucket];
    if (!cursor) {
      rejectPage();
    }
    visit(token, storedAt[i] ?? 0, takeItem(cursor), bucket);
  }
}

/** Byte strings that are written one behind the other. */
interface Packing {
  bytes: Buffer;
  readonly ends: Uint32Array;
  at: number;
  /** Strings so far, the empty ones included. */
  count: number;
}

/** Room for `count` strings, and `bytes` for all of them together, which grow where they must. */
function createPacking(count: number, bytes: number): Packing {
  return { bytes: Buffer.alloc(bytes), ends: new Uint32Array(count), at: 0, count: 0 };
}

/** For each bucket of a page, room for the log entries of its items. */
function createEntries({ order, blobs }: ThreadPage): readonly Packing[] {
  const items = new Uint32Array(blobs.length);
  for (let at = 0; at + 1 < order.length; at += 2) {
    const bucket = ((order[at] ?? 0) << 8) | (order[at + 1] ?? 0);
    items[bucket] = (items[bucket] ?? 0) + 1;
  }
  return Array.from(items, (count) => createPacking(count, ENTRY_BYTES * count));
}

/** Makes room for more bytes. What was written so far may be card data, so its old place is wiped. */
function reserve(packing: Packing, extra: number): void {
  const { bytes, at } = packing;
  if (at + extra > bytes.length) {
    packing.bytes = Buffer.alloc(2 * (at + extra));
    packing.bytes.set(bytes.subarray(0, at));
    wipe(bytes);
  }
}

/** Ends a string; one that nothing was written for is empty. */
function endString(packing: Packing): void {
  packing.ends[packing.count] = packing.at;
  packing.count++;
}

function writeBytes(packing: Packing, bytes: Uint8Array): void {
  reserve(packing, bytes.length);
  packing.bytes.set(bytes, packing.at);
  packing.at += bytes.length;
}

function writeText(packing: Packing, text: string): void {
  reserve(packing, 3 * text.length);
  packing.at += packing.bytes.write(text, packing.at);
}

function packed({ bytes, ends, at }: Packing): Packed {
  return { bytes: bytes.subarray(0, at), ends };
}

function matches(reference: string | undefined, filter: ReferenceFilter): boolean {
  return (
    (filter.reference === undefined || reference === filter.reference) &&
    (filter.referencePrefix === undefined || (reference?.startsWith(filter.referencePrefix) ?? false))
  );
}

/** Begins an item's JSON text: a comma behind another one, and the members before its data. */
function writeHead(texts: Packing, token: string, reference: string | undefined, storedAt: number): void {
  if (texts.at > 0) {
    reserve(texts, 1);
    texts.bytes[texts.at++] = COMMA;
  }
  const referenceText = reference === undefined ? '' : `,"reference":${JSON.stringify(reference)}`;
  writeText(
    texts,
    `{"token":${JSON.stringify(token)}${referenceText},"stored_at":"${formatStoredAt(storedAt)}"`,
  );
}

/** The handlers of `listItems` and `decryptItems`. */
export const PAGE_HANDLERS = {
  listItems(context, { params, page }) {
    const texts = createPacking(page.tokens.length, TEXT_BYTES * page.tokens.length);
    forEachItem(page, (token, storedAt, records) => {
      const meta = records.meta.length > 0 ? metaOf(context, params, token, records.meta) : undefined;
      if (meta && matches(meta.reference, params)) {
        writeHead(texts, token, meta.reference, storedAt);
        writeText(texts, '}');
      }
      endString(texts);
    });
    return packed(texts);
  },

  decryptItems(context, { params, opening, rules, page }) {
    const key = openKey(context, params, opening);
    if (!key) {
      return WARM_MISS;
    }
    const count = page.tokens.length;
    const stored = page.blobs.reduce((sum, blob) => sum + blob.length, 0);
    const texts = createPacking(count, stored + TEXT_BYTES * count);
    const logEntries = createEntries(page);
    const cards: (CardFacts | null)[] = [];
    const actor = { ...params, seen: 0 };
    forEachItem(page, (token, storedAt, records, bucket) => {
      const entries = logEntries[bucket] ?? rejectPage();
      const meta = records.meta.length > 0 ? metaOf(context, params, token, records.meta) : undefined;
      if (meta && matches(meta.reference, params)) {
        const { item, sad } = records;
        const text = openText(context, params, token, key, { item, meta, sad }, params.now);
        const view = viewOf(context, text, params, rules);
        writeHead(texts, token, meta.reference, storedAt);
        writeText(texts, ',"data":');
        writeBytes(texts, view.text);
        writeText(texts, '}');
        wipe(text, view.text);
        actor.seen = records.logLength;
        writeBytes(entries, logEntry(context, actor, token, 'decrypt', records.tail));
        cards.push(...(params.wantsCard ? [view.card ?? {}] : []));
      } else {
        cards.push(...(params.wantsCard ? [null] : []));
      }
      endString(texts);
      endString(entries);
    });
    return { kind: 'opened', texts: packed(texts), logEntries: logEntries.map(packed), cards };
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
