import { bindParts } from '../core/bind.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Keys } from '../key/keys.ts';
import type { AccountContext } from '../request/context.ts';
import type { Removing } from './remover.ts';
import type { ItemStore } from './store/items.ts';

/** The most items that one call deletes: about a second of work. */
const ERASED_MAX = 10_000;

export interface EraseInput {
  readonly user: string;
  readonly reference: string;
  readonly next_token?: string | undefined;
}

/** How many items were deleted; with a token there are more. */
export interface Erased {
  readonly deleted: number;
  readonly nextToken?: string | undefined;
}

interface EraseParts {
  readonly crypto: Pick<Crypto, 'encodeReference'>;
  readonly itemStore: Pick<ItemStore, 'buckets' | 'positionsByMember'>;
  readonly keys: Pick<Keys, 'find'>;
  readonly removing: Removing;
  readonly cursors: Cursors;
  readonly erasedMax?: number;
}

/**
 * The tokens that the reference index has under any of these prefixes, those of other references with the same encoding
 * among them. While the root is rotated, entries move from the first prefix to the second.
 */
async function* candidates(
  { itemStore }: EraseParts,
  kid: string,
  prefixes: readonly Uint8Array[],
): AsyncGenerator<string, void, undefined> {
  for (let number = 0; number < itemStore.buckets; number++) {
    for (const prefix of prefixes) {
      for await (const positions of itemStore.positionsByMember({ kid, number }, 'references', prefix)) {
        for (const { token } of positions) {
          yield token;
        }
      }
    }
  }
}

async function take(tokens: AsyncGenerator<string, void, undefined>, max: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < max) {
    const { done, value } = await tokens.next();
    if (done) {
      break;
    }
    taken.push(value);
  }
  return taken;
}

/**
 * Deletes the items of a reference, each as a single deletion would. Nothing is remembered between calls: each begins with
 * what is left. An item that is stored meanwhile may stay. Rejects with `key_not_found` and `cursor_invalid`, and with
 * `integrity_failed` when a damaged item is all that is left.
 */
async function erase(
  parts: EraseParts,
  ctx: AccountContext,
  { user, reference, next_token: nextToken }: EraseInput,
): Promise<Erased> {
  const { crypto, cursors, keys, removing, erasedMax = ERASED_MAX } = parts;
  const { aid } = ctx.account;
  const scope = [aid, 'DELETE /v1/vault all', user, reference];
  if (nextToken !== undefined) {
    cursors.verify(scope, nextToken);
  }
  const { kid } = await keys.find(ctx.account, user);
  const prefixes = await crypto.encodeReference({ aid, reference, exact: true });
  const tokens = candidates(parts, kid, prefixes);
  let deleted = 0;
  let isDamaged = false;
  for (;;) {
    const found = await take(tokens, erasedMax - deleted);
    if (found.length === 0) {
      break;
    }
    const outcomes = await removing.remove(
      ctx,
      user,
      found.map((token) => ({ token, reference })),
      0,
    );
    deleted += outcomes.filter((outcome) => outcome === 'removed').length;
    isDamaged ||= outcomes.includes('integrity_failed');
    if (deleted >= erasedMax) {
      const more = await take(tokens, 1);
      await tokens.return();
      return { deleted, ...(more.length > 0 ? { nextToken: cursors.sign(scope, kid) } : {}) };
    }
  }
  if (isDamaged) {
    throw new VaultError('integrity_failed');
  }
  return { deleted };
}

/** How all items of a reference are deleted. */
export function createErasing(parts: EraseParts) {
  return bindParts(parts, { erase });
}
