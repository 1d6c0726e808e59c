import { replaceOrConfirm } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { FormerPassword, PasswordHash } from '../domain/account/password.ts';
import { REVISION_GONE } from '../domain/account/revision.ts';
import type { AccountParts } from './parts.ts';
import type { OwnPreference } from './preference-values.ts';
import { isStored, readNewestRevision } from './revision.ts';

/** How often a change is retried whose record another server has changed in between. */
const CHANGE_TRIES_MAX = 10;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What an operator sets of an account. */
interface Rights {
  readonly unmasked: boolean;
  readonly paying: boolean;
  /** Hosts that the account may send data to; empty = any. */
  readonly hosts: readonly string[];
}

/** Rights to set; omitted ones stay as they are. */
export type AccountSettings = { readonly [Name in keyof Rights]?: Rights[Name] | undefined };

/** An account as its sealed record holds it. */
export interface AccountRecord extends Rights, PasswordHash {
  readonly aid: string;
  readonly former?: FormerPassword | undefined;
  readonly created_at: string;
  /** The number of its changes; records of versions that did not count them have none. See `revision.ts`. */
  readonly revision?: number;
  /** Preferences that the account has set; records older than preferences have none. */
  readonly preferences?: readonly OwnPreference[];
}

/** What an operator sees of an account. */
export interface AccountInfo extends Rights {
  readonly name: string;
  readonly aid: string;
  readonly created_at: string;
}

function placeOf(name: string) {
  return { purpose: 'record', account: '', kind: 'account', path: [name] } as const;
}

/** What an operator sees of a record: everything but the hash of the password and the preferences. */
export function toAccountInfo(name: string, record: AccountRecord): AccountInfo {
  const { aid, unmasked, paying, hosts, created_at } = record;
  return { name, aid, unmasked, paying, hosts, created_at };
}

/** Opens the sealed record of an account of this name. Rejects with `integrity_failed` for any other bytes. */
export async function openAccount(
  { crypto }: { readonly crypto: Pick<AccountParts['crypto'], 'openRecord'> },
  name: string,
  record: Uint8Array,
): Promise<AccountRecord> {
  const opened = await crypto.openRecord({ place: placeOf(name), record });
  return JSON.parse(decoder.decode(opened)) as AccountRecord; // The record is authenticated.
}

/** Seals the record of an account, bound to its name. */
export function sealAccount(
  { crypto }: AccountParts,
  name: string,
  record: AccountRecord,
): Promise<Uint8Array> {
  return crypto.sealRecord({ place: placeOf(name), plaintext: encoder.encode(JSON.stringify(record)) });
}

/**
 * Changes the record of an account, and gives it as it is now; undefined when there is no account of this name. `edit`
 * runs again when another server has changed the record in between. What `edit` throws is thrown, and nothing changes.
 * The record is changed before the entry of the change is written: a process that dies in between leaves a record that
 * is ahead of the security log, which is no fault. An older record than the log names is rejected with
 * `record_rolled_back`, unless the operator accepts it.
 */
export function changeAccount(
  parts: AccountParts,
  name: string,
  edit: (record: AccountRecord) => AccountRecord | Promise<AccountRecord>,
  acceptsOlder = false,
): Promise<AccountRecord | undefined> {
  const { accountStore, mutex } = parts;
  return mutex(name, async () => {
    for (let tries = 0; tries < CHANGE_TRIES_MAX; tries++) {
      const read = await accountStore.read(name);
      if (!read) {
        return undefined;
      }
      const opened = await openAccount(parts, name, read);
      const newest = await readNewestRevision(parts, opened.aid);
      const revision = opened.revision ?? 0;
      if (newest > revision && !(acceptsOlder && newest < REVISION_GONE)) {
        // Another server may have changed it, and recorded that, since it was read.
        if (await isStored(parts, name, read)) {
          throw new VaultError('record_rolled_back');
        }
        continue;
      }
      const changed = { ...(await edit(opened)), revision: Math.max(revision, newest) + 1 };
      const sealed = await sealAccount(parts, name, changed);
      const isReplaced = await replaceOrConfirm(
        sealed,
        () => accountStore.replace(name, read, sealed),
        () => accountStore.read(name),
      );
      if (isReplaced) {
        // Equal bytes confirm what is remembered: this process must not take an older copy for the newest.
        parts.opened.delete(name);
        return changed;
      }
    }
    throw new VaultError('overloaded');
  });
}
