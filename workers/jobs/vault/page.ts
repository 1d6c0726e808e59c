/** Handlers of the jobs on pages of items, documented in `jobs.ts`. */
import { hasPairs } from '../../../server/domain/mask/metadata.ts';
import { formatExpiry, formatStoredAt } from '../../../server/domain/text/time.ts';
import type { OpenedMeta } from '../../crypto/item/meta.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import { EMPTY, IntegrityError, readBytes, wipe } from '../../crypto/primitives/bytes.ts';
import { TAG_BYTES } from '../../crypto/primitives/symmetric.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { In } from '../define.ts';
import { toFailure } from '../failure.ts';
import { withKey } from '../key/open.ts';
import type { CardFacts, ITEM_JOBS, ItemFault, ItemFilter, Packed, ThreadPage } from './jobs.ts';
import { checkLive, checkReference, foundMeta, logEntry, metadataOf, metaOf, openText } from './records.ts';
import { viewOf } from './view.ts';

/** Bytes of an item's text besides the data, token and reference: names and time. */
const TEXT_BYTES = 128;
/** A sealed log entry with a user agent of usual length. */
const ENTRY_BYTES = 256;
/** RESP2: a list, a byte string, the end of the line of either's length. */
const LIST = 0x2a;
const BULK = 0x24;
const MINUS = 0x2d;
const LINE_END_BYTES = 2;
const CR = 0x0d;
const ZERO = 0x30;
const LOG_LENGTH_MAX = 0xffff_fffe;

/** A place in the replies: the items are read one after the other. */
export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
}

function rejectPage(): never {
  throw new IntegrityError('page');
}

/** Reads the decimal number from `at` up to `end`. */
function readDecimal(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  for (let i = at; i < end; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9 || value > LOG_LENGTH_MAX) {
      rejectPage();
    }
    value = 10 * value + digit;
  }
  return end > at ? value : rejectPage();
}

/** Takes the length at the start of a list or a byte string; 0 for a missing one. */
function takeLength(cursor: Cursor, marker: number): number {
  const { bytes, at } = cursor;
  let end = at + 1;
  while (bytes[end] !== CR && end < bytes.length) {
    end++;
  }
  cursor.at = end + LINE_END_BYTES;
  if (bytes[at] !== marker || cursor.at > bytes.length) {
    rejectPage();
  }
  return bytes[at + 1] === MINUS ? 0 : readDecimal(bytes, at + 1, end);
}

function takeBytes(cursor: Cursor): Uint8Array {
  const isMissing = cursor.bytes[cursor.at + 1] === MINUS;
  const length = takeLength(cursor, BULK);
  if (isMissing) {
    return EMPTY;
  }
  const part = readBytes(cursor.bytes, cursor.at, length);
  cursor.at += length + LINE_END_BYTES;
  return part;
}

function takeList(cursor: Cursor, length: number): void {
  if (takeLength(cursor, LIST) !== length) {
    rejectPage();
  }
}

/** Takes a list of byte strings; missing ones are empty. */
export function takeStrings(cursor: Cursor, length: number): readonly Uint8Array[] {
  takeList(cursor, length);
  return Array.from({ length }, () => takeBytes(cursor));
}

/** Takes an item with its data; `sad` may be empty. Rejects a log whose newest entry must be looked up: the page is read again by script. */
function takeItem(cursor: Cursor) {
  takeList(cursor, 3);
  const item = takeBytes(cursor);
  const meta = takeBytes(cursor);
  const log = takeBytes(cursor);
  takeList(cursor, 1);
  const sad = takeBytes(cursor);
  const tailAt = Math.max(0, log.length - TAG_BYTES);
  const logLength = meta.length === 0 ? 0 : readDecimal(log, 0, tailAt || log.length);
  if (logLength > (tailAt === 0 ? 0 : LOG_LENGTH_MAX)) {
    rejectPage();
  }
  return { item, meta, sad, log, tailAt, logLength };
}

type PageItem = ReturnType<typeof takeItem>;

/** The last bytes of a log on their way into an entry: a view of each would cost more than its copy. */
const tail = new Uint8Array(TAG_BYTES);

function tailOf({ log, tailAt }: PageItem): Uint8Array {
  for (let i = 0; i < TAG_BYTES; i++) {
    tail[i] = log[tailAt + i] ?? 0;
  }
  return tail;
}

/** The items of a page. A page that is not whole is read again. */
function takeItems({ tokens, replies }: ThreadPage): readonly PageItem[] {
  const cursor: Cursor = { bytes: replies, at: 0 };
  const items = tokens.map(() => takeItem(cursor));
  endReplies(cursor);
  return items;
}

