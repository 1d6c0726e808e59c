/** Handlers of the jobs on pages of items, documented in `jobs.ts`. */
import { hasPairs } from '../../../server/domain/mask/metadata.ts';
import { formatExpiry, formatStoredAt } from '../../../server/domain/text/time.ts';
import type { OpenedMeta } from '../../crypto/item/meta.ts';
import { generationOf, type UnlockedKey } from '../../crypto/key/unlocked.ts';
import { tagOf } from '../../crypto/log/entry.ts';
import {
  viewOf as bytesAt,
  EMPTY,
  IntegrityError,
  openedOrNot,
  wipe,
} from '../../crypto/primitives/bytes.ts';
import { TAG_BYTES } from '../../crypto/primitives/symmetric.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { In } from '../define.ts';
import { toFailure } from '../failure.ts';
import type { KeyName } from '../key/jobs.ts';
import { withKey } from '../key/open.ts';
import type { CardFacts, ITEM_JOBS, ItemFault, ItemFilter, Packed, ThreadPage } from './jobs.ts';
import {
  checkLive,
  checkReference,
  differsInSummary,
  foundMeta,
  logEntry,
  metadataOf,
  metaOf,
  openText,
  resealStored,
  summaryOf,
} from './records.ts';
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
/** The end of an item's text. */
const CLOSE = Uint8Array.of(0x7d);
/** Strings of each item of a page with data: those of its list, and its codes after the lists of all. */
const LISTED_STRINGS = 3;
const ITEM_STRINGS = LISTED_STRINGS + 1;
/** Strings of an item that was sealed again, or not. */
const NOT_RESEALED = [EMPTY, EMPTY, EMPTY, EMPTY, EMPTY];
const RESEALED_STRINGS = NOT_RESEALED.length;
/** Places of metadata and log field in the list of an item; the item itself is the first. */
const META_AT = 1;
const LOG_AT = 2;

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

/** The byte strings of replies in RESP2, in their order; lists are no more than their members. */
export class ReplyStrings {
  /** The start and the end of each; both are 0 for a missing one. */
  private readonly places: Uint32Array;

  /** Rejects replies with another number of strings. */
  constructor(
    private readonly bytes: Uint8Array,
    count: number,
  ) {
    const places = new Uint32Array(2 * count);
    let found = 0;
    let at = 0;
    while (at < bytes.length) {
      const marker = bytes[at];
      const isMissing = bytes[at + 1] === MINUS;
      const from = at + 1;
      for (at = from; bytes[at] !== CR && at < bytes.length; ) {
        at++;
      }
      const lineEnd = at;
      at += LINE_END_BYTES;
      if (marker === BULK) {
        if (!isMissing) {
          places[2 * found] = at;
          at += readDecimal(bytes, from, lineEnd);
          places[2 * found + 1] = at;
          at += LINE_END_BYTES;
        }
        found++;
      } else if (marker !== LIST) {
        rejectPage();
      }
    }
    if (at !== bytes.length || found !== count) {
      rejectPage();
    }
    this.places = places;
  }

  /** Returns a view of a string; empty for a missing one. */
  at(index: number): Uint8Array {
    const start = this.places[2 * index] ?? 0;
    const end = this.places[2 * index + 1] ?? 0;
    return end === start ? EMPTY : bytesAt(this.bytes, start, end - start);
  }

  /** Reads a log field: returns the length, and copies the last bytes of the newest entry. Rejects a field without them. */
  logAt(index: number, tail: Uint8Array): number {
    const start = this.places[2 * index] ?? 0;
    const end = this.places[2 * index + 1] ?? 0;
    const tailAt = end - TAG_BYTES;
    const length = readDecimal(this.bytes, start, tailAt);
    if (length > LOG_LENGTH_MAX) {
      rejectPage();
    }
    for (let i = 0; i < TAG_BYTES; i++) {
      tail[i] = this.bytes[tailAt + i] ?? 0;
    }
    return length;
  }
}

/** The strings of the items of one bucket, of which the next one is `at`. */
interface BucketStrings {
  readonly strings: ReplyStrings;
  readonly count: number;
  at: number;
}

