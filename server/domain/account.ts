import type { Scope } from '../core/scopes.ts';
import { isWithinHosts, isWithinRanges } from './text/network.ts';

/** What the secret of a credential begins with; 43 characters of base64url follow, 256 random bits. */
export const SECRET_PREFIX = 'vak1_';
const ID_PREFIX = 'cred_';

const SECRET = /^vak1_[A-Za-z0-9_-]{43}$/;
const ID = /^cred_[A-Za-z0-9_-]{22}$/;

/** Whether a text has the form of a credential's secret. */
export function isCredentialSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Whether a text has the form of a credential's id, which no name of an account has. */
export function isCredentialId(text: string): boolean {
  return ID.test(text);
}

/** The id of a new credential, of a random id. */
export function credentialIdOf(random: string): string {
  return `${ID_PREFIX}${random}`;
}

/** What names the state of a credential in the security log: 32 hex digits of the digest of its newest secret. */
export function stateOfSecret(digest: string): string {
  return Buffer.from(digest, 'base64url').toString('hex').slice(0, 32);
}

/** What limits a credential. Times are ms since 1970. */
export interface CredentialLimits {
  readonly scopes: readonly Scope[];
  /** Undefined: all. */
  readonly keys?: readonly string[] | undefined;
  readonly unmasked: boolean;
  /** CIDRs in normal form; undefined: any. */
  readonly ips?: readonly string[] | undefined;
  /** Undefined: any. */
  readonly hosts?: readonly string[] | undefined;
  readonly expiresAtMs: number;
}

function isWithin(
  inner: readonly string[] | undefined,
  outer: readonly string[] | undefined,
  contains: (one: string, all: readonly string[]) => boolean,
): boolean {
  return outer === undefined || (inner?.every((one) => contains(one, outer)) ?? false);
}

/** Whether a credential may do nothing, and no longer, than another one may. */
export function isWithinLimits(inner: CredentialLimits, outer: CredentialLimits): boolean {
  const isPart = (one: string, all: readonly string[]): boolean => all.includes(one);
  return (
    isWithin(inner.scopes, outer.scopes, isPart) &&
    isWithin(inner.keys, outer.keys, isPart) &&
    isWithin(inner.ips, outer.ips, isWithinRanges) &&
    isWithin(inner.hosts, outer.hosts, isWithinHosts) &&
    (outer.unmasked || !inner.unmasked) &&
    inner.expiresAtMs <= outer.expiresAtMs
  );
}
