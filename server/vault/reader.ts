import type { Opening } from '../../workers/jobs/key/jobs.ts';
import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Keys } from '../key/keys.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/opener.ts';
import type { Fenced } from '../redis/records/fence.ts';
import { type Account, type AccountContext, actorOf, confirmAccount } from '../request/context.ts';
import type { Rules } from '../rule/rules.ts';
import { type CardMetadataSource, withCardMetadata } from './card-metadata.ts';
import type { ItemParts, ItemStore } from './store/items.ts';

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

/** How an account's own reading changes data. Rejects a rule that does not exist at `field`. */
export async function viewOf(
  rules: Pick<Rules, 'find'>,
  { aid, unmasked, preferences }: Account,
  view: View,
  field = 'query.rules',
): Promise<ReadView> {
  return {
    rules: await rules.find(aid, view.rules, field),
    forcedMask: !unmasked,
    maskFields: view.mask_fields ?? preferences.mask_fields,
    wantsCard: view.return_card_metadata ?? preferences.return_card_metadata,
  };
}

interface ReadingParts {
  readonly crypto: Pick<Crypto, 'openItem'>;
  readonly itemStore: Pick<ItemStore, 'readParts' | 'read' | 'bucketOf' | 'appendLog'>;
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

function openParts(
  { crypto, now }: ReadingParts,
  ctx: AccountContext,
  { aid, kid }: KeyRef,
  opening: Opening,
  { token, reference, view }: ReadRequest,
  item: ItemParts,
) {
  const { rules, forcedMask, maskFields, wantsCard } = view;
  const params = {
    ...actorOf(ctx, now()),
    ...{ aid, kid, token, reference, seen: item.logLength },
    ...{ forcedMask, maskFields, wantsCard },
  };
  return crypto.openItem({ params, opening, rules, item });
}

/** Reads the parts of an item. */
export type ReadParts = ItemStore['readParts'];

/**
 * Starts reads of items that a request may need, where their key is unlocked: unlocking would take too long. The returned
 * function gives each of these reads once, for the same key alone; any other read is a new one.
 */
export function startReads(
  {
    keys,
    itemStore,
  }: { readonly keys: Pick<Keys, 'recallId'>; readonly itemStore: Pick<ItemStore, 'readParts'> },
  account: Account,
  user: string,
  tokens: readonly string[],
): ReadParts {
  const known = keys.recallId(account, user);
  const reads = new Map<string, ReturnType<ReadParts>>();
  if (known !== undefined) {
    for (const token of tokens) {
      reads.set(
        token,
        itemStore.readParts(known, token).catch(() => undefined),
      );
    }
  }
  return (kid, token) => {
    const read = kid === known ? reads.get(token) : undefined;
    reads.delete(token);
    return read ?? itemStore.readParts(kid, token);
  };
}

/**
 * Reads an item and opens it by `open`. The first read is not one step: what does not open, and what seems to be missing, is
 * read again as it is at one moment.
 */
export async function readAndOpen<Opened>(
  itemStore: Pick<ItemStore, 'read' | 'readParts'>,
  { kid, gen }: KeyRef,
  token: string,
  open: (item: ItemParts) => Promise<Opened>,
  readParts: ReadParts = itemStore.readParts,
): Promise<Opened | Fenced | Done<undefined>> {
  const found = await readParts(kid, token);
  const opened = found && (await recover(open(found), 'integrity_failed', undefined));
  if (opened !== undefined) {
    return opened;
  }
  const item = await itemStore.read(kid, token, gen);
  return item?.kind === 'item' ? open(item) : (item ?? done(undefined));
}

/** The object as JSON bytes, after its reading was logged; undefined when there is none. */
async function openOne(
  parts: ReadingParts,
  ctx: AccountContext,
  key: KeyRef,
  opening: Opening,
  request: ReadRequest,
): Promise<Done<Uint8Array | undefined> | Retry> {
  const { itemStore, cards } = parts;
  const { token, view } = request;
  const out = await readAndOpen(itemStore, key, token, (item) =>
    openParts(parts, ctx, key, opening, request, item),
  );
  if (out.kind !== 'opened') {
    return out;
  }
  await confirmAccount(ctx);
  request.onOpened();
  const bucket = itemStore.bucketOf(key.kid, token);
  const logged = await itemStore.appendLog(bucket, [token], [out.logEntry], key.gen);
  if (logged.kind !== 'appended') {
    return logged;
  }
  if (!logged.present[0]) {
    return done(undefined);
  }
  const isBare = !view.wantsCard || Object.keys(out.card).length === 0;
  return done(isBare ? out.text : withCardMetadata(out.text, await cards.of(out.card)));
}

/** How one item is read, by whichever way its key was opened. */
export function createReading(parts: ReadingParts) {
  return bindParts(parts, { openOne });
}

export type Reading = ReturnType<typeof createReading>;
