/**
 * HPKE exporter secrets of captured items, between requests: each saves importing a private key and an X25519. They are
 * wrapped under the owner key of their generation, which only an open vault key has. Whoever can open one could compute
 * it from the private half and the `enc` that is stored beside the item: memory holds nothing new.
 */
import { EMPTY, IntegrityError } from '../primitives/bytes.ts';
import { openMessage, sealMessage } from '../primitives/symmetric.ts';

/** Of 76 bytes each; the oldest is dropped first. A writer makes one for each vault key and minute. */
const KEPT_MAX = 4096;
/** Like a warm key's time, from when it was made: the first reading after it pays again. */
const KEPT_MS = 60_000;

interface Kept {
  /** `salt 16 | nonce 12 | exporter secret 32 | tag 16`. */
  readonly wrapped: Uint8Array;
  readonly bornMs: number;
}

/** By `enc` in base64, the oldest first. */
const kept = new Map<string, Kept>();
let sweeper: ReturnType<typeof setTimeout> | undefined;

/** Forgets what is too old now, and looks again later while there is any. */
function sweep(): void {
  clearTimeout(sweeper);
  sweeper = undefined;
  for (const [enc, { bornMs }] of kept) {
    const leftMs = bornMs + KEPT_MS - performance.now();
    if (leftMs > 0) {
      sweeper = setTimeout(sweep, Math.ceil(leftMs));
      sweeper.unref();
      return;
    }
    kept.delete(enc);
  }
}

function keep(enc: string, wrapped: Uint8Array): void {
  const oldest = kept.size >= KEPT_MAX ? kept.keys().next().value : undefined;
  if (oldest !== undefined) {
    kept.delete(oldest);
  }
  kept.delete(enc);
  kept.set(enc, { wrapped, bornMs: performance.now() });
  sweep();
}

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
  const found = kept.get(enc);
  const isFresh = found !== undefined && performance.now() - found.bornMs < KEPT_MS;
  const recalled = isFresh ? openKept(ownerKey, found.wrapped, place) : undefined;
  if (recalled) {
    return recalled;
  }
  const secret = compute();
  keep(enc, sealMessage(ownerKey, EMPTY, secret, place));
  return secret;
}
