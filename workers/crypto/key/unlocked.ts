/**
 * A vault key while it is open: private halves of all its generations, and what derives from them. Who opens one
 * wipes it, best with `using`, which does so at the end of the block whatever happens in it.
 */
import type { KeyObject } from 'node:crypto';
import { aad } from '../primitives/aad.ts';
import { IntegrityError, wipe } from '../primitives/bytes.ts';
import { importPrivate, type KeyPair, POINT_BYTES } from '../primitives/hpke.ts';
import { hkdf, KEY_BYTES } from '../primitives/symmetric.ts';

/** One key pair of a vault key; what was derived from it is kept beside it, and wiped with it. */
export interface Generation extends KeyPair {
  /** Numbered from 1, one more at each passphrase change. */
  readonly gen: number;
  ownerKey?: Uint8Array | undefined;
  /** Out of reach of any wiping: it is let go of. */
  imported?: KeyObject | undefined;
  /** HPKE exporter secrets by `enc` in base64, the oldest dropped first. */
  exporters?: Map<string, Uint8Array> | undefined;
}

/** An open vault key. Disposing of it wipes it. */
export interface UnlockedKey extends Disposable {
  readonly kid: string;
  /** Makes deterministic tokens; the same in all generations, and empty where no tokens are made. */
  readonly tokenKey: Uint8Array;
  /** Newest last, never empty. */
  readonly generations: readonly Generation[];
}

/** The public half that a writer without the passphrase seals to. */
export interface PublicGeneration {
  readonly gen: number;
  readonly publicKey: Uint8Array;
}

/** Length of the key that makes tokens. */
export const TOKEN_KEY_BYTES = 32;
/** Public and private half of one generation, as they lie in wraps and warm blobs. */
export const PAIR_BYTES = 2 * POINT_BYTES;

/** A page of captured items rarely has more; those that are dropped are recalled wrapped. */
const EXPORTERS_MAX = 256;

/** Puts an open key together; it takes the bytes over and wipes them when it is disposed of. */
export function unlockedKey(
  kid: string,
  tokenKey: Uint8Array,
  generations: readonly Generation[],
): UnlockedKey {
  return { kid, tokenKey, generations, [Symbol.dispose]: wipeThis };
}

/** The runtime's own copies of a private half are out of reach; they are let go of. */
function wipeThis(this: UnlockedKey): void {
  wipe(this.tokenKey);
  for (const generation of this.generations) {
    const { privateKey, ownerKey, exporters } = generation;
    wipe(privateKey, ownerKey, ...(exporters?.values() ?? []));
    generation.imported = undefined;
    generation.exporters = undefined;
  }
}

/** Public and private half of every generation, 32 bytes each, in order: the key's own bytes, to be copied once. */
export function pairsOf({ generations }: UnlockedKey): Uint8Array[] {
  return generations.flatMap(({ publicKey, privateKey }) => [publicKey, privateKey]);
}

/**
 * The first `count` generations out of joined `pairsOf` that begin at `at`; they are views. The caller has checked
 * the length and opened a seal over them; that both halves belong together is not proven here.
 */
export function unpackPairs(bytes: Uint8Array, at: number, count: number): Generation[] {
  const generations: Generation[] = [];
  for (let gen = 1, from = at; gen <= count; gen++, from += PAIR_BYTES) {
    const privateAt = from + POINT_BYTES;
    const publicKey = bytes.subarray(from, privateAt);
    generations.push({ gen, publicKey, privateKey: bytes.subarray(privateAt, from + PAIR_BYTES) });
  }
  return generations;
}

/** Generation `gen`, the newest where none is named; `IntegrityError` when the key has none such. */
export function generationOf({ generations }: UnlockedKey, gen = generations.length): Generation {
  const found = generations[gen - 1];
  if (found?.gen !== gen) {
    throw new IntegrityError('key');
  }
  return found;
}

/** The symmetric key from which the owner of a generation derives data keys: HKDF of the private half, 32 bytes. */
export function ownerKeyOf({ kid }: UnlockedKey, generation: Generation): Uint8Array {
  const { gen, privateKey } = generation;
  generation.ownerKey ??= hkdf(privateKey, aad('cardvault owner key', [kid, gen]), KEY_BYTES);
  return generation.ownerKey;
}

/** The runtime's form of a private half, made once. */
export function importedPrivate(generation: Generation): KeyObject {
  generation.imported ??= importPrivate(generation.privateKey);
  return generation.imported;
}

/** The exporter secret of `enc` under a generation, computed once for each of the 256 newest. */
export function exporterOf(
  generation: Generation,
  enc: Uint8Array,
  compute: (name: string) => Uint8Array,
): Uint8Array {
  generation.exporters ??= new Map();
  const { exporters } = generation;
  const name = enc.toBase64();
  const found = exporters.get(name);
  if (found) {
    return found;
  }
  const secret = compute(name);
  const oldest = exporters.size >= EXPORTERS_MAX ? exporters.keys().next().value : undefined;
  if (oldest !== undefined) {
    wipe(exporters.get(oldest));
    exporters.delete(oldest);
  }
  exporters.set(name, secret);
  return secret;
}