/** Byte strings that are written one after the other. */
interface Packing {
  bytes: Buffer;
  readonly ends: Uint32Array;
  at: number;
  /** Strings so far, the empty ones included. */
  count: number;
}

/** Creates room for `count` strings of `bytes` in all, which grows if needed. */
export function createPacking(count: number, bytes: number): Packing {
  return { bytes: Buffer.alloc(bytes), ends: new Uint32Array(count), at: 0, count: 0 };
}

/** Returns the index of the bucket of an item. */
function bucketAt({ order }: ThreadPage, index: number): number {
  return ((order[2 * index] ?? 0) << 8) | (order[2 * index + 1] ?? 0);
}

/** Creates room for the log entries of the items of each bucket of a page. */
function createEntries(page: ThreadPage): readonly Packing[] {
  const items: number[] = [];
  for (let i = 0; i < page.tokens.length; i++) {
    const bucket = bucketAt(page, i);
    items[bucket] = (items[bucket] ?? 0) + 1;
  }
  return Array.from(items, (count = 0) => createPacking(count, ENTRY_BYTES * count));
}

/** Makes room for more bytes. Wipes the old buffer, which may contain card data. */
function reserve(packing: Packing, extra: number): void {
  const { bytes, at } = packing;
  if (at + extra > bytes.length) {
    packing.bytes = Buffer.alloc(2 * (at + extra));
    packing.bytes.set(bytes.subarray(0, at));
    wipe(bytes);
  }
}

/** Ends a string, which is empty if nothing was written. */
export function endString(packing: Packing): void {
  packing.ends[packing.count] = packing.at;
  packing.count++;
}

export function writeBytes(packing: Packing, bytes: Uint8Array): void {
  reserve(packing, bytes.length);
  packing.bytes.set(bytes, packing.at);
  packing.at += bytes.length;
}

function writeText(packing: Packing, text: string): void {
  reserve(packing, 3 * text.length);
  packing.at += packing.bytes.write(text, packing.at);
}

export function packed({ bytes, ends, at }: Packing): Packed {
  return { bytes: bytes.subarray(0, at), ends };
}

/** Returns true if an item exists and matches a filter. */
function matches(meta: OpenedMeta, filter: ItemFilter & { readonly now: number }): boolean {
  const { reference, expiresAtMs } = meta;
  const { metadata, reference_prefix: prefix, expires_before: before } = filter;
  return (
    (expiresAtMs === undefined || expiresAtMs > filter.now) &&
    (filter.reference === undefined || reference === filter.reference) &&
    (prefix === undefined || reference?.startsWith(prefix) === true) &&
    (before === undefined || (expiresAtMs !== undefined && expiresAtMs < before)) &&
    (metadata === undefined || hasPairs(metadataOf(meta), metadata))
  );
}

/** Writes the start of an item's JSON text, up to `rest`: a comma after another item, and the members before its data. */
function writeHead(
  texts: Packing,
  token: string,
  { reference, expiresAtMs, metadata, summary }: OpenedMeta,
  storedAt: number,
  rest: ',"data":' | '}',
): void {
  const comma = texts.at > 0 ? ',' : '';
  const referenceText = reference === undefined ? '' : `,"reference":${JSON.stringify(reference)}`;
  const expiry = expiresAtMs === undefined ? '' : `,"expires_at":"${formatExpiry(expiresAtMs)}"`;
  const metadataText = metadata === undefined ? '' : `,"metadata":${metadata}`;
  const card = summary === undefined ? '' : `,"card":${summary}`;
  const head = `${comma}{"token":${JSON.stringify(token)}${referenceText},"stored_at":"`;
  writeText(texts, `${head}${formatStoredAt(storedAt)}"${expiry}${metadataText}${card}${rest}`);
}

/** Checks that all of the replies were read. */
export function endReplies({ bytes, at }: Cursor): void {
  if (at !== bytes.length) {
    rejectPage();
  }
}

/** Returns the result for one of several items; an error that a single one would be rejected with is its fault. */
export function resultOrFault<T>(failed: ItemFault[], index: number, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    const { code } = toFailure(error);
    if (code === 'internal') {
      throw error;
    }
    failed.push({ index, code });
    return undefined;
  }
}

type DecryptJob = In<(typeof ITEM_JOBS)['decryptItems']>;

