/** Handlers of the jobs on pages of items in `jobs.ts`, which says what each promises. */
import { formatStoredAt } from '../../../server/domain/text/time-text.ts';
import { concat, EMPTY, IntegrityError, readBytes, readU32, utf8 } from '../../crypto/primitives/bytes.ts';
import type { ThreadHandlers } from '../context.ts';
import { openKey, WARM_MISS } from '../key/open.ts';
import type { CardFacts, ITEM_JOBS, ReferenceFilter, ThreadPage } from './jobs.ts';
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
const CLOSE = utf8('}');

/** The item at `head` of a bucket, and where the next one begins. */
function readItem(blob: Uint8Array, head: number): { readonly records: PageItem; readonly end: number } {
  let end = head + HEAD_BYTES;
  const [item = EMPTY, meta = EMPTY, tail = EMPTY, sad = EMPTY] = [0, 4, 8, 12].map((at) => {
    const part = readBytes(blob, end, readU32(blob, head + at));
    end += part.length;
    return part;
  });
  return { records: { item, meta, tail, sad, logLength: readU32(blob, head + 16) }, end };
}

/** The items of a page in its order, those that are gone without records. `IntegrityError` for a page that is cut. */
function* itemsOf({ order, tokens, storedAt, blobs }: ThreadPage): Generator<{
  readonly token: string;
  /** ms since 1970. */
  readonly storedAt: number;
  readonly records: PageItem | undefined;
}> {
  const bucketOf = new DataView(order.buffer, order.byteOffset, order.byteLength);
  const ends = blobs.map(() => 0);
  for (const [i, token] of tokens.entries()) {
    const bucket = bucketOf.getUint16(2 * i);
    const blob = blobs[bucket];
    if (!blob) {
      throw new IntegrityError('page');
    }
    const { records, end } = readItem(blob, ends[bucket] ?? 0);
    ends[bucket] = end;
    yield { token, storedAt: storedAt[i] ?? 0, records: records.meta.length === 0 ? undefined : records };
  }
}

function matches(reference: string | undefined, filter: ReferenceFilter): boolean {
  return (
    (filter.reference === undefined || reference === filter.reference) &&
    (filter.referencePrefix === undefined || (reference?.startsWith(filter.referencePrefix) ?? false))
  );
}

/** The members of an item's JSON text before its data, without the closing brace. */
function itemHead(token: string, reference: string | undefined, storedAt: number): string {
  const referenceText = reference === undefined ? '' : `,"reference":${JSON.stringify(reference)}`;
  return `{"token":${JSON.stringify(token)}${referenceText},"stored_at":"${formatStoredAt(storedAt)}"`;
}

/** The handlers of `listItems` and `decryptItems`. */
export const PAGE_HANDLERS = {
  listItems(context, { params, page }) {
    const texts: Uint8Array[] = [];
    for (const { token, storedAt, records } of itemsOf(page)) {
      const meta = records && metaOf(context, params, token, records.meta);
      const isWanted = meta && matches(meta.reference, params);
      texts.push(isWanted ? utf8(`${itemHead(token, meta.reference, storedAt)}}`) : EMPTY);
    }
    return texts;
  },

  decryptItems(context, { params, opening, rules, page }) {
    const key = openKey(context, params, opening);
    if (!key) {
      return WARM_MISS;
    }
    const texts: Uint8Array[] = [];
    const logEntries: Uint8Array[] = [];
    const cards: (CardFacts | null)[] = [];
    for (const { token, storedAt, records } of itemsOf(page)) {
      const meta = records && metaOf(context, params, token, records.meta);
      if (!meta || !matches(meta.reference, params)) {
        texts.push(EMPTY);
        logEntries.push(EMPTY);
        cards.push(...(params.wantsCard ? [null] : []));
        continue;
      }
      const { item, sad, logLength: seen, tail } = records;
      const text = openText(context, params, token, key, { item, meta, sad }, params.now);
      const view = viewOf(context, text, params, rules);
      const head = utf8(`${itemHead(token, meta.reference, storedAt)},"data":`);
      texts.push(concat([head, view.text, CLOSE]));
      logEntries.push(logEntry(context, { ...params, seen }, token, 'decrypt', tail));
      cards.push(...(params.wantsCard ? [view.card ?? {}] : []));
    }
    return { kind: 'opened', texts, logEntries, cards };
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
