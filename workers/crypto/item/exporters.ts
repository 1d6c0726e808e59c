/**
 * HPKE exporter secrets of captured items, between requests: each saves importing a private key and an X25519. They are
 * wrapped under the owner key of their generation, which only an open vault key has. Whoever can open one could compute
 * it from the private half and the `enc` that is stored beside the item: memory holds nothing new.
 */
import { EMPTY, IntegrityError } from '../primitives/bytes.ts';
import { openMessage, sealMessage } from '../primitives/symmetric.ts';

/** Of 76 bytes each; the oldest is dropped first. A writer makes one for each vault key and minute. */
const KEPT_MAX = 4096;
/** `salt 16 | nonce 12 | exporter secret 32 | tag 16` by `enc` in base64. */
const kept = new Map<string, Uint8Array>();

function openKept(ownerKey: Uint8Array, wrapped: Uint8Array, place: Uint8Array): Uint8Array | undefined {
  try {
    return openMessage(ownerKey, 0, wrapped, place);
  } catch (error) {
    if (error instanceof IntegrityError) {
      return undefined;
    }
    throw error;
  }
}

/**
 * The exporter secret named `enc`, kept from an earlier request under the same owner key and place, or what `compute`
 * gives, which is kept from now on. The caller wipes it.
 */
export function recallExporter(
  ownerKey: Uint8Array,
  enc: string,
  place: Uint8Array,
  compute: () => Uint8Array,
): Uint8Array {
  const wrapped = kept.get(enc);
  const recalled = wrapped && openKept(ownerKey, wrapped, place);
  if (recalled) {
    return recalled;
  }
  const secret = compute();
  const oldest = kept.size >= KEPT_MAX ? kept.keys().next().value : undefined;
  if (oldest !== undefined) {
    kept.delete(oldest);
  }
  kept.set(enc, sealMessage(ownerKey, EMPTY, secret, place));
  return secret;
}
