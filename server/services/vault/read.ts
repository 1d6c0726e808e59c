import type { Opening } from '../../../workers/jobs/key/jobs.ts';
import type { RuleSet } from '../../../workers/jobs/rule/jobs.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { ItemStore } from '../../store/item.ts';
import { bindParts } from '../common/bind.ts';
import type { Clock } from '../common/clock.ts';
import { type Account, type AccountContext, actorOf, confirmAccount } from '../common/request-context.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/open.ts';
import type { Rules } from '../rule/rule.ts';
import { type CardMetadataSource, withCardMetadata } from './card.ts';

/** One item; `reference` is needed when it was stored with one. */
export interface ItemAddress {
  readonly user: string;
  readonly token: string;
  readonly reference?: string | undefined;
}

/** How data is changed before it is returned; what is omitted is the account's preference. */
export interface View {
  readonly mask_fields?: readonly string[] | undefined;
  readonly rules: readonly string[];
  readonly return_card_metadata?: boolean | undefined;
}

/** How data is changed before it is returned: forced masks, then rules, then masks of the named fields. */
export interface ReadView {
  readonly forcedMask: boolean;
  readonly rules: RuleSet;
  readonly maskFields: readonly string[];
  readonly wantsCard: boolean;
}

/** How an account's own reading changes data. Rejects a rule that does not exist at `query.rules`. */
export async function viewOf(
  rules: Pick<Rules, 'find'>,
  { aid, unmasked, preferences }: Account,
  view: View,
): Promise<ReadView> {
  return {
    rules: await rules.find(aid, view.rules, 'query.rules'),
    forcedMask: !unmasked,
    maskFields: view.mask_fields ?? preferences.mask_fields,
    wantsCard: view.return_card_metadata ?? preferences.return_card_metadata,
  };
}

interface ReadingParts {
  readonly crypto: Pick<Crypto, 'openItem'>;
  readonly itemStore: Pick<ItemStore, 'read' | 'bucketOf' | 'appendLog'>;
  readonly cards: CardMetadataSource;
  readonly now: Clock;
}

/** One reading of one item. */
interface ReadRequest {
  readonly token: string;
  readonly reference?: string | undefined;
  readonly view: ReadView;
  /** Called when the item is opened, right before its reading is logged. */
  readonly onOpened: () => void;
}

/** The object as JSON bytes, after its reading was logged; undefined when there is none. */
async function openOne(
  { crypto, itemStore, cards, now }: ReadingParts,
  ctx: AccountContext,
  { aid, kid, gen }: KeyRef,
  opening: Opening,
  { token, reference, view, onOpened }: ReadRequest,
): Promise<Done<Uint8Array | undefined> | Retry> {
  const item = await itemStore.read(kid, token, gen);
  if (item?.kind !== 'item') {
    return item ?? done(undefined);
  }
  const { rules, ...masks } = view;
  const ids = { aid, kid, token, reference, seen: item.logLength };
  const params = { ...actorOf(ctx, now()), ...ids, ...masks };
  const out = await crypto.openItem({ params, opening, rules, item });
  if (out.kind === 'warm_miss') {
    return out;
  }
  await confirmAccount(ctx);
  onOpened();
  const logged = await itemStore.appendLog(itemStore.bucketOf(kid, token), [token], [out.logEntry], gen);
  if (logged.kind !== 'appended') {
    return logged;
  }
  if (!logged.present[0]) {
    return done(undefined);
  }
  const isBare = !masks.wantsCard || Object.keys(out.card).length === 0;
  return done(isBare ? out.text : withCardMetadata(out.text, await cards.of(out.card)));
}

/** How one item is read, by whichever way its key was opened. */
export function createReading(parts: ReadingParts) {
  return bindParts(parts, { openOne });
}

export type Reading = ReturnType<typeof createReading>;
