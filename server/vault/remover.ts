import type { RemovalParams } from '../../workers/jobs/log-heads/jobs.ts';
import type { ItemRef } from '../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../core/clock.ts';
import { eachOf, pause } from '../core/concurrency.ts';
import type { Cursors } from '../core/cursors.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { CLOSED_PAUSE_MS, type KeyOpener, type KeyRef } from '../key/opener.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { stringAt } from './list/page.ts';
import type { ItemRemoval, ItemStore } from './store/items.ts';
import { CHANGED_TRIES_MAX } from './writer.ts';

/** Items of one bucket that are read, checked and deleted together: a few milliseconds of Redis. */
const PIECE_ITEMS = 128;
/** Buckets at once. The pieces of one bucket run one after the other, so that of an item named twice the first is deleted. */
const BUCKETS_AT_ONCE = 4;
/** Byte strings of each item in the output of the job `proveRemovals`. */
const STRINGS = 4;

/** Items that one call of `erase` deletes: about a second of work. */
const ERASED_MAX = 10_000;

/** The outcome of a deletion: done, or failed with this code. */
type RemovedOrNot = 'removed' | ErrorCode;

interface ItemsOfReference {
  readonly user: string;
  readonly reference: string;
  readonly next_token?: string | undefined;
}

/** Deletes items on request. */
export class ItemRemover {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly keys: KeyOpener,
    private readonly metering: Metering,
    private readonly cursors: Cursors,
    private readonly now: Clock,
    private readonly erasedMax = ERASED_MAX,
  ) {}

  /**
   * Deletes items with their logs, each independently, and counts each deleted one. Returns the outcome of each. Items that
   * have expired by `now`, ms since 1970, do not exist; with 0 they are deleted like the others. Rejects with
   * `key_not_found`, and with `overloaded` when an item changes faster than it can be read.
   */
  async remove(
    ctx: AccountContext,
    user: string,
    items: readonly ItemRef[],
    now: number,
  ): Promise<readonly RemovedOrNot[]> {
    const outcomes = new Map<ItemRef, RemovedOrNot>();
    const isSingle = items.length === 1;
    let left = items;
    for (let tries = 0; left.length > 0; tries++) {
      if (tries === CHANGED_TRIES_MAX) {
        throw new VaultError('overloaded');
      }
      const key = await this.keys.find(ctx.account, user);
      const again: ItemRef[] = [];
      let isClosed = false;
      const removeIn = async ([number, all]: readonly [number, readonly ItemRef[]]): Promise<void> => {
        for (let at = 0; at < all.length; at += PIECE_ITEMS) {
          const piece = all.slice(at, at + PIECE_ITEMS);
          const rest = await this.removePiece(ctx, key, number, piece, outcomes, now, isSingle);
          isClosed ||= rest === 'closed';
          again.push(...(rest === 'closed' ? piece : rest));
          this.metering.counted('delete', piece.filter((item) => outcomes.get(item) === 'removed').length);
        }
      };
      const byBucket = Map.groupBy(left, ({ token }) => this.store.bucketOf(key.kid, token).number);
      await eachOf(byBucket, removeIn, BUCKETS_AT_ONCE);
      left = again;
      if (isClosed) {
        await pause(CLOSED_PAUSE_MS);
      }
    }
    return items.map((item) => outcomes.get(item) ?? 'integrity_failed');
  }

  /**
   * Deletes the items of a reference, each as a single deletion would. Keeps no state between calls: each begins with the
   * items that are left. An item that is stored meanwhile may stay. Returns the number of deleted items; with a token there are
   * more. Rejects with `key_not_found` and `cursor_invalid`, and with `integrity_failed` when only damaged items are left.
   */
  async erase(
    ctx: AccountContext,
    { user, reference, next_token }: ItemsOfReference,
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
      const outcomes = await this.remove(ctx, user, items, 0);
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

  /** Deletes items of one bucket, and returns those that changed meanwhile. `closed`: nothing was deleted. */
  private async removePiece(
    { credentialId = '', requestId }: AccountContext,
    { aid, kid }: KeyRef,
    number: number,
    piece: readonly ItemRef[],
    outcomes: Map<ItemRef, RemovedOrNot>,
    now: number,
    isSingle: boolean,
  ): Promise<'closed' | readonly ItemRef[]> {
    // Fair queueing with listings; a single item is short work and does not wait.
    const run = <T>(work: () => Promise<T>) => (isSingle ? work() : this.limiter.run('piece', aid, work));
    const tokens = piece.map(({ token }) => token);
    const references = piece.map(({ reference }) => reference ?? null);
    const replies = await run(() => this.store.readMany([{ bucket: { kid, number }, tokens }], 'log'));
    const cause = { timeMs: this.now(), credential: credentialId, requestId };
    const versions = piece.map(({ ifMatch }) => ifMatch ?? null);
    const params = { aid, kid, tokens, references, versions, now, cause };
    const proven = await proveRemovals(this.crypto, params, replies);
    const removals: ItemRemoval[] = [];
    const provenItems: ItemRef[] = [];
    for (const [i, item] of piece.entries()) {
      const removal = proven.removals[i] ?? 'internal';
      if (typeof removal === 'string') {
        outcomes.set(item, removal);
      } else {
        removals.push(removal);
        provenItems.push(item);
      }
    }
    const removed =
      removals.length === 0
        ? []
        : await run(() =>
            this.store.remove({ kid, number }, removals, this.metering.fieldOf('delete'), proven.cause),
          );
    if (removed === 'closed') {
      return removed;
    }
    for (const [i, item] of provenItems.entries()) {
      if (removed[i] === 'ok') {
        outcomes.set(item, 'removed');
      } else if (removed[i] !== 'changed') {
        outcomes.set(item, removed[i] === 'missing' ? 'token_not_found' : 'integrity_failed');
      }
    }
    return provenItems.filter((_, i) => removed[i] === 'changed');
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

/** For each item its removal, or the code of an item that may not be removed; and the sealed cause, if one was given. */
interface ProvenRemovals {
  readonly removals: readonly (ItemRemoval | ErrorCode)[];
  readonly cause: Uint8Array | undefined;
}

/** Proves the removals of the items that the store has read (`replies`). */
export async function proveRemovals(
  crypto: Crypto,
  params: RemovalParams,
  [replies]: readonly Uint8Array[] = [],
): Promise<ProvenRemovals> {
  if (replies === undefined) {
    throw new VaultError('integrity_failed'); // no metadata is so large
  }
  const { failed, parts: strings, cause } = await crypto.proveRemovals({ params, replies });
  const codes = new Map(failed.map(({ index, code }) => [index, code]));
  const removals = params.tokens.map(
    (token, i) =>
      codes.get(i) ?? {
        token,
        metaTag: stringAt(strings, STRINGS * i),
        firstTag: stringAt(strings, STRINGS * i + 1),
        proof: stringAt(strings, STRINGS * i + 2),
        refMember: stringAt(strings, STRINGS * i + 3),
      },
  );
  return { removals, cause };
}
