/**
 * Records sealed by the service itself: metadata, rules, jobs, log entries, and the outer seal round every
 * wrap. They need no passphrase, only the service master key (SMK), a ring of 32-byte keys with ids.
 *
 * `header 4 | tag of the key's id 4 | salt 16 | nonce 12 | ciphertext | tag 16`
 */
import { aad, createAad, type Field } from '../primitives/aad.ts';
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

/** The purpose of a sub-key. Keys of different purposes are independent. */
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

/** Names the installation, account and vault key that a record belongs to. */
export interface KeyContext {
  readonly env: string;
  readonly aid: string;
  readonly kid: string;
}

/** The key that sealed a record is named by the first bytes of the SHA-256 of its id. */
const ID_TAG_AT = HEADER_BYTES;
const ID_TAG_BYTES = 4;
const HEAD_BYTES = HEADER_BYTES + ID_TAG_BYTES;
const RECORD_BYTES_MIN = HEAD_BYTES + MESSAGE_EXTRA_BYTES;
/** Remembered pairs, each of which saves an HKDF of about 2 us; the oldest is dropped first. */
const SUBKEYS_MAX = 4096;

/** Derives the 32-byte key of a purpose and an account. It is shared: callers neither change nor wipe it. */
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

/** A key of the ring. */
interface RingKey {
  readonly id: string;
  /** Header and key tag of a record sealed under this key. */
  readonly head: Uint8Array;
  readonly subkeyOf: Subkeys;
}

/** Seals and opens the service's own records; one for each thread. */
export class ServiceSealer {
  /** The ring's keys by the tags of their ids, which records name them by. */
  private readonly byTag = new Map<number, RingKey>();
  private readonly writer: RingKey;
  /** The encoders of AADs by kind of record. */
  private readonly encoders = new Map<string, (fields: readonly Field[]) => Uint8Array>();

  /**
   * Takes the ring of the service master keys, each of 32 bytes, and the id of the key that new records are sealed under.
   * Keys are copied: the caller may wipe its own. Throws a RangeError if the write key is missing, a key is not 32 bytes,
   * or two ids have the same tag.
   */
  constructor(
    private readonly env: string,
    readonly writeId: string,
    keys: Iterable<readonly [id: string, key: Uint8Array]>,
  ) {
    for (const [id, key] of keys) {
      if (key.length !== KEY_BYTES) {
        throw new RangeError('a service master key has 32 bytes');
      }
      const head = new Uint8Array(HEAD_BYTES);
      writeHeader(head, TYPE.service);
      head.set(sha256(utf8(id)).subarray(0, ID_TAG_BYTES), ID_TAG_AT);
      const tag = readU32(head, ID_TAG_AT);
      if (this.byTag.has(tag)) {
        throw new RangeError('two service master key ids have one tag');
      }
      this.byTag.set(tag, { id, head, subkeyOf: createSubkeys(new Uint8Array(key), 'cardvault seal', env) });
    }
    const writer = this.byTag.values().find(({ id }) => id === writeId);
    if (!writer) {
      throw new RangeError('the service master key that writes is not in the ring');
    }
    this.writer = writer;
  }

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
  ): Uint8Array {
    const { head, subkeyOf } = this.writer;
    return sealMessage(subkeyOf(purpose, account), head, plaintext, this.bind(head, account, kind, path));
  }

  /**
   * Opens a record under any key of the ring. Rejects damage, another place and a key that is not in the ring with
   * `IntegrityError`.
   */
  open(
    purpose: Purpose,
    account: string,
    kind: string,
    path: readonly string[],
    record: Uint8Array,
  ): Uint8Array {
    const key = this.keyOf(record);
    if (!key) {
      throw new IntegrityError();
    }
    const associated = this.bind(key.head, account, kind, path);
    return openMessage(key.subkeyOf(purpose, account), HEAD_BYTES, record, associated);
  }

  /** Id of the ring key that sealed a record; undefined for a key that is not in the ring. */
  writerOf(record: Uint8Array): string | undefined {
    try {
      return this.keyOf(record)?.id;
    } catch {
      return undefined;
    }
  }

  private bind(head: Uint8Array, account: string, kind: string, path: readonly string[]): Uint8Array {
    let encode = this.encoders.get(kind);
    if (encode === undefined) {
      encode = createAad('cardvault record');
      this.encoders.set(kind, encode);
    }
    return encode([head, this.env, account, kind, ...path]);
  }

  private keyOf(record: Uint8Array): RingKey | undefined {
    checkHeader(record, TYPE.service, RECORD_BYTES_MIN);
    return this.byTag.get(readU32(record, ID_TAG_AT));
  }
}
