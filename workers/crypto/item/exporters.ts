/**
 * HPKE exporter secrets of captured items, between requests: each saves importing a private key and an X25519. They are
 * wrapped under the owner key of their generation, which only an open vault key has. The same key could compute them from
 * the private half and the `enc` that is stored with the item: memory holds nothing new.
 */
import { EMPTY, openedOrNot } from '../primitives/bytes.ts';
import { openMessage, sealMessage } from '../primitives/symmetric.ts';

/**
 * Of 76 bytes each; the oldest is dropped first. A writer makes one for each vault key and minute. More than one page can
 * need: 1,000 items with 32 patches each.
 */
const KEPT_MAX = 40_000;
/** Lifetime, as that of a warm key; the next read has to compute it again. */
const KEPT_MS = 60_000;

interface Kept {
  /** `salt 16 | nonce 12 | exporter secret 32 | tag 16`. */
  readonly wrapped: Uint8Array;
  readonly bornMs: number;
}

/** By name, the oldest first. */
const kept = new Map<string, Kept>();
let sweeper: ReturnType<typeof setTimeout> | undefined;

/** Drops secrets that are too old, and schedules the next sweep while any are left. */
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

/** Keeps the exporter secret of a name for later requests. */
export function keepExporter(
  ownerKey: Uint8Array,
  name: string,
  place: Uint8Array,
  secret: Uint8Array,
): void {
  const oldest = kept.size >= KEPT_MAX ? kept.keys().next().value : undefined;
  if (oldest !== undefined) {
    kept.delete(oldest);
  }
  kept.delete(name);
  kept.set(name, { wrapped: sealMessage(ownerKey, EMPTY, secret, place), bornMs: performance.now() });
  sweep();
}

/** The exporter secret of a name, kept from an earlier request under the same owner key and place. The caller wipes it. */
export function keptExporter(ownerKey: Uint8Array, name: string, place: Uint8Array): Uint8Array | undefined {
  const found = kept.get(name);
  const isFresh = found !== undefined && performance.now() - found.bornMs < KEPT_MS;
  return isFresh ? openedOrNot(() => openMessage(ownerKey, 0, found.wrapped, place)) : undefined;
}
