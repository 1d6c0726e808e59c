/** A vault key while it is open: private halves of all its generations, and what derives from them. */
import type { KeyObject } from 'node:crypto';
import { aad, IntegrityError, wipe } from '../primitives/bytes.ts';
import { hkdf } from '../primitives/hash.ts';
import { importPrivate, type KeyPair } from '../primitives/x25519.ts';

export interface Generation extends KeyPair {
  /** Numbered from 1, one more at each passphrase change. */
  readonly gen: number;
}

export interface UnlockedKey {
  readonly kid: string;
  /** Makes deterministic tokens; the same in all generations. */
  readonly tokenKey: Uint8Array;
  /** Newest last, never empty. */
  readonly generations: readonly Generation[];
}

/** The public half that a writer without the passphrase seals to. */
export interface PublicGeneration {
  readonly gen: number;
  readonly publicKey: Uint8Array;
}

interface Derived {
  readonly owner: Map<number, Uint8Array>;
  readonly imported: Map<number, KeyObject>;
  /** Exporter secrets by generation and `enc`, the oldest dropped first. */
  readonly exporters: Map<string, Uint8Array>;
}

const EXPORTERS_MAX = 256;
const derivedOf = new WeakMap<UnlockedKey, Derived>();

function derivedFrom(key: UnlockedKey): Derived {
  const found = derivedOf.get(key);
  if (found) {
    return found;
  }
  const derived: Derived = { owner: new Map(), imported: new Map(), exporters: new Map() };
  derivedOf.set(key, derived);
  return derived;
}

/** The generation that all new writes use. */
export function newestGeneration(key: UnlockedKey): Generation {
  const newest = key.generations.at(-1);
  if (!newest) {
    throw new IntegrityError();
  }
  return newest;
}

/** Generation `gen`; `IntegrityError` when the key has none such. */
export function generationOf(key: UnlockedKey, gen: number): Generation {
  const found = key.generations[gen - 1];
  if (found?.gen !== gen) {
    throw new IntegrityError();
  }
  return found;
}

/** The symmetric key under which the owner of a generation wraps data keys: HKDF of the private half. */
export function ownerKeyOf(key: UnlockedKey, gen: number): Uint8Array {
  const { owner } = derivedFrom(key);
  const found = owner.get(gen);
  if (found) {
    return found;
  }
  const { privateKey } = generationOf(key, gen);
  const ownerKey = hkdf(privateKey, aad('cardvault owner key', [key.kid, gen]), 32);
  owner.set(gen, ownerKey);
  return ownerKey;
}

/** The runtime's form of a private half, made once. */
export function importedPrivate(key: UnlockedKey, gen: number): KeyObject {
  const { imported } = derivedFrom(key);
  const found = imported.get(gen);
  if (found) {
    return found;
  }
  const made = importPrivate(generationOf(key, gen).privateKey);
  imported.set(gen, made);
  return made;
}

/** The exporter secret of `enc` under a generation, computed once for each of the 256 newest. */
export function exporterOf(
  key: UnlockedKey,
  gen: number,
  enc: Uint8Array,
  compute: () => Uint8Array,
): Uint8Array {
  const { exporters } = derivedFrom(key);
  const name = `${gen}:${enc.toBase64()}`;
  const found = exporters.get(name);
  if (found) {
    return found;
  }
  const secret = compute();
  const oldest = exporters.size >= EXPORTERS_MAX ? exporters.keys().next().value : undefined;
  if (oldest !== undefined) {
    wipe(exporters.get(oldest));
    exporters.delete(oldest);
  }
  exporters.set(name, secret);
  return secret;
}

/** Wipes an open key and all that was derived from it. It cannot be used afterwards. */
export function wipeKey(key: UnlockedKey): void {
  const derived = derivedOf.get(key);
  wipe(key.tokenKey, ...key.generations.map((generation) => generation.privateKey));
  if (derived) {
    wipe(...derived.owner.values(), ...derived.exporters.values());
  }
  derivedOf.delete(key);
}
