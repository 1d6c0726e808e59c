/** Seals and opens the records of a key under the service's keys. */

import type { KeyRecords } from '../../crypto/key/vault-key.ts';
import type { ThreadContext } from '../context.ts';

/** The place of the records of a key: its account and its name. */
export interface KeyPlace {
  readonly aid: string;
  readonly user: string;
}

/** Opens the seal of a recovery's record. */
export function openRecoveryRecord(
  { sealer }: ThreadContext,
  { aid, user }: KeyPlace,
  recovery: Uint8Array,
): Uint8Array {
  return sealer.open('record', aid, 'recovery', [user], recovery);
}

/** Opens the seals of the records. */
export function openRecords(
  context: ThreadContext,
  place: KeyPlace,
  { record, recovery }: KeyRecords,
): KeyRecords {
  return {
    record: context.sealer.open('record', place.aid, 'key', [place.user], record),
    recovery: recovery && openRecoveryRecord(context, place, recovery),
  };
}

/** Seals the records for their place. */
export function sealRecords(
  { sealer }: ThreadContext,
  { aid, user }: KeyPlace,
  { record, recovery }: KeyRecords,
): { readonly record: Uint8Array; readonly recovery: Uint8Array | undefined } {
  return {
    record: sealer.seal('record', aid, 'key', [user], record),
    recovery: recovery && sealer.seal('record', aid, 'recovery', [user], recovery),
  };
}
