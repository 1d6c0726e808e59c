import type { Opening } from '../../workers/jobs/key/jobs.ts';
import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import type { ItemRef, ViewParams } from '../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { type Done, done, type KeyOpener, type KeyRef, type Retry } from '../key/opener.ts';
import type { Fenced } from '../redis/records/fence.ts';
import { type Account, type AccountContext, actorOf, rejectAbandoned } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { Rules } from '../rule/rules.ts';
import { type CardMetadataSource, withCardMetadata } from './card-metadata.ts';
import type { ItemParts, ItemStore } from './store/items.ts';

/** Names one item by its key. */
export interface ItemAddress extends ItemRef {
  readonly user: string;
}

/** Changes of data before it is returned, as requested; an omitted one is the account's preference. */
export interface View {
  readonly mask_fields?: readonly string[] | undefined;
  readonly rules: readonly string[];
  readonly return_card_metadata?: boolean | undefined;
}

/** Changes of data before it is returned: forced masks, then rules, then masks of the named fields. */
export interface ReadView extends ViewParams {
  readonly rules: RuleSet;
}

/** One reading of one item. */
interface ReadRequest extends ItemRef {
  readonly view: ReadView;
  /** The operation that the reading and its request are counted as. */
  readonly operation: 'decrypt' | 'retrieve';
}

/** Reads the parts of an item, as `ItemStore.read`. */
export type ReadParts = (kid: string, token: string) => Promise<ItemParts | undefined>;

/** Reads single items, of accounts and of retrieval endpoints. */
export class ItemReader {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly cards: CardMetadataSource,
    private readonly metering: Metering,
    private readonly now: Clock,
  ) {}

  /** Returns the object as JSON bytes, after its reading was logged; undefined if it does not exist. */
  async openOne(
    ctx: AccountContext,
    key: KeyRef,
    opening: Opening,
    { token, reference, view, operation }: ReadRequest,
  ): Promise<Done<Uint8Array | undefined> | Retry> {
    const { aid, kid } = key;
    const { rules, forcedMask, maskFields, wantsCard } = view;
    const now = this.now();
    const out = await this.readAndOpen(key, token, (item) => {
      const params = {
        ...actorOf(ctx, now),
        ...{ aid, kid, token, reference, seen: item.logLength },
        ...{ forcedMask, maskFields, wantsCard },
      };
      return this.crypto.openItem({ params, opening, rules, item });
    });
    if (out.kind !== 'opened') {
      return out;
    }
    rejectAbandoned(ctx);
    const count = this.metering.requestFieldOf(operation);
    const logged = await this.store.appendOne(kid, token, out.logEntry, key.gen, count, now);
    if (logged.kind !== 'appended') {
      return logged;
    }
    if (!logged.present[0]) {
      return done(undefined);
    }
    this.metering.requestCounted(ctx, operation);
    ctx.version = out.version;
    const isBare = !wantsCard || Object.keys(out.card).length === 0;
    return done(isBare ? out.text : withCardMetadata(out.text, await this.cards.of(out.card)));
  }

  /**
   * Checks that an item exists, and that its caller may address it. No passphrase is involved. Rejects with
   * `token_not_found` and `reference_required`.
   */
  async check({ aid, kid }: KeyRef, { token, reference }: ItemRef): Promise<void> {
    const read = await this.store.read(kid, token);
    if (read === undefined) {
      throw new VaultError('token_not_found');
    }
    const params = { aid, kid, token, rule: 'check', reference, now: this.now() } as const;
    await this.crypto.describeItem({ params, meta: read.meta });
  }

  /** Reads an item and opens it by `open`. The fence says why an item is missing, or does not open, if its key has changed. */
  async readAndOpen<Opened>(
    { kid, gen }: KeyRef,
    token: string,
    open: (item: ItemParts) => Promise<Opened>,
    readParts?: ReadParts,
  ): Promise<Opened | Fenced | Done<undefined>> {
    const fenceOf = () => this.store.fenceOf(this.store.bucketOf(kid, token), gen);
    const item = await (readParts ? readParts(kid, token) : this.store.read(kid, token));
    if (item === undefined) {
      return (await fenceOf()) ?? done(undefined);
    }
    try {
      return await open(item);
    } catch (error) {
      const isDamaged = error instanceof VaultError && error.code === 'integrity_failed';
      const fenced = isDamaged ? await fenceOf() : undefined;
      if (fenced === undefined) {
        throw error;
      }
      return fenced;
    }
  }

  /**
   * Starts reads of items that a request may need, if their key is unlocked: an unlock would take too long. The returned
   * function returns each item that was found once, for the same key alone; any other read is a new one.
   */
  startReads(account: Account, user: string, tokens: readonly string[]): ReadParts {
    const known = this.keys.recallId(account, user);
    const reads = new Map(
      known === undefined
        ? []
        : tokens.map((token) => [token, this.store.read(known, token).catch(() => undefined)]),
    );
    return async (kid, token) => {
      const read = kid === known ? reads.get(token) : undefined;
      reads.delete(token);
      return (await read) ?? this.store.read(kid, token);
    };
  }
}

/** Returns the changes for an account's own reading. Rejects a rule that does not exist at `field`. */
export async function viewOf(
  rules: Rules,
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
