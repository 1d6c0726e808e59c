import type { RemovalParams } from '../../workers/jobs/log-heads/jobs.ts';
import type { ItemFault } from '../../workers/jobs/vault/jobs.ts';
import { mapAhead, pause } from '../core/concurrency.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { CLOSED_PAUSE_MS, type KeyOpener, type KeyRef } from '../key/opener.ts';
import type { Admission } from '../limits/admission.ts';
import type { Bucket } from '../redis/records/name.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { stringAt } from './list/page.ts';
import { CHANGED_TRIES_MAX } from './replacer.ts';
import type { ItemRemoval, ItemStore } from './store/items.ts';

/** Items of one bucket that are read, checked and deleted together: a few milliseconds of Redis. */
const PIECE_ITEMS = 128;
/** Buckets at once. The pieces of one bucket run one after the other, so that of an item named twice the first is deleted. */
const BUCKETS_AHEAD = 4;
/** Byte strings of each item in the output of the job `proveRemovals`. */
const STRINGS = 4;

/** An item that is to be deleted; `reference` is needed when it was stored with one. */
interface RemovedItem {
  readonly token: string;
  readonly reference?: string | undefined;
}

/** The outcome of a deletion: done, or failed with this code. */
export type RemovedOrNot = 'removed' | ErrorCode;

/** Items of one bucket, by their places among all. */
interface Piece {
  readonly bucket: Bucket;
  readonly indexes: readonly number[];
}

/** The removals of a piece, and the items of it that may not be removed. */
interface Proven {
  readonly failed: readonly ItemFault[];
  readonly removals: readonly ItemRemoval[];
}