/** Counts the items of each bucket of a page. */
function countItems(page: ThreadPage): readonly number[] {
  const counts = page.replies.map(() => 0);
  for (let i = 0; i < page.tokens.length; i++) {
    const bucket = bucketAt(page, i);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return counts.length === page.replies.length ? counts : rejectPage();
}

/** Reads the replies of each bucket of a page, which have `width` strings for each item. */
function readBuckets(page: ThreadPage, width: number): readonly BucketStrings[] {
  const counts = countItems(page);
  return page.replies.map((replies, bucket) => {
    const count = counts[bucket] ?? 0;
    return { strings: new ReplyStrings(replies, width * count), count, at: 0 };
  });
}

/** An item as it is stored; `sad` may be empty. `first` is the place of its first string among those of its bucket. */
interface PageItem {
  readonly strings: ReplyStrings;
  readonly first: number;
  readonly item: Uint8Array;
  readonly sad: Uint8Array;
}

function readItems(page: ThreadPage): readonly PageItem[] {
  const buckets = readBuckets(page, ITEM_STRINGS);
  return page.tokens.map((_, i) => {
    const bucket = buckets[bucketAt(page, i)] ?? rejectPage();
    const { strings, count } = bucket;
    const at = bucket.at++;
    const first = LISTED_STRINGS * at;
    return { strings, first, item: strings.at(first), sad: strings.at(LISTED_STRINGS * count + at) };
  });
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
  const { metadata, last_four: lastFour, reference_prefix: prefix, expires_before: before } = filter;
  return (
    (expiresAtMs === undefined || expiresAtMs > filter.now) &&
    (filter.reference === undefined || reference === filter.reference) &&
    (prefix === undefined || reference?.startsWith(prefix) === true) &&
    (before === undefined || (expiresAtMs !== undefined && expiresAtMs < before)) &&
    (metadata === undefined || hasPairs(metadataOf(meta), metadata)) &&
    (lastFour === undefined || summaryOf(meta)?.last_four === lastFour)
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
  private readonly tail = new Uint8Array(TAG_BYTES);
  /** The actor of all log entries: a copy for each entry would take a twentieth of a page's time. */
  private readonly actor: DecryptJob['params'] & { seen: number };

  constructor(
    private readonly context: ThreadContext,
    private readonly job: DecryptJob,
    private readonly items: readonly PageItem[],
    private readonly key: UnlockedKey,
  ) {
    const { tokens, replies } = job.page;
    const bytes = replies.reduce((sum, { length }) => sum + length, TEXT_BYTES * tokens.length);
    this.texts = createPacking(tokens.length, bytes);
    this.logEntries = countItems(job.page).map((count) => createPacking(count, ENTRY_BYTES * count));
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
      writeBytes(texts, CLOSE);
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
  private open(token: string, index: number, { strings, first, item, sad }: PageItem) {
    const { context, job, actor, tail } = this;
    const { params, rules } = job;
    const meta = wantedMeta(context, job, index, strings.at(first + META_AT));
    if (meta === undefined) {
      return undefined;
    }
    actor.seen = strings.logAt(first + LOG_AT, tail);
    const text = openText(context, params, token, this.key, { item, meta, sad }, params.now);
    try {
      const view = viewOf(context, text, params, rules);
      return { meta, view, entry: logEntry(context, actor, token, 'decrypt', tail), text };
    } catch (error) {
      wipe(text);
      throw error;
    }
  }
}

/** Opens the metadata of an item that exists; undefined for one that is gone, has expired or is damaged. */
function keptMeta(
  context: ThreadContext,
  params: KeyName & { readonly now: number },
  token: string,
  record: Uint8Array,
): OpenedMeta | undefined {
  const meta = record.length > 0 ? openedOrNot(() => metaOf(context, params, token, record)) : undefined;
  const isOver = meta?.expiresAtMs !== undefined && meta.expiresAtMs <= params.now;
  return isOver ? undefined : meta;
}

export const PAGE_HANDLERS = {
  listItems(context, { params, page }) {
    const { tokens, storedAt } = page;
    const texts = createPacking(tokens.length, TEXT_BYTES * tokens.length);
    const buckets = readBuckets(page, 1);
    for (const [i, token] of tokens.entries()) {
      const bucket = buckets[bucketAt(page, i)] ?? rejectPage();
      const record = bucket.strings.at(bucket.at++);
      const meta = record.length > 0 ? metaOf(context, params, token, record) : undefined;
      if (meta && matches(meta, params)) {
        writeHead(texts, token, meta, storedAt[i] ?? 0, '}');
      }
      endString(texts);
    }
    return packed(texts);
  },

  countUnsealed(context, { params, page }) {
    const buckets = readBuckets(page, 1);
    let count = 0;
    for (const [i, token] of page.tokens.entries()) {
      const bucket = buckets[bucketAt(page, i)] ?? rejectPage();
      const meta = keptMeta(context, params, token, bucket.strings.at(bucket.at++));
      const isUnsealed = meta && (meta.gen < params.gen || differsInSummary(meta, params.wantsSummary));
      count += isUnsealed ? 1 : 0;
    }
    return count;
  },

  resealItems(context, { params, opening, page }) {
    const items = readItems(page);
    return withKey(context, params, opening, items, (key) => {
      const { gen } = generationOf(key);
      const bytes = page.replies.reduce((sum, { length }) => sum + length, 0);
      const parts = createPacking(RESEALED_STRINGS * items.length, bytes);
      for (const [i, { strings, first, item, sad }] of items.entries()) {
        const token = page.tokens[i] ?? '';
        const record = strings.at(first + META_AT);
        const meta = keptMeta(context, params, token, record);
        // A damaged item stays as it is.
        const sealed =
          meta && openedOrNot(() => resealStored(context, params, token, key, gen, { item, meta, sad }));
        const written = sealed
          ? [tagOf(record), sealed.item, sealed.meta, sealed.sad ?? EMPTY, sealed.digests]
          : NOT_RESEALED;
        for (const part of written) {
          writeBytes(parts, part);
          endString(parts);
        }
      }
      return { kind: 'resealed', parts: packed(parts) } as const;
    });
  },

  decryptItems(context, job) {
    const items = readItems(job.page);
    return withKey(context, job.params, job.opening, items, (key) =>
      new PageOpener(context, job, items, key).openAll(),
    );
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
