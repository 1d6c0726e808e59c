/**
 * Records sealed by the service itself: metadata, rules, jobs, log entries, and the outer seal round every
 * wrap. They need no passphrase, only the service master key (SMK), a ring of 32-byte keys with ids.
 *
 * `header 4 | tag of the key's id 4 | salt 16 | nonce 12 | ciphertext | tag 16`
 */
import { aad, createAad } from '../primitives/aad.ts';
import {
  checkHeader,
  HEADER_BYTES,
  IntegrityError,
  readU32,
  TYPE,
  utf8,
  writeHeader,
} from '../primitives/bytes.ts';
import {
  hkdf,
  KEY_BYTES,
  MESSAGE_EXTRA_BYTES,
  openMessage,
  sealMessage,
  sha256,
} from '../primitives/symmetric.ts';

/** What a sub-key is for. Keys of different purposes have nothing in common. */
export type Purpose =
  | 'record'
  | 'ref-index'
  | 'metadata-index'
  | 'audit'
  | 'audit-sign'
  | 'log-heads'
  | 'idem'
  | 'job'
  | 'password'
  | 'cursor'
  | 'password-generated';

/** The service master keys of an installation. */
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

/** Seals and opens service records; made once for each thread. */
export interface ServiceSealer {
  /**
   * Seals `plaintext` under the write key; it opens only with the same purpose, account, kind and path, and in the same
   * environment. The path is a list of texts whose borders are bound too. 52 bytes longer than the plaintext.
   */
  seal(
    purpose: Purpose,
    account: string,
    kind: string,
    path: readonly string[],
    plaintext: Uint8Array,
  ): Uint8Array;
  /**
   * Opens a record under whichever ring key sealed it. Rejects damage, another place and a key that is not in the ring
   * with `IntegrityError`.
   */
  open(
    purpose: Purpose,
    account: string,
    kind: string,
    path: readonly string[],
    record: Uint8Array,
  ): Uint8Array;
  /** Id of the ring key that sealed a record; undefined when it is none of this ring. */
  writerOf(record: Uint8Array): string | undefined;
  /** Id of the ring key that new records are sealed under. */
  readonly writeId: string;
}

/** The key that sealed a record is named by the first bytes of the SHA-256 of its id. */
const ID_TAG_AT = HEADER_BYTES;
const ID_TAG_BYTES = 4;
const HEAD_BYTES = HEADER_BYTES + ID_TAG_BYTES;
const RECORD_BYTES_MIN = HEAD_BYTES + MESSAGE_EXTRA_BYTES;
/** Pairs that are remembered, for each saves an HKDF of about 2 us; the oldest is dropped first. */
const SUBKEYS_MAX = 4096;

/** Derives the 32-byte key of a purpose and an account. It is shared: who gets it neither changes nor wipes it. */
export type Subkeys = (purpose: Purpose, account: string) => Uint8Array;

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
    const subkey = hkdf(key, aad(label, [purpose, env, account]), KEY_BYTES);
    accounts.set(account, subkey);
    return subkey;
  };
}

/** A key of the ring, ready to seal and to be found by the tag of its id. */
interface RingKey {
  readonly id: string;
  /** Header and key tag of a record sealed under this key. */
  readonly head: Uint8Array;
  readonly subkeyOf: Subkeys;
}

/** Copies the key: the caller may wipe its own. RangeError for another length than 32 bytes. */
function createRingKey(id: string, key: Uint8Array, env: string): RingKey {
  if (key.length !== KEY_BYTES) {
    throw new RangeError('a service master key has 32 bytes');
  }
  const head = new Uint8Array(HEAD_BYTES);
  writeHeader(head, TYPE.service);
  head.set(sha256(utf8(id)).subarray(0, ID_TAG_BYTES), ID_TAG_AT);
  return { id, head, subkeyOf: createSubkeys(new Uint8Array(key), 'cardvault seal', env) };
}

/** The keys by the tags of their ids, which records name them by. Rejects two ids of one tag with RangeError. */
function keysByTag({ keys }: KeyRing, env: string): Map<number, RingKey> {
  const byTag = new Map<number, RingKey>();
  for (const [id, key] of keys) {
    const ringKey = createRingKey(id, key, env);
    const tag = readU32(ringKey.head, ID_TAG_AT);
    if (byTag.has(tag)) {
      throw new RangeError('two service master key ids have one tag');
    }
    byTag.set(tag, ringKey);
  }
  return byTag;
}

/**
 * Seals and opens the service's own records. Rejects, with RangeError, a ring whose write key is missing,
 * a key that is not 32 bytes, and two ids whose tags are the same.
 */
export function createServiceSealer(options: {
  readonly env: string;
  readonly ring: KeyRing;
}): ServiceSealer {
  const { env, ring } = options;
  const byTag = keysByTag(ring, env);
  const writer = [...byTag.values()].find(({ id }) => id === ring.writeId);
  if (!writer) {
    throw new RangeError('the service master key that writes is not in the ring');
  }
  const places = new Map<string, ReturnType<typeof createAad>>();
  const bind = (head: Uint8Array, account: string, kind: string, path: readonly string[]): Uint8Array => {
    const encode = places.get(kind) ?? createAad('cardvault record');
    places.set(kind, encode);
    return encode([head, env, account, kind, ...path]);
  };
  const keyOf = (record: Uint8Array): RingKey | undefined => {
    checkHeader(record, TYPE.service, RECORD_BYTES_MIN);
    return byTag.get(readU32(record, ID_TAG_AT));
  };

  return {
    writeId: writer.id,
    seal(purpose, account, kind, path, plaintext) {
      const associated = bind(writer.head, account, kind, path);
      return sealMessage(writer.subkeyOf(purpose, account), writer.head, plaintext, associated);
    },
    open(purpose, account, kind, path, record) {
      const key = keyOf(record);
      if (!key) {
        throw new IntegrityError();
      }
      const associated = bind(key.head, account, kind, path);
      return openMessage(key.subkeyOf(purpose, account), HEAD_BYTES, record, associated);
    },
    writerOf(record) {
      try {
        return keyOf(record)?.id;
      } catch {
        return undefined;
      }
    },
  };
}
