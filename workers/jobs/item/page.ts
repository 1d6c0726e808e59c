/** Handlers of the jobs on pages of items in `jobs.ts`, which says what each promises. */
import { formatStoredAt } from '../../../server/domain/text/time-text.ts';
import { concat, EMPTY, utf8 } from '../../crypto/primitives/bytes.ts';
import type { ThreadHandlers } from '../context.ts';
import { openKey, WARM_MISS } from '../key/open.ts';
import type { CardFacts, ITEM_JOBS, ReferenceFilter } from './jobs.ts';
import { itemsOf } from './page-reader.ts';
import { logEntry, metaOf, openText } from './records.ts';
import { viewOf } from './view.ts';

const CLOSE = utf8('}');

function matches(reference: string | undefined, filter: ReferenceFilter): boolean {
  return (
    (filter.reference === undefined || reference === filter.reference) &&
    (filter.referencePrefix === undefined || (reference?.startsWith(filter.referencePrefix) ?? false))
  );
}

function itemHead(token: string, reference: string | undefined, storedAt: number): string {
  const referenceText = reference === undefined ? '' : `,"reference":${JSON.stringify(reference)}`;
  return `{"token":${JSON.stringify(token)}${referenceText},"stored_at":"${formatStoredAt(storedAt)}"`;
}

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
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
    using key = openKey(context, params, opening);
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
