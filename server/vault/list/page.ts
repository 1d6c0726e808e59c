import type { Opening } from '../../../workers/jobs/key/jobs.ts';
import type { ItemFilter, Packed, PageFields } from '../../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../../core/clock.ts';
import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { KeyRef } from '../../key/opener.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { type AccountContext, actorOf } from '../../request/context.ts';
import type { Metering } from '../../request/metering.ts';
import type { ReadView } from '../reader.ts';
import type { BucketTokens, ItemStore } from '../store/items.ts';
import { mergePositions, type Placed, type Range } from './plan.ts';

/** Items in a first page: few where they are opened, so that the reply begins soon and unknown sizes do no harm. */
const PAGE_ITEMS_FIRST = { full: 32, meta: 512 } as const;
/** A page holds a thread for some milliseconds, and single items of others wait for it. */
const PAGE_ITEMS_MAX = 512;
/** Items of a page while other accounts are active. */
const PAGE_ITEMS_SHARED_MAX = 128;
/** The bytes that a page aims at; a stream holds a few pages, and there may be many streams. */
const PAGE_BYTES = 1_048_576;
const NO_BYTES = new Uint8Array(0);

/** The contents and bounds of the pages of a listing. */
export interface PageOptions {
  /** `full`: with the encrypted data; `meta`: without it. */
  readonly part: 'full' | 'meta';
  /** Items of the first page, if their number is known to be small. */
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
interface BucketItems extends BucketTokens {
  readonly indexes: readonly number[];
}

/** The opening of pages of items of one key. */
export interface PageOpening {
  readonly ctx: AccountContext;
  readonly key: KeyRef;
  readonly opening: Opening;
  readonly view: ReadView;
  /** The operation that each item is counted as. */
  readonly operation: 'decrypt' | 'retrieve';
}

/**
 * The part of a filter that the threads apply. The filter of a listing has more members, such as the passphrase of a request:
 * none of them reaches a job, where it could replace the account or the masks.
 */
export function itemFilter({
  reference,
  reference_prefix,
  metadata,
  last_four,
  expires_before,
}: ItemFilter): ItemFilter {
  return { reference, reference_prefix, metadata, last_four, expires_before };
}

/** Reads items page by page under fair queueing, so that requests of other accounts come between. */
export class ItemPages {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly metering: Metering,
    private readonly now: Clock,
  ) {}

  /**
   * Reads a range page by page. A page holds as many items as fit the bytes that a page aims at, estimated from the page
   * before it.
   */
  async *read(range: Range, options: PageOptions): AsyncGenerator<ItemPage> {
    const { part, itemsMax = PAGE_ITEMS_MAX, itemsFirst = PAGE_ITEMS_FIRST[part] } = options;
    const { key } = range;
    const positions = mergePositions(this.store, range);
    let size = Math.min(itemsMax, itemsFirst);
    let places: Placed[] = [];
    for (;;) {
      size = this.limiter.isAlone(key.aid) ? size : Math.min(size, PAGE_ITEMS_SHARED_MAX);
      await fill(places, positions, size);
      if (places.length === 0) {
        return;
      }
      const taken = places.slice(0, size);
      const page = await this.readOne(key, taken, part);
      if (page) {
        places = places.slice(taken.length);
        size = Math.min(itemsMax, nextSize(taken.length, page));
        yield page;
      } else {
        size = Math.max(1, Math.floor(size / 4));
      }
    }
  }

  /** Reads the items of one page; undefined when they are too many bytes. */
  async readOne(
    { aid, kid }: KeyRef,
    places: readonly Placed[],
    part: PageOptions['part'],
  ): Promise<ItemPage | undefined> {
    const { buckets, order } = divide(kid, places);
    const replies = await this.limiter.run('piece', aid, () => this.store.readMany(buckets, part));
    if (replies === undefined) {
      return undefined;
    }
    const fields: PageFields = {
      order,
      tokens: places.map(({ token }) => token),
      storedAt: Float64Array.from(places, ({ storedAt }) => storedAt),
      replies,
    };
    return { fields, places, buckets };
  }

