/** What the registry says of a kind of record. Pure descriptions: `store/maintenance` and the backup act on them. */
import type { AccountName, Name } from './name.ts';

/** What the associated data of a sealed record binds: whose it is, what it is, and where it lies. */
export interface SealPlace {
  readonly purpose: 'record' | 'idem' | 'job' | 'audit';
  /** Account id; empty for what belongs to no account. */
  readonly account: string;
  readonly kind: string;
  readonly path: readonly string[];
}

/** The account and the id that a key, or a field of a hash, is for; empty where there is none. */
export interface Owner {
  readonly aid: string;
  readonly id: string;
}

/** Fields of a hash that are there, by name; the value of a string has the name ''. */
export type Stored = ReadonlyMap<string, Buffer>;

/** A sealed record: what reports count it as, and where it must open. */
export interface Seal {
  readonly label: string;
  readonly place: SealPlace;
}

/**
 * How records lie in a key. `value`: the string is one record. `entries`: every field of the hash is one, of the id
 * that names the field, unless `seal` gives undefined. `fields`: the hash has those that `seals` names among `reads`.
 */
export type Sealed =
  | { readonly kind: 'value'; readonly seal: (owner: Owner) => Seal }
  | { readonly kind: 'entries'; readonly seal: (owner: Owner) => Seal | undefined }
  | {
      readonly kind: 'fields';
      readonly reads: readonly string[];
      readonly seals: (owner: Owner, stored: Stored) => readonly (Seal & { readonly field: string })[];
    };

/** What is wrong with what is stored; `unfinished` is what an interruption leaves, and the sweep mends. */
export interface Flaw {
  readonly label: string;
  readonly what: string;
  readonly state: 'bad' | 'unfinished';
}

/** An entry of a directory. The nonce tells apart two keys that had one id, one after the other; '' where none is needed. */
export interface Entry {
  readonly id: string;
  readonly nonce: string;
}

/** The account's directory, a sorted set, that names every key of this kind. */
export interface Listed {
  readonly directory: AccountName;
  /** What orders it: its members, which then have one score, or their scores. */
  readonly order: 'member' | 'score';
  /** Undefined for what no server writes. */
  readonly entryOf: (member: string) => Entry | undefined;
  /** What an entry without its key is; left out where none has to be there. */
  readonly missing?: Flaw;
  /** What an entry with the key of another account is, if not `missing`. */
  readonly foreign?: Flaw;
}

/**
 * How a key comes into a backup.
 * - `none`: not at all; it is made again, or means nothing later
 * - `whole`: as one value, with the others of its account or of the vault; in a bucket it is a hash, and comes in parts.
 *   That of an account is removed with it
 * - `directory`: before the keys that it names
 * - `listed`: behind its directory, if the directory names it
 * - `scanned`: before all other keys, found by its name, if it expires
 * - `own`: by a procedure in `cli/backup`, since its order or its content matters
 */
type Backup = 'none' | 'whole' | 'directory' | 'listed' | 'scanned' | 'own';

/** One kind of key in Redis, and all that maintenance has to know of it. */
export interface RecordKind {
  readonly name: Name;
  readonly sealed?: Sealed;
  readonly listed?: Listed;
  /** What is wrong with the stored fields of a key that its directory names. */
  readonly check?: (stored: Stored) => Flaw | undefined;
  /** Another hash of the account that must have the same fields, and what a field is that it does not have. */
  readonly pair?: { readonly name: AccountName; readonly flaw: Flaw };
  /** It may be there when its account is not. */
  readonly outlives?: true;
  /** Re-encrypted only when nothing else is under another key. */
  readonly last?: true;
  readonly backup: Backup;
  /** Some of the listed keys are in no directory any more until they expire; they are copied as `scanned` ones are. */
  readonly isUnlisted?: true;
  /** The fields that a restored vault must have in the place of those that are copied. */
  readonly restored?: (stored: Stored) => Stored;
}
