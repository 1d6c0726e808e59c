/** The description of a kind of record in the registry. Pure data: `maintenance/` and the backup act on it. */
import type { AccountName, Name } from './name.ts';

/** The associated data (AAD) of an encrypted record: the account, the kind and the position of the record. */
export interface SealPlace {
  readonly purpose: 'record' | 'idem' | 'job' | 'audit';
  /** The account id; empty for a record of the vault. */
  readonly account: string;
  readonly kind: string;
  readonly path: readonly string[];
}

/** The account and the id of a key, or of a field of a hash; empty if there is none. */
export interface Owner {
  readonly aid: string;
  readonly id: string;
}

/** The existing fields of a hash by name; the value of a string has the name ''. */
export type Stored = ReadonlyMap<string, Buffer>;

/** An encrypted record: the label that reports count it under, and its associated data. */
export interface Seal {
  readonly label: string;
  readonly place: SealPlace;
}

/**
 * The storage of records in a key. `value`: the string is one record. `entries`: every field of the hash is a record,
 * with the field name as its id, unless `seal` returns undefined. `fields`: the hash has the fields that `seals`
 * returns, of those in `reads`.
 */
export type Sealed =
  | { readonly kind: 'value'; readonly seal: (owner: Owner) => Seal }
  | { readonly kind: 'entries'; readonly seal: (owner: Owner) => Seal | undefined }
  | {
      readonly kind: 'fields';
      readonly reads: readonly string[];
      readonly seals: (owner: Owner, stored: Stored) => readonly (Seal & { readonly field: string })[];
    };

/** A defect of stored data. `unfinished` is the result of an interruption, which the sweep completes. */
export interface Flaw {
  readonly label: string;
  readonly what: string;
  readonly state: 'bad' | 'unfinished';
}

/** An entry of a directory. The nonce distinguishes keys that had the same id; empty if ids are not reused. */
export interface DirectoryEntry {
  readonly id: string;
  readonly nonce: string;
}

/** The directory of the account, a sorted set, that contains every key of this kind. */
export interface Listed {
  readonly directory: AccountName;
  /** The order of the scan: by member, if all scores are equal, or by score. */
  readonly order: 'member' | 'score';
  /** Undefined for a member that no server writes. */
  readonly entryOf: (member: string) => DirectoryEntry | undefined;
  /** The defect of an entry without its key; absent if that is valid. */
  readonly missing?: Flaw;
  /** The defect of an entry with a key of another account; `missing` by default. */
  readonly foreign?: Flaw;
}

/**
 * The copy of a key in a backup.
 * - `none`: not at all; it is created again, or has no meaning later
 * - `whole`: as one value, with others of its account or of the vault; in a bucket it is a hash and copied in parts.
 *   The key of an account is removed with the account
 * - `directory`: before the keys that it contains
 * - `deliveries`: like `directory`, but after the vault keys and the outboxes of their changes, which move into it
 * - `listed`: after its directory, if the directory contains it
 * - `scanned`: before all other keys, found by its name, if it expires
 * - `own`: by a specific procedure of the backup, because its order or content matters
 */
type Backup = 'none' | 'whole' | 'directory' | 'deliveries' | 'listed' | 'scanned' | 'own';

/** One kind of key in Redis, with all that maintenance needs to know. */
export interface RecordKind {
  readonly name: Name;
  readonly sealed?: Sealed;
  readonly listed?: Listed;
  /** The defect of the stored fields of a key that is in its directory. */
  readonly check?: (stored: Stored) => Flaw | undefined;
  /** Another hash of the account that must have the same fields, and the defect of a field that it does not have. */
  readonly pair?: { readonly name: AccountName; readonly flaw: Flaw };
  /** It may exist after its account was deleted. */
  readonly outlives?: true;
  /** Re-encrypted only after all other records. */
  readonly last?: true;
  readonly backup: Backup;
  /** Some of the listed keys are in no directory until they expire; they are copied like `scanned` ones. */
  readonly isUnlisted?: true;
  /** The fields of a restored key, in place of the copied ones. */
  readonly restored?: (stored: Stored) => Stored;
}