  /**
   * Opens a page, then logs and counts the items that still exist. Returns the texts, for each item whether it was logged, and
   * the named items that failed.
   */
  async open(
    { ctx, key, opening, view: { rules, ...masks }, operation }: PageOpening,
    page: ItemPage,
    select: ItemFilter & { readonly named?: readonly (string | null)[] },
  ) {
    const { aid, kid } = key;
    const { named } = select;
    const now = this.now();
    const params = { aid, kid, ...actorOf(ctx, now), ...masks, ...itemFilter(select), named };
    const decrypt = ({ fields }: ItemPage) =>
      this.crypto.decryptItems({ params, opening, rules, page: fields });
    // The log field of an item of the first version looks damaged until it is complete.
    const again = async () => {
      await this.store.completeLogs(page.buckets);
      const completed = await this.readOne(key, page.places, 'full');
      return completed && decrypt(completed);
    };
    let opened = await decrypt(page).catch(async (error: unknown) => {
      if (!(error instanceof VaultError && error.code === 'integrity_failed')) {
        throw error;
      }
      // An item of a newer generation does not open.
      await this.checkFences(key, page);
      const retried = await again();
      if (retried === undefined) {
        throw error;
      }
      return retried;
    });
    if (opened.kind === 'opened' && opened.failed.some(({ code }) => code === 'integrity_failed')) {
      opened = (await again()) ?? opened;
    }
    if (opened.kind === 'warm_miss') {
      throw new VaultError('key_changed');
    }
    const { texts, cards, failed, logEntries } = opened;
    const isLogged = page.places.map(() => false);
    await this.log(key, page, logEntries, isLogged, now, this.metering.fieldOf(operation));
    const logged = isLogged.filter(Boolean).length;
    this.metering.counted(operation, logged);
    return { texts, cards, failed, isLogged, logged };
  }

  /** Rejects with `key_changed` if the generation of the key is no longer the newest. */
  async checkFences({ gen }: KeyRef, { buckets }: ItemPage): Promise<void> {
    const fences = await Promise.all(buckets.map(({ bucket }) => this.store.fenceOf(bucket, gen)));
    if (fences.some((fenced) => fenced !== undefined)) {
      throw new VaultError('key_changed');
    }
  }

  /**
   * Appends the log entries of a page, by bucket, and sets `isLogged` for each item that still exists and is logged; each is
   * counted. Rejects with `key_changed` if the generation of the key is no longer the newest.
   */
  private log(
    { aid, gen }: KeyRef,
    { buckets }: ItemPage,
    entries: readonly Packed[],
    isLogged: boolean[],
    readAt: number,
    count: string | undefined,
  ): Promise<unknown> {
    const append = async ({ bucket, indexes, tokens }: BucketItems, n: number): Promise<void> => {
      const outcome = await this.limiter.run('piece', aid, () =>
        this.store.appendLog(bucket, tokens, entries[n] ?? [], gen, count, readAt),
      );
      if (outcome.kind !== 'appended') {
        throw new VaultError('key_changed');
      }
      for (const [i, index] of indexes.entries()) {
        isLogged[index] = outcome.present[i] === true;
      }
    };
    return Promise.all(buckets.map(append));
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

/** Returns the size of the next page, after one of `items` items. */
function nextSize(items: number, { fields }: ItemPage): number {
  const bytes = fields.replies.reduce((sum, { length }) => sum + length, 1);
  const fitting = Math.floor((items * PAGE_BYTES) / bytes);
  return Math.max(1, Math.min(2 * items, PAGE_ITEMS_MAX, fitting));
}

/** Divides a page by bucket. `order` has for each item the index of its bucket in two bytes, big endian. */
function divide(kid: string, places: readonly Placed[]): { buckets: BucketItems[]; order: Uint8Array } {
  const order = new Uint8Array(2 * places.length);
  const buckets: (BucketItems & { index: number; indexes: number[]; tokens: string[] })[] = [];
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

/** Returns the string of an item of a page; empty for no item. */
export function stringAt({ bytes, ends }: Packed, index: number): Uint8Array {
  const from = index === 0 ? 0 : ends[index - 1];
  const to = ends[index];
  // A view costs as much as all else of a string, and most items have some empty ones.
  return from === to ? NO_BYTES : bytes.subarray(from, to);
}

/** Returns the JSON text of an item of a page, without the comma before each but the first. */
export function textAt(texts: Packed, index: number): Uint8Array {
  const isFirst = index === 0 || texts.ends[index - 1] === 0;
  return stringAt(texts, index).subarray(isFirst ? 0 : 1);
}

/** Counts the strings that are not empty. */
export function countOf({ ends }: Packed): number {
  let count = 0;
  let before = 0;
  for (const end of ends) {
    count += end > before ? 1 : 0;
    before = end;
  }
  return count;
}

/** Returns all texts of a page with commas between them, as one element of a list; an empty list for none. */
export function joinedTexts({ bytes }: Packed): readonly Uint8Array[] {
  return bytes.length === 0 ? [] : [bytes];
}
