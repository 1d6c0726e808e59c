import type { Scope } from '../../core/scopes.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { CredentialLimits } from '../../domain/account.ts';
import type { Account } from '../../request/context.ts';
import type { CredentialName } from './store.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The digest of a secret of a credential. */
interface SecretEntry {
  readonly digest: string;
  /** Its end, ms since 1970; the newest secret has none. */
  readonly untilMs?: number;
}

/** The record of a credential. Its limits never change. */
export interface CredentialRecord {
  /** The name of its account. */
  readonly account: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly keys?: readonly string[];
  readonly unmasked: boolean;
  readonly ips?: readonly string[];
  readonly hosts?: readonly string[];
  readonly created_at: string;
  /** ms since 1970. */
  readonly expiresAtMs?: number;
  /** The newest first; the previous one may stay valid for a while. */
  readonly secrets: readonly SecretEntry[];
}

function placeOf({ aid, id }: CredentialName) {
  return { purpose: 'record', account: aid, kind: 'credential', path: [id] } as const;
}

/** Opens the encrypted record of a credential. Rejects with `integrity_failed` for any other bytes. */
export async function openCredential(
  crypto: Crypto,
  name: CredentialName,
  record: Uint8Array,
): Promise<CredentialRecord> {
  const opened = await crypto.openRecord({ place: placeOf(name), record });
  return JSON.parse(decoder.decode(opened)) as CredentialRecord; // The record is authenticated.
}

/** Encrypts the record of a credential, bound to its account and id. */
export function sealCredential(
  crypto: Crypto,
  name: CredentialName,
  record: CredentialRecord,
): Promise<Uint8Array> {
  return crypto.sealRecord({ place: placeOf(name), plaintext: encoder.encode(JSON.stringify(record)) });
}

/** The limits of a record. */
export function limitsOf({
  scopes,
  keys,
  unmasked,
  ips,
  hosts,
  expiresAtMs,
}: CredentialRecord): CredentialLimits {
  return { scopes, keys, unmasked, ips, hosts, expiresAtMs: expiresAtMs ?? Number.POSITIVE_INFINITY };
}

/** The limits of the credential that a request acts with; undefined for the account itself. */
export function limitsOfCaller({ unmasked, credential }: Account): CredentialLimits | undefined {
  if (credential === undefined) {
    return undefined;
  }
  const { scopes, keys, ips, hosts, expiresAtMs } = credential;
  return { scopes: [...scopes], keys: keys && [...keys], unmasked, ips, hosts, expiresAtMs };
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
