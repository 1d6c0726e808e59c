import { VaultError } from '../../core/errors.ts';
import type { PageFields } from '../../crypto/client.ts';
import type { ItemStore, Position } from '../../store/item.ts';
import type { Bucket } from '../../store/records/name.ts';
import { createGate } from '../common/coalesce.ts';
import { mergePositions, type Placed, type Range } from './plan.ts';

/** Items in a first page: few where they are opened, so that the reply begins soon and unknown sizes do no harm. */
const PAGE_ITEMS_FIRST = { full: 32, meta: 512 } as const;
const PAGE_ITEMS_MAX = 1_024;
/** What a page should come to; a stream holds a few pages, and there may be many streams. */
const PAGE_BYTES = 1_048_576;
/** Pages that are read from Redis at once, for all listings together, so that other requests come between. */
const READS_MAX = 4;

/** What bounds the pages of a listing. */
export interface PageLimits {
  /** The generation of the key that the reader knows; without it whatever is there is read. */
  readonly gen?: number | undefined;
  readonly itemsMax?: number | undefined;
}

/** A piece of a listing that goes to a thread as one job. */
export interface Page {
  readonly fields: PageFields;
  /** The page's items by the bucket that they lie in. */
  readonly byBucket: () => readonly { readonly bucket: Bucket; readonly indexes: readonly number[] }[];
}

function groupByBucket(kid: string, places: readonly Placed[]) {
  const groups = new Map<number, number[]>();
  for (const [index, place] of places.entries()) {
    const group = groups.get(place.bucket);
    if (group) {
      group.push(index);
    } else {
      groups.set(place.bucket, [index]);
    }
  }
  return [...groups].map(([number, indexes]) => ({ bucket: { kid, number }, indexes }));
}

/** Reads ranges page by page; what a page holds is bounded in items and in bytes. */
export function createPageReader(itemStore: Pick<ItemStore, 'readMany' | 'positions'>) {
  /** Undefined when the items are too many bytes for one page. */
  const read = async (
    kid: string,
    places: readonly Placed[],
    part: 'full' | 'meta',
    gen?: number,
  ): Promise<Page | undefined> => {
    const groups = groupByBucket(kid, places);
    const order = new DataView(new ArrayBuffer(2 * places.length));
    for (const [n, { indexes }] of groups.entries()) {
      for (const index of indexes) {
        order.setUint16(2 * index, n);
      }
    }
    const reads = await Promise.all(
      groups.map(({ bucket, indexes }) => {
        const tokens = indexes.map((index) => places[index]?.token ?? '');
        return itemStore.readMany(bucket, tokens, part, gen);
      }),
    );
    const good: Uint8Array[] = [];
    for (const found of reads) {
      if (found.kind === 'too_large') {
        return undefined;
      }
      if (found.kind !== 'items') {
        throw new VaultError('key_changed');
      }
      good.push(found.blob);
    }
    const fields: PageFields = {
      order: new Uint8Array(order.buffer),
      tokens: places.map(({ token }) => token),
      storedAt: Float64Array.from(places, ({ storedAt }) => storedAt),
      blobs: good,
    };
    return { fields, byBucket: () => groups };
  };

  const oneOfFew = createGate(READS_MAX);

  /** How many items the next page should have, after one of so many items and bytes. */
  const nextSize = (items: number, page: Page): number => {
    const bytes = page.fields.blobs.reduce((sum, blob) => sum + blob.length, 0);
    return Math.max(
      1,
      Math.min(2 * items, PAGE_ITEMS_MAX, Math.floor((items * PAGE_BYTES) / Math.max(bytes, 1))),
    );
  };

  async function* pages(
    range: Range,
    part: 'full' | 'meta',
    { gen, itemsMax = PAGE_ITEMS_MAX }: PageLimits,
  ): AsyncGenerator<Page> {
    const { kid } = range.key;
    let size = Math.min(itemsMax, PAGE_ITEMS_FIRST[part]);
    let places: Placed[] = [];
    const drain = async function* (whole: boolean): AsyncGenerator<Page> {
      while (places.length >= size || (whole && places.length > 0)) {
        const taken = places.slice(0, size);
        const page = await oneOfFew(() => read(kid, taken, part, gen));
        if (page) {
          places = places.slice(taken.length);
          size = Math.min(itemsMax, nextSize(taken.length, page));
          yield page;
        } else {
          size = Math.max(1, Math.floor(size / 4));
        }
      }
    };
    for await (const place of mergePositions(itemStore, range)) {
      places.push(place);
      if (places.length >= size) {
        yield* drain(false);
      }
    }
    yield* drain(true);
  }

  return Object.assign(pages, {
    /** A page of one item. */
    async one(bucket: Bucket, position: Position): Promise<Page> {
      const page = await read(bucket.kid, [{ ...position, bucket: bucket.number }], 'meta');
      if (!page) {
        throw new VaultError('internal');
      }
      return page;
    },
  });
}