/** Returns the metadata of a wanted item; undefined for one that is left out. */
function wantedMeta(
  context: ThreadContext,
  { params, page }: DecryptJob,
  index: number,
  record: Uint8Array,
): OpenedMeta | undefined {
  const token = page.tokens[index] ?? '';
  if (params.named !== undefined) {
    const meta = foundMeta(context, params, token, record);
    checkLive(meta, params.now);
    checkReference(meta, params.named[index] ?? undefined, 'check');
    return meta;
  }
  const meta = record.length > 0 ? metaOf(context, params, token, record) : undefined;
  return meta && matches(meta, params) ? meta : undefined;
}

/** Opens the items of a page one after the other, and collects their strings. */
class PageOpener {
  private readonly cards: (CardFacts | null)[] = [];
  private readonly failed: ItemFault[] = [];
  private readonly texts: Packing;
  private readonly logEntries: readonly Packing[];
  /** The actor of all log entries: a copy for each entry would take a twentieth of a page's time. */
  private readonly actor: DecryptJob['params'] & { seen: number };

  constructor(
    private readonly context: ThreadContext,
    private readonly job: DecryptJob,
    private readonly items: readonly PageItem[],
    private readonly key: UnlockedKey,
  ) {
    const { tokens, replies } = job.page;
    this.texts = createPacking(tokens.length, replies.length + TEXT_BYTES * tokens.length);
    this.logEntries = createEntries(job.page);
    this.actor = { ...job.params, seen: 0 };
  }

  openAll() {
    const { job, texts, logEntries, cards, failed } = this;
    try {
      for (const [i, item] of this.items.entries()) {
        this.add(job.page.tokens[i] ?? '', i, item);
      }
    } catch (error) {
      wipe(texts.bytes);
      throw error;
    }
    return {
      kind: 'opened',
      texts: packed(texts),
      logEntries: logEntries.map(packed),
      cards,
      failed,
    } as const;
  }

  /** Opens the next item and writes its strings, which are empty for an item that is left out or has failed. */
  private add(token: string, index: number, item: PageItem): void {
    const { texts } = this;
    const { params, page } = this.job;
    const entries = this.logEntries[bucketAt(page, index)] ?? rejectPage();
    const open = () => this.open(token, index, item);
    const made = params.named === undefined ? open() : resultOrFault(this.failed, index, open);
    if (made !== undefined) {
      const { meta, view, entry, text } = made;
      if (params.named === undefined) {
        writeHead(texts, token, meta, page.storedAt[index] ?? 0, ',"data":');
      } else {
        writeText(texts, `${texts.at > 0 ? ',' : ''}{"token":${JSON.stringify(token)},"data":`);
      }
      writeBytes(texts, view.text);
      writeText(texts, '}');
      wipe(text, view.text);
      writeBytes(entries, entry);
    }
    if (params.wantsCard) {
      this.cards.push(made ? (made.view.card ?? {}) : null);
    }
    endString(texts);
    endString(entries);
  }

  /** Returns the text of the next item and its log entry; undefined for an item that is left out. */
  private open(token: string, index: number, read: PageItem) {
    const { context, job, actor } = this;
    const { params, rules } = job;
    const { item, sad } = read;
    const meta = wantedMeta(context, job, index, read.meta);
    if (meta === undefined) {
      return undefined;
    }
    const text = openText(context, params, token, this.key, { item, meta, sad }, params.now);
    try {
      const view = viewOf(context, text, params, rules);
      actor.seen = read.logLength;
      return { meta, view, entry: logEntry(context, actor, token, 'decrypt', tailOf(read)), text };
    } catch (error) {
      wipe(text);
      throw error;
    }
  }
}

export const PAGE_HANDLERS = {
  listItems(context, { params, page }) {
    const { tokens, storedAt, replies } = page;
    const texts = createPacking(tokens.length, TEXT_BYTES * tokens.length);
    const cursor: Cursor = { bytes: replies, at: 0 };
    for (const [i, token] of tokens.entries()) {
      takeList(cursor, 1);
      const record = takeBytes(cursor);
      const meta = record.length > 0 ? metaOf(context, params, token, record) : undefined;
      if (meta && matches(meta, params)) {
        writeHead(texts, token, meta, storedAt[i] ?? 0, '}');
      }
      endString(texts);
    }
    endReplies(cursor);
    return packed(texts);
  },

  decryptItems(context, job) {
    const items = takeItems(job.page);
    return withKey(context, job.params, job.opening, items, (key) =>
      new PageOpener(context, job, items, key).openAll(),
    );
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
