import type { Scope } from '../../core/scopes.ts';
import { type Crypto, openJson, sealJson } from '../../crypto/client.ts';
import type { CredentialLimits } from '../../domain/account.ts';
import type { Account } from '../../request/context.ts';
import { readPreferences } from '../preference-values.ts';
import type { CredentialName } from './store.ts';

interface SecretEntry {
  readonly digest: string;
  /** Its end, ms since 1970; the newest secret has none. */
  readonly untilMs?: number;
}

/** The record of a credential. Its limits never change. */
export interface CredentialRecord {
  readonly account: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly keys?: readonly string[];
  readonly unmasked: boolean;
  readonly ips?: readonly string[];
  readonly hosts?: readonly string[];
  /** The id of the person who has made it, or of the one whose credential has; it cannot do more than that person can. */
  readonly person?: string;
  readonly created_at: string;
  /** ms since 1970. */
  readonly expiresAtMs?: number;
  /** The newest first; the previous one may stay valid for a while. */
  readonly secrets: readonly SecretEntry[];
}

/** What operator credentials act for in place of an account. It has no data, and nothing is counted for it. */
export const OPERATOR: Account = {
  ...{ aid: '', name: '', unmasked: false, paying: false, hosts: [] },
  preferences: readPreferences([]),
};

/** Opens the encrypted record of a credential. Rejects with `integrity_failed` for any other bytes. */
export function openCredential(crypto: Crypto, { aid, id }: CredentialName, record: Uint8Array) {
  return openJson<CredentialRecord>(crypto, aid, 'credential', id, record);
}

/** Encrypts the record of a credential, bound to its account and id. */
export function sealCredential(crypto: Crypto, { aid, id }: CredentialName, record: CredentialRecord) {
  return sealJson(crypto, aid, 'credential', id, record);
}

export function limitsOf(record: CredentialRecord): CredentialLimits {
  return { ...record, expiresAtMs: record.expiresAtMs ?? Number.POSITIVE_INFINITY };
}

/** The limits of the credential that a request acts with; undefined for the account itself. */
export function limitsOfCaller({ unmasked, credential }: Account): CredentialLimits | undefined {
  if (credential === undefined) {
    return undefined;
  }
  const { scopes, keys } = credential;
  return { ...credential, scopes: [...scopes], keys: keys && [...keys], unmasked };
}

/** The reason why a credential cannot be used with a secret: one of them has expired, or it no longer has this secret. */
export function endOf(
  { secrets, expiresAtMs = Number.POSITIVE_INFINITY }: CredentialRecord,
  digest: string,
  now: number,
): 'expired' | 'gone' | undefined {
  const secret = secrets.find((entry) => entry.digest === digest);
  if (secret === undefined) {
    return 'gone';
  }
  return Math.min(expiresAtMs, secret.untilMs ?? expiresAtMs) <= now ? 'expired' : undefined;
}
