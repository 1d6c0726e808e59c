import type { PageFields } from '../../../workers/jobs/vault/jobs.ts';
import type { KeyRef } from '../../key/opener.ts';
import type { Admission } from '../../limits/admission.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { ItemStore } from '../store/items.ts';
import { mergePositions, type Placed, type Range } from './range.ts';

/** Items in a first page: few where they are opened, so that the reply begins soon and unknown sizes do no harm. */
const PAGE_ITEMS_FIRST = { full: 32, meta: 512 } as const;
/** A page holds a thread for some milliseconds, and single items of others wait for it. */
const PAGE_ITEMS_MAX = 512;
/** Items of a page while there are others. */
const PAGE_ITEMS_SHARED_MAX = 128;
/** The bytes that a page aims at; a stream holds a few pages, and there may be many streams. */
const PAGE_BYTES = 1_048_576;

/** What the pages of a listing hold, and what bounds them. */
export interface PageOptions {
  /** `full`: with the encrypted data; `meta`: without it. */
  readonly part: 'full' | 'meta';
  /** Items of the first page, where their number is known to be small. */
  readonly itemsFirst?: number | undefined;
  readonly itemsMax?: number | undefined;
}

/** A piece of a listing that goes to a thread as one job. */
export interface ItemPage {
  readonly fields: PageFields;
  readonly places: readonly Placed[];
  readonly buckets: readonly BucketItems[];
}

/** The items of a page that one bucket holds: their indexes in the page, and their tokens. */
interface BucketItems {
  readonly bucket: Bucket;
  readonly indexes: readonly number[];
  readonly tokens: readonly string[];
}

/** What pages are read with. */
export interface ItemPageParts {
  readonly itemStore: Pick<ItemStore, 'readMany' | 'readManyAgain' | 'positions'>;
  /** Bounds what listings do at once, so that requests of others come between. */
  readonly admission: Pick<Admission, 'isAlone' | 'piece'>;
}

/**
 * Reads a range page by page. A page holds as many items as fit the bytes that a page aims at, as far as the page before
 * it tells.
 */
export async function* readItemPages(
  parts: ItemPageParts,
  range: Range,
  options: PageOptions,
): AsyncGenerator<ItemPage> {
  const { part, itemsMax = PAGE_ITEMS_MAX, itemsFirst = PAGE_ITEMS_FIRST[part] } = options;
  const { key } = range;
  const positions = mergePositions(parts.itemStore, range);
  let size = Math.min(itemsMax, itemsFirst);
  let places: Placed[] = [];
  for (;;) {
    size = parts.admission.isAlone(key.aid) ? size : Math.min(size, PAGE_ITEMS_SHARED_MAX);
    await fill(places, positions, size);
    if (places.length === 0) {
      return;
    }
    const taken = places.slice(0, size);
    const page = await readItemPage(parts, key, taken, part);
    if (page) {
      places = places.slice(taken.length);
      size = Math.min(itemsMax, nextSize(taken.length, page));
      yield page;
    } else {
      size = Math.max(1, Math.floor(size / 4));
    }
  }
}

async function fill(
  places: Placed[],
  positions: AsyncGenerator<readonly Placed[]>,
  size: number,
): Promise<void> {
  while (places.length < size) {
    const { done, value } = await positions.next();
    if (done) {
      return;
    }
    places.push(...value);
  }
}

/** How many items the next page should have, after one of so many items. */
function nextSize(items: number, { fields }: ItemPage): number {
  const fitting = Math.floor((items * PAGE_BYTES) / Math.max(fields.replies.length, 1));
  return Math.max(1, Math.min(2 * items, PAGE_ITEMS_MAX, fitting));
}

/** Reads the items of one page; undefined when they are too many bytes. */
export async function readItemPage(
  {
    itemStore,
    admission,
  }: Pick<ItemPageParts, 'admission'> & { readonly itemStore: Pick<ItemStore, 'readMany'> },
  { aid, kid }: Pick<KeyRef, 'aid' | 'kid'>,
  places: readonly Placed[],
  part: PageOptions['part'],
): Promise<ItemPage | undefined> {
  const replies = await admission.piece(aid, () => itemStore.readMany(kid, places, part));
  if (replies === undefined) {
    return undefined;
  }
  const { buckets, order } = divide(kid, places);
  const fields: PageFields = {
    order,
    tokens: places.map(({ token }) => token),
    storedAt: Float64Array.from(places, ({ storedAt }) => storedAt),
    replies,
  };
  return { fields, places, buckets };
}

/** Divides a page by bucket. `order` has for each item the index of its bucket in two bytes, big endian. */
function divide(kid: string, places: readonly Placed[]): { buckets: BucketItems[]; order: Uint8Array } {
  const order = new Uint8Array(2 * places.length);
  const buckets: { index: number; bucket: Bucket; indexes: number[]; tokens: string[] }[] = [];
  const byNumber: (typeof buckets)[number][] = [];
  for (const [index, { token, bucket: number }] of places.entries()) {
    let found = byNumber[number];
    if (!found) {
      found = { index: buckets.length, bucket: { kid, number }, indexes: [], tokens: [] };
      byNumber[number] = found;
      buckets.push(found);
    }
    found.indexes.push(index);
    found.tokens.push(token);
    order[2 * index] = found.index >> 8;
    order[2 * index + 1] = found.index;
  }
  return { buckets, order };
}
