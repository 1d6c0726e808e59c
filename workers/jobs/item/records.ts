/** What the jobs on items have in common: metadata, references, contents and log entries of one item. */
import { VaultError } from '../../../server/core/errors.ts';
import { joinSad } from '../../../server/domain/card/sad.ts';
import { openItem } from '../../crypto/item/item.ts';
import { encodeReference } from '../../crypto/item/lookup.ts';
import { type OpenedMeta, openMeta } from '../../crypto/item/meta.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import { sealLogEntry } from '../../crypto/log/entry.ts';
import { concat, EMPTY, equalBytes, utf8 } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext } from '../context.ts';
import type { KeyName } from '../key/jobs.ts';
import type { ActorParams } from './jobs.ts';

/** Redis expires sensitive authentication data by its own clock, which may be this much ahead of ours. */
const CLOCK_SKEW_MS = 5_000;

/** What a log entry names as its predecessor where there is none. */
export const NO_TAIL = new Uint8Array(16);

/** An item's metadata, opened under its place. Throws an `IntegrityError` for damage and any other item's. */
export function metaOf(
  { sealer, env }: ThreadContext,
  { aid, kid }: KeyName,
  token: string,
  record: Uint8Array,
): OpenedMeta {
  return openMeta(sealer, { env, aid, kid, token }, record);
}

/** A given reference must be the item's; a missing one is rejected when the item has one. */
export function checkReference(meta: OpenedMeta, given: string | undefined, rule: 'check' | 'lookup'): void {
  if (given === undefined) {
    if (meta.reference !== undefined && rule === 'check') {
      throw new VaultError('reference_required');
    }
    return;
  }
  if (meta.reference === undefined || !equalBytes(utf8(meta.reference), utf8(given))) {
    throw new VaultError('token_not_found');
  }
}

/** The reference's member of the index: encoded reference, token, and the token's length in two bytes. */
export function referenceMember(
  context: ThreadContext,
  aid: string,
  reference: string | undefined,
  token: string,
): Uint8Array {
  if (reference === undefined) {
    return EMPTY;
  }
  const tokenBytes = utf8(token);
  const encoded = encodeReference(context.rootKey('ref-index', aid), reference, true);
  return concat([encoded, tokenBytes, new Uint8Array([tokenBytes.length >> 8, tokenBytes.length & 0xff])]);
}

/** An item with its metadata opened; `sad` may be empty. */
export interface ItemRecords {
  readonly item: Uint8Array;
  readonly meta: OpenedMeta;
  readonly sad: Uint8Array;
}

/** The exact JSON text that was stored, with sensitive authentication data in its place while it is kept. */
export function openText(
  { env }: ThreadContext,
  { aid, kid }: KeyName,
  token: string,
  key: UnlockedKey,
  { item, meta, sad }: ItemRecords,
  now: number,
): Uint8Array {
  const kept = sad.length > 0 ? { sad, nowMs: now } : { nowMs: now + CLOCK_SKEW_MS };
  const { part0, part1 } = openItem({ env, aid, kid, token, key, item, meta, ...kept });
  return part1 ? joinSad(part0, part1) : part0;
}

/** Seals an entry of an item's action log. `tail`: the last 16 bytes of the newest entry that was seen. */
export function logEntry(
  { env, sealer }: ThreadContext,
  { aid, kid, seen, ...actor }: KeyName & ActorParams & { readonly seen: number },
  token: string,
  action: 'encrypt' | 'decrypt',
  tail: Uint8Array,
): Uint8Array {
  return sealLogEntry(
    sealer,
    { env, aid, kid, token },
    {
      seenLength: seen,
      seenTag: seen === 0 ? NO_TAIL : tail,
      timeMs: actor.now,
      action,
      source: actor.source,
      ip: actor.ip,
      userAgent: actor.ua,
    },
  );
}
