import type { RemovalParams } from '../../workers/jobs/log-heads/jobs.ts';
import type { ItemFault } from '../../workers/jobs/vault/jobs.ts';
import { bindParts } from '../core/bind.ts';
import { mapAhead, pause } from '../core/concurrency.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Keys } from '../key/keys.ts';
import { CLOSED_PAUSE_MS, type KeyRef } from '../key/opener.ts';
import type { Admission } from '../limits/admission.ts';
import type { Bucket } from '../redis/records/name.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import { stringAt } from './list/packed.ts';
import { CHANGED_TRIES_MAX } from './replacer.ts';
import type { ItemStore } from './store/items.ts';
import type { ItemRemoval } from './store/removal.ts';

/** Items of one bucket that are read, checked and deleted together: what Redis does in a few milliseconds. */
const PIECE_ITEMS = 128;
/** Buckets that are worked on at once. The pieces of one go one after the other, so that of an item that is named twice the first goes. */
const BUCKETS_AHEAD = 4;
/** Byte strings of each item, as the job `proveRemovals` gives them. */
const STRINGS = 4;

interface RemovingParts {
  readonly crypto: Pick<Crypto, 'proveRemovals'>;
  readonly itemStore: Pick<ItemStore, 'bucketOf' | 'readMany' | 'remove'>;
  readonly admission: Pick<Admission, 'piece'>;
  readonly keys: Pick<Keys, 'find'>;
  readonly metering: Pick<MeteringService, 'count' | 'settle'>;
}

/** An item that is to be deleted; `reference` is needed when it was stored with one. */
export interface RemovedItem {
  readonly token: string;
  readonly reference?: string | undefined;
}

/** What became of an item: it was deleted, or failed with this code. */
export type RemovedOrNot = 'removed' | ErrorCode;

/** Items of one bucket, by their places among all. */
interface Piece {
  readonly bucket: Bucket;
  readonly indexes: readonly number[];
}

/** The items of each bucket. */
function byBucketOf(
  { itemStore }: Pick<RemovingParts, 'itemStore'>,
  { kid }: KeyRef,
  items: readonly RemovedItem[],
  indexes: readonly number[],
): Iterable<Piece> {
  const byBucket = new Map<number, { readonly bucket: Bucket; readonly indexes: number[] }>();
  for (const index of indexes) {
    const bucket = itemStore.bucketOf(kid, items[index]?.token ?? '');
    const group = byBucket.get(bucket.number) ?? { bucket, indexes: [] };
    byBucket.set(bucket.number, group);
    group.indexes.push(index);
  }
  return byBucket.values();
}

/** Work on a piece, in turn with those of listings; a single item is short work, and waits for none. */
function inTurn<T>(
  { admission }: RemovingParts,
  aid: string,
  isSingle: boolean,
  work: () => Promise<T>,
): Promise<T> {
  return isSingle ? work() : admission.piece(aid, work);
}

/** Reads the items of a piece and checks who they are. */
async function check(
  parts: RemovingParts,
  { aid, kid }: KeyRef,
  bucket: Bucket,
  items: readonly RemovedItem[],
  now: number,
  isSingle: boolean,
): Promise<{ readonly failed: readonly ItemFault[]; readonly removals: readonly ItemRemoval[] }> {
  const places = items.map(({ token }) => ({ token, bucket: bucket.number }));
  const replies = await inTurn(parts, aid, isSingle, () => parts.itemStore.readMany(kid, places, 'log'));
  if (replies === undefined) {
    throw new VaultError('integrity_failed'); // no metadata is so large
  }
  const tokens = items.map(({ token }) => token);
  const references = items.map(({ reference }) => reference ?? null);
  return prove(parts, { aid, kid, tokens, references, now }, replies);
}

/** What the store needs to remove items that it has read (`replies`), except those that `failed`. */
export async function prove(
  { crypto }: Pick<RemovingParts, 'crypto'>,
  params: RemovalParams,
  replies: Uint8Array,
): Promise<{ readonly failed: readonly ItemFault[]; readonly removals: readonly ItemRemoval[] }> {
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

/** Deletes what can be deleted of a piece, and gives the places of items that changed meanwhile; `closed`: nothing was done. */
async function removePiece(
  parts: RemovingParts,
  key: KeyRef,
  { bucket, indexes }: Piece,
  items: readonly RemovedItem[],
  outcomes: (RemovedOrNot | undefined)[],
  now: number,
): Promise<'closed' | readonly number[]> {
  const wanted = indexes.map((index) => items[index] ?? { token: '' });
  const isSingle = items.length === 1;
  const { failed, removals } = await check(parts, key, bucket, wanted, now, isSingle);
  const codes = new Map(failed.map(({ index, code }) => [index, code]));
  const left = indexes.flatMap((index, i) => (codes.has(i) ? [] : [{ index, removal: removals[i] }]));
  for (const [i, code] of codes) {
    outcomes[indexes[i] ?? 0] = code;
  }
  if (left.length === 0) {
    return [];
  }
  const given = left.flatMap(({ removal }) => removal ?? []);
  const removed = await inTurn(parts, key.aid, isSingle, () => parts.itemStore.remove(bucket, given));
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

/** Counts what was deleted. What is part of more is stored at once: the request may still fail. */
async function count(
  { metering }: Pick<RemovingParts, 'metering'>,
  ctx: AccountContext,
  removed: number,
  all: number,
): Promise<void> {
  if (removed > 0) {
    metering.count(ctx, 'delete', removed);
    await (all > 1 ? metering.settle(ctx) : undefined);
  }
}

/**
 * Deletes items with their logs, each on its own, and counts each that was deleted. Gives for each what became of it. What has
 * expired by `now`, ms since 1970, is not there; with 0 it is deleted like the rest. Rejects
 * with `key_not_found`, and with `overloaded` when an item changes faster than it can be read.
 */
async function remove(
  parts: RemovingParts,
  ctx: AccountContext,
  user: string,
  items: readonly RemovedItem[],
  now: number,
): Promise<readonly RemovedOrNot[]> {
  const { keys } = parts;
  const outcomes: (RemovedOrNot | undefined)[] = items.map(() => undefined);
  let left: readonly number[] = [...items.keys()];
  for (let tries = 0; left.length > 0; tries++) {
    if (tries === CHANGED_TRIES_MAX) {
      throw new VaultError('overloaded');
    }
    const key = await keys.find(ctx.account, user);
    const again: number[] = [];
    let isClosed = false;
    const run = async ({ bucket, indexes: all }: Piece): Promise<void> => {
      for (let at = 0; at < all.length; at += PIECE_ITEMS) {
        const indexes = all.slice(at, at + PIECE_ITEMS);
        const rest = await removePiece(parts, key, { bucket, indexes }, items, outcomes, now);
        isClosed ||= rest === 'closed';
        again.push(...(rest === 'closed' ? indexes : rest));
        await count(
          parts,
          ctx,
          indexes.filter((index) => outcomes[index] === 'removed').length,
          items.length,
        );
      }
    };
    for await (const _ of mapAhead(byBucketOf(parts, key, items, left), BUCKETS_AHEAD, run)) {
      // Each has done its part.
    }
    left = again.sort((a, b) => a - b);
    if (isClosed) {
      await pause(CLOSED_PAUSE_MS);
    }
  }
  return outcomes.map((outcome) => outcome ?? 'integrity_failed');
}

/** The one way in which items are deleted on request. */
export function createRemoving(parts: RemovingParts) {
  return bindParts(parts, { remove });
}

export type Removing = ReturnType<typeof createRemoving>;
