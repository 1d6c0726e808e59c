import { formatStoredAt } from '../../server/domain/text/time-text.ts';
import { concat, IntegrityError } from '../crypto/primitives/bytes.ts';
import { type Fields, field, type Handler, paramsOf, toBytes, toJsonBytes } from './context.ts';
import { logEntry, metaOf, openText, viewOf } from './items.ts';
import { withKey } from './keys.ts';
import type { CardFacts, DecryptItemsParams, ListParams, ReferenceFilter } from './kinds.ts';

const HEAD_BYTES = 20;

interface RawItem {
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly tail: Uint8Array;
  readonly sad: Uint8Array;
  readonly logLength: number;
}

/** Reads the records of one bucket's blob one after another (see the store's script that writes it). */
function createBlobReader(blob: Uint8Array): () => RawItem | undefined {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  let at = 0;
  const take = (length: number): Uint8Array => {
    if (at + length > blob.length) {
      throw new IntegrityError('item blob');
    }
    at += length;
    return blob.subarray(at - length, at);
  };
  return () => {
    const head = at;
    take(HEAD_BYTES);
    const lengths = [0, 4, 8, 12].map((offset) => view.getUint32(head + offset)) as [
      number,
      number,
      number,
      number,
    ];
    const found = {
      item: take(lengths[0]),
      meta: take(lengths[1]),
      tail: take(lengths[2]),
      sad: take(lengths[3]),
    };
    return found.meta.length === 0 ? undefined : { ...found, logLength: view.getUint32(head + 16) };
  };
}

interface Page {
  readonly tokens: readonly string[];
  readonly storedAt: Float64Array;
  /** The next item, in the page's order. */
  next(index: number): RawItem | undefined;
}

/** A page is: which bucket each item comes from (u16 each), tokens (JSON), stored_at (f64 each), a blob per bucket. */
function readPage(fields: Fields, from: number): Page {
  const order = field(fields, from);
  const bucketOf = new DataView(order.buffer, order.byteOffset, order.byteLength);
  const tokens = JSON.parse(new TextDecoder().decode(field(fields, from + 1))) as string[];
  const storedAt = new Float64Array(field(fields, from + 2).slice().buffer);
  const readers = fields.slice(from + 3).map(createBlobReader);
  return {
    tokens,
    storedAt,
    next(index) {
      const reader = readers[bucketOf.getUint16(2 * index)];
      if (!reader) {
        throw new IntegrityError('page');
      }
      return reader();
    },
  };
}

const matches = (reference: string | undefined, filter: ReferenceFilter): boolean =>
  (filter.reference === undefined || reference === filter.reference) &&
  (filter.referencePrefix === undefined || (reference?.startsWith(filter.referencePrefix) ?? false));

/** Byte strings laid end to end, and where each begins. */
function slices(parts: readonly Uint8Array[]): [Uint8Array, Uint8Array] {
  const offsets = new Uint32Array(parts.length + 1);
  let at = 0;
  for (const [i, part] of parts.entries()) {
    at += part.length;
    offsets[i + 1] = at;
  }
  return [concat(parts), new Uint8Array(offsets.buffer)];
}

function itemHead(token: string, reference: string | undefined, storedAt: number): string {
  const referenceText = reference === undefined ? '' : `,"reference":${JSON.stringify(reference)}`;
  return `{"token":${JSON.stringify(token)}${referenceText},"stored_at":"${formatStoredAt(storedAt)}"`;
}

const GONE = new Uint8Array(0);
const CLOSE = toBytes('}');

export const listItems: Handler = (context, fields) => {
  const params = paramsOf<ListParams>(fields);
  const page = readPage(fields, 1);
  const parts = page.tokens.map((token, i) => {
    const raw = page.next(i);
    if (!raw) {
      return GONE;
    }
    const { reference } = metaOf(context, params, token, raw.meta);
    return matches(reference, params)
      ? toBytes(`${itemHead(token, reference, page.storedAt[i] ?? 0)}}`)
      : GONE;
  });
  return slices(parts);
};

/** Opens a page. An item that is gone has no log entry and no text; the caller leaves it out. */
export const decryptItems: Handler = (context, fields) => {
  const params = paramsOf<DecryptItemsParams>(fields);
  return withKey(context, params, fields, (key) => {
    const page = readPage(fields, 4);
    const texts: Uint8Array[] = [];
    const entries: Uint8Array[] = [];
    const cards: CardFacts[] = [];
    for (const [i, token] of page.tokens.entries()) {
      const raw = page.next(i);
      const meta = raw && metaOf(context, params, token, raw.meta);
      if (!raw || !meta || !matches(meta.reference, params)) {
        texts.push(GONE);
        entries.push(GONE);
        continue;
      }
      const text = openText(context, params, token, key, { item: raw.item, meta, sad: raw.sad }, params.now);
      const view = viewOf(context, text, params, field(fields, 3));
      texts.push(
        concat([
          toBytes(`${itemHead(token, meta.reference, page.storedAt[i] ?? 0)},"data":`),
          view.text,
          CLOSE,
        ]),
      );
      entries.push(logEntry(context, { ...params, seen: raw.logLength }, token, 'decrypt', raw.tail));
      if (params.wantsCard) {
        cards[i] = view.card ?? {};
      }
    }
    return [...slices(texts), ...slices(entries), toJsonBytes(cards)];
  });
};
