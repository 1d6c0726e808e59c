import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { AccountContext } from '../request/context.ts';
import type { ItemRemover } from './remover.ts';
import type { ItemStore } from './store/items.ts';

/** Items that one call deletes: about a second of work. */
const ERASED_MAX = 10_000;

interface EraseInput {
  readonly user: string;
  readonly reference: string;
  readonly next_token?: string | undefined;
}

/** Deletes all items of a reference. */
export class Erasure {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly remover: ItemRemover,
    private readonly cursors: Cursors,
    private readonly erasedMax = ERASED_MAX,
  ) {}

  /**
   * Deletes the items of a reference, each as a single deletion would. Keeps no state between calls: each begins with the
   * items that are left. An item that is stored meanwhile may stay. Returns the number of deleted items; with a token there are
   * more. Rejects with `key_not_found` and `cursor_invalid`, and with `integrity_failed` when only damaged items are left.
   */
  async erase(
    ctx: AccountContext,
    { user, reference, next_token }: EraseInput,
  ): Promise<{ readonly deleted: number; readonly nextToken?: string }> {
    const { aid } = ctx.account;
    const scope = [aid, 'DELETE /v1/vault all', user, reference];
    if (next_token !== undefined) {
      this.cursors.verify(scope, next_token);
    }
    const { kid } = await this.keys.find(ctx.account, user);
    const prefixes = await this.crypto.encodeReference({ aid, reference, exact: true });
    const tokens = this.candidates(kid, prefixes);
    let deleted = 0;
    let isDamaged = false;
    for (;;) {
      const found = await take(tokens, this.erasedMax - deleted);
      if (found.length === 0) {
        break;
      }
      const items = found.map((token) => ({ token, reference }));
      const outcomes = await this.remover.remove(ctx, user, items, 0);
      deleted += outcomes.filter((outcome) => outcome === 'removed').length;
      isDamaged ||= outcomes.includes('integrity_failed');
      if (deleted >= this.erasedMax) {
        const more = await take(tokens, 1);
        await tokens.return(undefined);
        return more.length > 0 ? { deleted, nextToken: this.cursors.sign(scope, kid) } : { deleted };
      }
    }
    if (isDamaged) {
      throw new VaultError('integrity_failed');
    }
    return { deleted };
  }

  /**
   * Yields the tokens that the reference index has under any of these prefixes, including those of other references with the
   * same encoding. While the root is rotated, entries move from the first prefix to the second.
   */
  private async *candidates(kid: string, prefixes: readonly Uint8Array[]): AsyncGenerator<string, void> {
    for (let number = 0; number < this.store.buckets; number++) {
      for (const prefix of prefixes) {
        for await (const positions of this.store.positionsByMember({ kid, number }, 'references', prefix)) {
          for (const { token } of positions) {
            yield token;
          }
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
