/**
 * A vault key while it is open: private halves of all its generations, and keys that derive from them. The code that opens
 * one wipes it, best with `using`.
 */
import type { KeyObject } from 'node:crypto';
import { aad } from '../primitives/aad.ts';
import {
  IntegrityError,
  type Suite,
  suiteAt,
  viewOf,
  wipe,
  X_WING_SUITE,
  X25519_SUITE,
} from '../primitives/bytes.ts';
import { type KeyPair, POINT_BYTES, publicOf } from '../primitives/hpke.ts';
import { hkdf, KEY_BYTES } from '../primitives/symmetric.ts';
import { generateXWingPair, xWingPointOf, xWingPublicOf } from '../primitives/x-wing.ts';

/**
 * One key pair of a vault key, with the secrets derived from it, which are wiped with it. With X-Wing the private key is its
 * seed, and the public key the X25519 half of the public one, which identifies the whole.
 */
export interface Generation extends KeyPair {
  readonly suite: Suite;
  /** Numbered from 1, one more at each passphrase change. */
  readonly gen: number;
  ownerKey?: Uint8Array | undefined;
  /** The runtime's form of the private key, made once. It cannot be wiped, only released. */
  imported?: KeyObject | undefined;
  /** HPKE exporter secrets by the name of their set-up in base64: of the items that the key is open for. */
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
  /** Of X25519 or, by its length, of X-Wing. */
  readonly publicHalf: Uint8Array;
}

/** Length of the key that makes tokens. */
export const TOKEN_KEY_BYTES = 32;

/** Assembles an open key, which owns the bytes and wipes them when it is disposed of. */
export function unlockedKey(
  kid: string,
  tokenKey: Uint8Array,
  generations: readonly Generation[],
): UnlockedKey {
  return { kid, tokenKey, generations, [Symbol.dispose]: wipeThis };
}

/** The runtime's copies of a private half cannot be wiped, only released. */
function wipeThis(this: UnlockedKey): void {
  wipe(this.tokenKey);
  for (const generation of this.generations) {
    const { privateKey, ownerKey, exporters } = generation;
    wipe(privateKey, ownerKey, ...(exporters?.values() ?? []));
    generation.imported = undefined;
    generation.exporters = undefined;
  }
}

export function newGeneration(gen: number): Generation {
  return { gen, suite: X_WING_SUITE, ...generateXWingPair() };
}

/** The suite of the records of a key: X-Wing once any of its generations has it; then each entry names its suite. */
export function suiteOf({ generations }: UnlockedKey): Suite {
  return generations.some(({ suite }) => suite === X_WING_SUITE) ? X_WING_SUITE : X25519_SUITE;
}

/** The public key of a private one, by which a generation is identified. */
export function pointOf({ suite, privateKey }: Pick<Generation, 'privateKey' | 'suite'>): Uint8Array {
  return suite === X_WING_SUITE ? xWingPointOf(privateKey) : publicOf(privateKey);
}

/** The public half that a writer without the passphrase seals to. */
export function publicHalfOf({ suite, privateKey, publicKey }: Generation): Uint8Array {
  return suite === X_WING_SUITE ? xWingPublicOf(privateKey) : publicKey;
}

/** The entry of a generation in a record of a suite: the generation's suite in records of X-Wing, and its public key. */
export function publicEntryOf(recordSuite: Suite, { suite, publicKey }: Generation): Uint8Array[] {
  return recordSuite === X_WING_SUITE ? [Uint8Array.of(suite), publicKey] : [publicKey];
}

export function publicEntryBytes(recordSuite: Suite): number {
  return POINT_BYTES + (recordSuite === X_WING_SUITE ? 1 : 0);
}

/** The suite and the public key of a generation whose entry begins at `at`; a view. */
export function readPublicEntry(
  bytes: Uint8Array,
  at: number,
  recordSuite: Suite,
): Pick<Generation, 'publicKey' | 'suite'> {
  const end = at + publicEntryBytes(recordSuite);
  const suite = recordSuite === X_WING_SUITE ? suiteAt(bytes, at) : X25519_SUITE;
  return { suite, publicKey: viewOf(bytes, end - POINT_BYTES, POINT_BYTES) };
}

/** Bytes of a generation in `pairsOf`. */
export function pairBytes(recordSuite: Suite): number {
  return publicEntryBytes(recordSuite) + POINT_BYTES;
}

/** Public entry and private half of every generation, in order: views of the key, to be copied once. */
export function pairsOf(key: UnlockedKey): Uint8Array[] {
  const suite = suiteOf(key);
  return key.generations.flatMap((generation) => [
    ...publicEntryOf(suite, generation),
    generation.privateKey,
  ]);
}

/**
 * The first `count` generations out of joined `pairsOf` that begin at `at`; they are views. The caller has checked
 * the length and opened a seal over them; that both halves belong together is not proven here.
 */
export function unpackPairs(bytes: Uint8Array, at: number, count: number, recordSuite: Suite): Generation[] {
  const [entry, pair] = [publicEntryBytes(recordSuite), pairBytes(recordSuite)];
  return Array.from({ length: count }, (_, i) => {
    const from = at + i * pair;
    const privateKey = viewOf(bytes, from + entry, POINT_BYTES);
    return { gen: i + 1, ...readPublicEntry(bytes, from, recordSuite), privateKey };
  });
}

/** Generation `gen`, by default the newest; `IntegrityError` if the key has no such generation. */
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
