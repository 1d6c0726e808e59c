/**
 * Records sealed by the service itself: metadata, rules, jobs, log entries, and the outer seal round every
 * wrap. They need no passphrase, only the service master key (SMK), a ring of 32-byte keys with ids.
 */
import { MESSAGE_EXTRA_BYTES, openMessage, sealMessage } from '../primitives/aead.ts';
import { aad, IntegrityError, readU32, utf8 } from '../primitives/bytes.ts';
import { hkdf, sha256 } from '../primitives/hash.ts';
import { checkHeader, HEADER_BYTES, TYPE, writeHeader } from './format.ts';

/** What a sub-key is for. Keys of different purposes have nothing in common. */
export type Purpose =
  | 'record'
  | 'ref-index'
  | 'audit'
  | 'audit-sign'
  | 'idem'
  | 'job'
  | 'password'
  | 'cursor';

export interface KeyRing {
  /** Id of the key that new records are sealed under. */
  readonly writeId: string;
  /** All keys that records may still be sealed under, by id; each has 32 bytes. */
  readonly keys: ReadonlyMap<string, Uint8Array>;
}

/** Names the installation, account and vault key that a record belongs to. */
export interface KeyContext {
  readonly env: string;
  readonly aid: string;
  readonly kid: string;
}

export interface ServiceSealer {
  /** Seals `plaintext` under the write key; it opens only with the same purpose, account, kind and path. */
  seal(
    purpose: Purpose,
    account: string,
    kind: string,
    path: readonly string[],
    plaintext: Uint8Array,
  ): Uint8Array;
  /** Opens a record under whichever ring key sealed it. Refuses all else with `IntegrityError`. */
  open(
    purpose: Purpose,
    account: string,
    kind: string,
    path: readonly string[],
    record: Uint8Array,
  ): Uint8Array;
  /**
   * A 32-byte key for an index or a fingerprint, never one that seals records. It follows the ring key
   * named (the write key when none is), so what must outlast a rotation derives from `root-key.ts` instead.
   * The bytes are shared: the caller neither changes nor wipes them.
   */
  subkey(purpose: Purpose, account: string, keyId?: string): Uint8Array;
  /** Id of the ring key that sealed a record; undefined when it is none of this ring. */
  writerOf(record: Uint8Array): string | undefined;
  /** Id of the ring key that new records are sealed under. */
  readonly writeId: string;
}

const TAG_AT = HEADER_BYTES;
const TAG_BYTES = 4;
const HEAD_BYTES = HEADER_BYTES + TAG_BYTES;
const RECORD_BYTES_MIN = HEAD_BYTES + MESSAGE_EXTRA_BYTES;
const SUBKEYS_MAX = 4096;

type Subkeys = (purpose: Purpose, account: string) => Uint8Array;

/**
 * HKDF-SHA-256 of a 32-byte key, separated by label, purpose, environment and account, remembered for the
 * 4,096 newest pairs of purpose and account.
 */
export function createSubkeys(key: Uint8Array, label: string, env: string): Subkeys {
  const known = new Map<Purpose, Map<string, Uint8Array>>();
  return (purpose, account) => {
    const found = known.get(purpose)?.get(account);
    if (found) {
      return found;
    }
    const accounts = known.get(purpose) ?? new Map<string, Uint8Array>();
    known.set(purpose, accounts);
    const oldest = accounts.size >= SUBKEYS_MAX ? accounts.keys().next().value : undefined;
    if (oldest !== undefined) {
      accounts.delete(oldest);
    }
    const subkey = hkdf(key, aad(label, [purpose, env, account]), 32);
    accounts.set(account, subkey);
    return subkey;
  };
}

interface RingKey {
  readonly id: string;
  /** Header and key tag of a record sealed under this key. */
  readonly head: Uint8Array;
  readonly sealing: Subkeys;
  readonly index: Subkeys;
}

function createRingKey(id: string, key: Uint8Array, env: string): RingKey {
  if (key.length !== 32) {
    throw new RangeError('a service master key has 32 bytes');
  }
  const head = new Uint8Array(HEAD_BYTES);
  writeHeader(head, TYPE.service);
  head.set(sha256(utf8(id)).subarray(0, TAG_BYTES), TAG_AT);
  const own = key.slice();
  return {
    id,
    head,
    sealing: createSubkeys(own, 'cardvault seal', env),
    index: createSubkeys(own, 'cardvault subkey', env),
  };
}

interface ReadableRing {
  readonly writer: RingKey;
  readonly byTag: ReadonlyMap<number, RingKey>;
  readonly byId: ReadonlyMap<string, RingKey>;
}

function prepareRing(ring: KeyRing, env: string): ReadableRing {
  const byTag = new Map<number, RingKey>();
  const byId = new Map<string, RingKey>();
  for (const [id, key] of ring.keys) {
    const ringKey = createRingKey(id, key, env);
    const tag = readU32(ringKey.head, TAG_AT);
    if (byTag.has(tag)) {
      throw new RangeError('two service master key ids have one tag');
    }
    byTag.set(tag, ringKey);
    byId.set(id, ringKey);
  }
  const writer = byId.get(ring.writeId);
  if (!writer) {
    throw new RangeError('the service master key that writes is not in the ring');
  }
  return { writer, byTag, byId };
}

/**
 * Seals and opens the service's own records. Refuses, with RangeError, a ring whose write key is missing,
 * a key that is not 32 bytes, and two ids whose tags are the same.
 */
export function createServiceSealer(options: {
  readonly env: string;
  readonly ring: KeyRing;
}): ServiceSealer {
  const { env } = options;
  const { writer, byTag, byId } = prepareRing(options.ring, env);
  const bind = (head: Uint8Array, account: string, kind: string, path: readonly string[]): Uint8Array =>
    aad('cardvault record', [head, env, account, kind, ...path]);
  const keyOf = (record: Uint8Array): RingKey | undefined => {
    checkHeader(record, TYPE.service, RECORD_BYTES_MIN);
    return byTag.get(readU32(record, TAG_AT));
  };

  return {
    writeId: writer.id,
    seal: (purpose, account, kind, path, plaintext) =>
      sealMessage(
        writer.sealing(purpose, account),
        writer.head,
        plaintext,
        bind(writer.head, account, kind, path),
      ),
    open: (purpose, account, kind, path, record) => {
      const key = keyOf(record);
      if (!key) {
        throw new IntegrityError();
      }
      return openMessage(
        key.sealing(purpose, account),
        HEAD_BYTES,
        record,
        bind(key.head, account, kind, path),
      );
    },
    subkey: (purpose, account, keyId) => {
      const key = keyId === undefined ? writer : byId.get(keyId);
      if (!key) {
        throw new RangeError('no such service master key');
      }
      return key.index(purpose, account);
    },
    writerOf: (record) => {
      try {
        return keyOf(record)?.id;
      } catch {
        return undefined;
      }
    },
  };
}
