import type { Crypto, Opening, RuleSet } from '../../crypto/client.ts';
import type { ItemStore } from '../../store/item.ts';
import type { Clock } from '../common/clock.ts';
import { type AccountContext, actorOf } from '../common/request-context.ts';
import type { KeyRef, Retry } from '../key/open.ts';
import { type CardMetadataSource, withCardMetadata } from './card.ts';

/** One item; `reference` is needed when it was stored with one. */
export interface ItemAddress {
  readonly user: string;
  readonly token: string;
  readonly reference?: string | undefined;
}

/** What happens to data on its way out; what is left out is the account's preference. */
export interface View {
  readonly mask_fields?: readonly string[] | undefined;
  readonly rules: readonly string[];
  readonly return_card_metadata?: boolean | undefined;
}

/** What happens to data on its way out: forced masks, then rules, then masks of the fields named. */
export interface ReadView {
  readonly forcedMask: boolean;
  readonly rules: RuleSet;
  readonly maskFields: readonly string[];
  readonly wantsCard: boolean;
}

/** Reading one item, whoever has opened its key. */
export interface Reading {
  /** The object as JSON bytes, after its reading was logged. */
  readonly openOne: (
    ctx: AccountContext,
    key: KeyRef,
    opening: Opening,
    item: {
      readonly token: string;
      readonly reference?: string | undefined;
      readonly view: ReadView;
      /** Called when the item is opened, right before its reading is logged. */
      readonly onOpened: () => void;
    },
  ) => Promise<Uint8Array | 'missing' | Retry>;
}

export function createReading({
  crypto,
  itemStore,
  cards,
  now,
}: {
  readonly crypto: Pick<Crypto, 'openItem'>;
  readonly itemStore: Pick<ItemStore, 'read' | 'bucketOf' | 'appendLog'>;
  readonly cards: CardMetadataSource;
  readonly now: Clock;
}): Reading {
  return {
    async openOne(ctx, key, opening, { token, reference, view, onOpened }) {
      const read = await itemStore.read(key.kid, token, key.gen);
      if (!read) {
        return 'missing';
      }
      if (read.kind !== 'item') {
        return read;
      }
      const { rules, ...masks } = view;
      const ids = { aid: key.aid, kid: key.kid, token, reference, seen: read.logLength };
      const params = { ...actorOf(ctx, now()), ...ids, ...masks };
      const out = await crypto.openItem({ params, opening, rules, item: read });
      if (out.kind === 'warm_miss') {
        return out;
      }
      onOpened();
      const bucket = itemStore.bucketOf(key.kid, token);
      const logged = await itemStore.appendLog(bucket, [token], [out.logEntry], key.gen);
      if (logged.kind !== 'appended') {
        return logged;
      }
      if (!logged.present[0]) {
        return 'missing';
      }
      const isBare = !masks.wantsCard || Object.keys(out.card).length === 0;
      return isBare ? out.text : withCardMetadata(out.text, await cards.of(out.card));
    },
  };
}
