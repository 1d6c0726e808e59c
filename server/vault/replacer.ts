import type { StoredParts } from '../../workers/jobs/vault/jobs.ts';
import { bindParts } from '../core/bind.ts';
import { createKeyedMutex } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/opener.ts';
import type { TokenInfo } from './schema.ts';
import type { ItemStore, StoredItem } from './store/items.ts';
import { type Storing, writeOf } from './writer.ts';

/** How often an item may change between reading it and writing it. */
export const CHANGED_TRIES_MAX = 20;

interface ReplacingDependencies {
  readonly itemStore: Pick<ItemStore, 'write'>;
  readonly storing: Pick<Storing, 'tokenInfo'>;
}

interface Parts extends ReplacingDependencies {
  /** Changes of one item one after the other, so that those of one moment do not overtake each other without end. */
  readonly turns: ReturnType<typeof createKeyedMutex>;
}

/** `changed` when another request has changed the item meanwhile. */
export type Replaced = { readonly kind: 'written'; readonly info: TokenInfo } | { readonly kind: 'changed' };

/** Writes an item that was sealed again over the one that was read. With the seed of a write that took place, nothing happens. */
async function writeOver(
  { itemStore, storing }: Parts,
  { kid, user }: KeyRef,
  before: StoredItem,
  sealed: StoredParts,
  seed: string | undefined,
): Promise<Done<Replaced> | Retry> {
  const outcome = await itemStore.write(kid, { ...writeOf(sealed, seed), replaces: before.meta });
  switch (outcome.kind) {
    case 'ok':
      return done({ kind: 'written', info: await storing.tokenInfo(sealed.facts, user, outcome) });
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
 * Repeats an attempt while others change the item. Rejects with `token_not_found` when there is none, and with `overloaded`
 * when it changes faster than it can be read.
 */
async function untilWritten(
  { turns }: Parts,
  { aid, user }: Pick<KeyRef, 'aid' | 'user'>,
  token: string,
  attempt: () => Promise<Replaced | undefined>,
): Promise<TokenInfo> {
  for (let tries = 0; tries < CHANGED_TRIES_MAX; tries++) {
    const result = await turns(`${aid} ${user} ${token}`, attempt);
    if (result === undefined) {
      throw new VaultError('token_not_found');
    }
    if (result.kind === 'written') {
      return result.info;
    }
  }
  throw new VaultError('overloaded');
}

/** How items are changed in their place, by whoever may. */
export function createReplacing(dependencies: ReplacingDependencies) {
  return bindParts({ ...dependencies, turns: createKeyedMutex() }, { writeOver, untilWritten });
}

export type Replacing = ReturnType<typeof createReplacing>;
