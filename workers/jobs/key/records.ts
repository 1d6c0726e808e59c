/** The service's own seals round the records of a key. */
import type { KeyRecords } from '../../crypto/key/vault-key.ts';
import type { ThreadContext } from '../context.ts';

/** Where the records of a key are: its account and its name. */
export interface KeyPlace {
  readonly aid: string;
  readonly user: string;
}

/** The record of a recovery inside its seal. */
export function openRecoveryRecord(
  { sealer }: ThreadContext,
  { aid, user }: KeyPlace,
  recovery: Uint8Array,
): Uint8Array {
  return sealer.open('record', aid, 'recovery', [user], recovery);
}

/** The records inside their seals. */
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

/** The records sealed for their place. */
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