/** Deletes items on request. */
export class ItemRemover {
  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly admission: Admission,
    private readonly keys: KeyOpener,
    private readonly metering: Metering,
  ) {}

  /**
   * Deletes items with their logs, each independently, and counts each deleted one. Returns the outcome of each. Items that
   * have expired by `now`, ms since 1970, do not exist; with 0 they are deleted like the others. Rejects with
   * `key_not_found`, and with `overloaded` when an item changes faster than it can be read.
   */
  async remove(
    ctx: AccountContext,
    user: string,
    items: readonly RemovedItem[],
    now: number,
  ): Promise<readonly RemovedOrNot[]> {
    const outcomes: (RemovedOrNot | undefined)[] = items.map(() => undefined);
    let left: readonly number[] = [...items.keys()];
    for (let tries = 0; left.length > 0; tries++) {
      if (tries === CHANGED_TRIES_MAX) {
        throw new VaultError('overloaded');
      }
      const key = await this.keys.find(ctx.account, user);
      const again: number[] = [];
      let isClosed = false;
      const run = async ({ bucket, indexes: all }: Piece): Promise<void> => {
        for (let at = 0; at < all.length; at += PIECE_ITEMS) {
          const indexes = all.slice(at, at + PIECE_ITEMS);
          const rest = await this.removePiece(key, { bucket, indexes }, items, outcomes, now);
          isClosed ||= rest === 'closed';
          again.push(...(rest === 'closed' ? indexes : rest));
          const removed = indexes.filter((index) => outcomes[index] === 'removed').length;
          await this.count(ctx, removed, items.length);
        }
      };
      for await (const _ of mapAhead(this.piecesOf(key, items, left), BUCKETS_AHEAD, run)) {
        // Each piece has its outcomes.
      }
      left = again.sort((a, b) => a - b);
      if (isClosed) {
        await pause(CLOSED_PAUSE_MS);
      }
    }
    return outcomes.map((outcome) => outcome ?? 'integrity_failed');
  }

  /** Returns the items by bucket. */
  private piecesOf(
    { kid }: KeyRef,
    items: readonly RemovedItem[],
    indexes: readonly number[],
  ): Iterable<Piece> {
    const byBucket = new Map<number, { readonly bucket: Bucket; readonly indexes: number[] }>();
    for (const index of indexes) {
      const bucket = this.store.bucketOf(kid, items[index]?.token ?? '');
      const group = byBucket.get(bucket.number) ?? { bucket, indexes: [] };
      byBucket.set(bucket.number, group);
      group.indexes.push(index);
    }
    return byBucket.values();
  }

  /**
   * Deletes the items of a piece, and returns the places of items that changed meanwhile. `closed`: nothing was deleted.
   */
  private async removePiece(
    key: KeyRef,
    { bucket, indexes }: Piece,
    items: readonly RemovedItem[],
    outcomes: (RemovedOrNot | undefined)[],
    now: number,
  ): Promise<'closed' | readonly number[]> {
    const wanted = indexes.map((index) => items[index] ?? { token: '' });
    const isSingle = items.length === 1;
    const { failed, removals } = await this.check(key, bucket, wanted, now, isSingle);
    const codes = new Map(failed.map(({ index, code }) => [index, code]));
    const left = indexes.flatMap((index, i) => (codes.has(i) ? [] : [{ index, removal: removals[i] }]));
    for (const [i, code] of codes) {
      outcomes[indexes[i] ?? 0] = code;
    }
    if (left.length === 0) {
      return [];
    }
    const given = left.flatMap(({ removal }) => removal ?? []);
    const removed = await this.inTurn(key.aid, isSingle, () => this.store.remove(bucket, given));
    if (removed === 'closed') {
      return removed;
    }
    const changed: number[] = [];
    for (const [i, { index }] of left.entries()) {
      switch (removed[i]) {
        case 'ok':
          outcomes[index] = 'removed';
          break;
        case 'changed':
          changed.push(index);
          break;
        default:
          outcomes[index] = removed[i] === 'missing' ? 'token_not_found' : 'integrity_failed';
      }
    }
    return changed;
  }

  /** Reads the items of a piece, and checks that they may be removed. */
  private async check(
    { aid, kid }: KeyRef,
    bucket: Bucket,
    items: readonly RemovedItem[],
    now: number,
    isSingle: boolean,
  ): Promise<Proven> {
    const places = items.map(({ token }) => ({ token, bucket: bucket.number }));
    const replies = await this.inTurn(aid, isSingle, () => this.store.readMany(kid, places, 'log'));
    if (replies === undefined) {
      throw new VaultError('integrity_failed'); // no metadata is so large
    }
    const tokens = items.map(({ token }) => token);
    const references = items.map(({ reference }) => reference ?? null);
    return proveRemovals(this.crypto, { aid, kid, tokens, references, now }, replies);
  }

  /** Runs work on a piece under fair queueing with listings; a single item is short work and does not wait. */
  private inTurn<T>(aid: string, isSingle: boolean, work: () => Promise<T>): Promise<T> {
    return isSingle ? work() : this.admission.piece(aid, work);
  }

  /** Counts deleted items. The count of one of several pieces is stored at once, since the request may still fail. */
  private async count(ctx: AccountContext, removed: number, all: number): Promise<void> {
    if (removed > 0) {
      this.metering.count(ctx, 'delete', removed);
      await (all > 1 ? this.metering.settle(ctx) : undefined);
    }
  }
}

/** Returns the removals for the store of items that it has read (`replies`), valid for all but those that `failed`. */
export async function proveRemovals(
  crypto: Crypto,
  params: RemovalParams,
  replies: Uint8Array,
): Promise<Proven> {
  const { failed, parts: strings } = await crypto.proveRemovals({ params, replies });
  const removals = params.tokens.map((token, i) => ({
    token,
    metaTag: stringAt(strings, STRINGS * i),
    firstTag: stringAt(strings, STRINGS * i + 1),
    proof: stringAt(strings, STRINGS * i + 2),
    refMember: stringAt(strings, STRINGS * i + 3),
  }));
  return { failed, removals };
}
