/**
 * HPKE exporter secrets of captured items, between requests: each saves importing a private key and an X25519. They are
 * wrapped under the owner key of their generation, which only an open vault key has. The same key could compute them from
 * the private half and the `enc` that is stored with the item: memory holds nothing new.
 */
import { EMPTY, IntegrityError, openedOrNot, wipe } from '../primitives/bytes.ts';
import { NotYet } from '../primitives/not-yet.ts';
import { randomBytes } from '../primitives/random.ts';
import { KEY_BYTES, openMessage, sealMessage } from '../primitives/symmetric.ts';

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

function keep(enc: string, wrapped: Uint8Array): void {
  const oldest = kept.size >= KEPT_MAX ? kept.keys().next().value : undefined;
  if (oldest !== undefined) {
    kept.delete(oldest);
  }
  kept.delete(enc);
  kept.set(enc, { wrapped, bornMs: performance.now() });
  sweep();
}

function recall(ownerKey: Uint8Array, name: string, place: Uint8Array): Uint8Array | undefined {
  const found = kept.get(name);
  const isFresh = found !== undefined && performance.now() - found.bornMs < KEPT_MS;
  return isFresh ? openedOrNot(() => openMessage(ownerKey, 0, found.wrapped, place)) : undefined;
}

/**
 * The exporter secret of a name, kept from an earlier request under the same owner key and place, or the result of
 * `compute`, which is kept from now on. The caller wipes it.
 */
export function recallExporter(
  ownerKey: Uint8Array,
  name: string,
  place: Uint8Array,
  compute: () => Uint8Array,
): Uint8Array {
  const recalled = recall(ownerKey, name, place);
  if (recalled) {
    return recalled;
  }
  const secret = compute();
  keep(name, sealMessage(ownerKey, EMPTY, secret, place));
  return secret;
}

/** Secrets that are being computed, by name: items of one page that share a set-up wait for it together. */
const awaited = new Map<string, Promise<void>>();

/**
 * The same with a `compute` that returns a promise: throws `NotYet`, which is ready when the secret is kept. The owner key is
 * copied for that time. An invalid set-up gets a random secret, which opens nothing, so that only its item fails.
 */
export function awaitExporter(
  ownerKey: Uint8Array,
  name: string,
  place: Uint8Array,
  compute: () => Promise<Uint8Array>,
): Uint8Array {
  const recalled = recall(ownerKey, name, place);
  if (recalled) {
    return recalled;
  }
  const ready = awaited.get(name) ?? computeLater(new Uint8Array(ownerKey), name, place, compute);
  awaited.set(name, ready);
  throw new NotYet(ready);
}

async function computeLater(
  ownerKey: Uint8Array,
  name: string,
  place: Uint8Array,
  compute: () => Promise<Uint8Array>,
): Promise<void> {
  try {
    const secret = await compute().catch((error: unknown) => {
      if (error instanceof IntegrityError) {
        return randomBytes(KEY_BYTES);
      }
      throw error;
    });
    keep(name, sealMessage(ownerKey, EMPTY, secret, place));
    wipe(secret);
  } finally {
    wipe(ownerKey);
    awaited.delete(name);
  }
}
