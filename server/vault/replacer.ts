import type { StoredParts } from '../../workers/jobs/vault/jobs.ts';
import { createKeyedMutex } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/opener.ts';
import type { TokenInfo } from './schema.ts';
import type { ItemStore, StoredItem } from './store/items.ts';
import { type ItemWriter, writeOf } from './writer.ts';

/** Attempts to change an item while other requests change it. */
export const CHANGED_TRIES_MAX = 20;

/** `changed` when another request has changed the item meanwhile. */
export type Replaced = { readonly kind: 'written'; readonly info: TokenInfo } | { readonly kind: 'changed' };

/** Changes stored items, of routes and of endpoints. */
export class ItemReplacer {
  /** Changes of one item run one after the other, so that simultaneous ones do not overtake each other without end. */
  private readonly turns = createKeyedMutex();

  constructor(
    private readonly store: ItemStore,
    private readonly writer: ItemWriter,
  ) {}

  /** Writes an item that was sealed again over the one that was read. A seed that was written already changes nothing. */
  async writeOver(
    { kid, user }: KeyRef,
    before: StoredItem,
    sealed: StoredParts,
    seed: string | undefined,
  ): Promise<Done<Replaced> | Retry> {
    const outcome = await this.store.write(kid, { ...writeOf(sealed, seed), replaces: before.meta });
    switch (outcome.kind) {
      case 'ok':
        return done({ kind: 'written', info: await this.writer.tokenInfo(sealed.facts, user, outcome) });
      case 'closed':
      case 'stale':
        return outcome;
      case 'changed':
        return done({ kind: 'changed' });
      case 'damaged':
        throw new VaultError('integrity_failed');
      default:
        throw new VaultError('internal');
    }
  }

  /**
   * Repeats an attempt while other requests change the item. Rejects with `token_not_found` if it does not exist, and with
   * `overloaded` when it changes faster than it can be read.
   */
  async untilWritten(
    { aid, user }: Pick<KeyRef, 'aid' | 'user'>,
    token: string,
    attempt: () => Promise<Replaced | undefined>,
  ): Promise<TokenInfo> {
    for (let tries = 0; tries < CHANGED_TRIES_MAX; tries++) {
      const result = await this.turns(`${aid} ${user} ${token}`, attempt);
      if (result === undefined) {
        throw new VaultError('token_not_found');
      }
      if (result.kind === 'written') {
        return result.info;
      }
    }
    throw new VaultError('overloaded');
  }
}
