import type { OwnPreference } from '../../domain/account/preference.ts';

/** An account as its sealed record holds it. */
export interface AccountRecord {
  readonly aid: string;
  readonly phc: string;
  readonly unmasked: boolean;
  readonly paying: boolean;
  /** Hosts that the account may send data to; empty = any. */
  readonly hosts: readonly string[];
  readonly created_at: string;
  /** What it has set; records of before there were preferences have none. */
  readonly preferences?: readonly OwnPreference[];
}

/** What an operator sees and sets. */
export interface AccountInfo {
  readonly name: string;
  readonly aid: string;
  readonly unmasked: boolean;
  readonly paying: boolean;
  readonly hosts: readonly string[];
  readonly created_at: string;
}

/** Where the sealed record of an account of this name is bound to. */
export function accountPlace(name: string) {
  return { purpose: 'record', account: '', kind: 'account', path: [name] } as const;
}

/** What an operator sees of a record: everything but the password's hash. */
export function toAccountInfo(
  name: string,
  { aid, unmasked, paying, hosts, created_at }: AccountRecord,
): AccountInfo {
  return { name, aid, unmasked, paying, hosts, created_at };
}
