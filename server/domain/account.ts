import { createHash } from 'node:crypto';
import type { Scope } from '../core/scopes.ts';
import { isWithinHosts, isWithinRanges } from './text/network.ts';

/** Prefix of a credential's secret, before 43 characters of base64url (256 random bits). */
export const SECRET_PREFIX = 'vak1_';
const ID_PREFIX = 'cred_';

const SECRET = /^vak1_[A-Za-z0-9_-]{43}$/;
const ID = /^cred_[A-Za-z0-9_-]{22}$/;

export function isCredentialSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Tells whether a text has the form of a credential's id, which no account name has. */
export function isCredentialId(text: string): boolean {
  return ID.test(text);
}

export function credentialIdOf(random: string): string {
  return `${ID_PREFIX}${random}`;
}

const PERSON_ID = /^pers_[A-Za-z0-9_-]{22}$/;

export function isPersonId(text: string): boolean {
  return PERSON_ID.test(text);
}

export function personIdOf(random: string): string {
  return `pers_${random}`;
}

/** Name of a credential's state in the audit log: 32 hex digits of the digest of its newest secret. */
export function stateOfSecret(digest: string): string {
  return Buffer.from(digest, 'base64url').toString('hex').slice(0, 32);
}

/** What of a person's record changes with its rights and its ways to sign in. */
export interface PersonState {
  readonly role: string;
  readonly keys?: readonly string[];
  readonly unmasked: boolean;
  readonly epoch: number;
  readonly passkeys: readonly { readonly id: string }[];
  readonly invitation?: { readonly digest: string };
}

/** Name of a person's state in the audit log: 32 hex digits of a digest. */
export function stateOfPerson({ role, keys, unmasked, epoch, passkeys, invitation }: PersonState): string {
  const state = [role, keys, unmasked, epoch, passkeys.map(({ id }) => id), invitation?.digest];
  return createHash('sha256').update(JSON.stringify(state)).digest('hex').slice(0, 32);
}

/** Limits of a credential. Times are ms since 1970. */
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

/** Tells whether a credential has no right that another lacks, and no longer. */
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

export interface PasswordHash {
  /** A PHC string; that of a generated password begins with `FAST_HASH_PREFIX`. */
  readonly phc: string;
  /**
   * A chosen password with the form of a generated one, stretched all the same. Stretched passwords of records without
   * this flag may have either form.
   */
  readonly stretched?: boolean | undefined;
}

/** The previous password, valid until a time, ms since 1970. */
export interface FormerPassword extends PasswordHash {
  readonly untilMs: number;
}

/** Characters of a generated password, six random bits each. */
export const GENERATED_CHARACTERS = 43;

/** The prefix of the hash of a generated password; that of any other is a PHC string of Argon2id. */
export const FAST_HASH_PREFIX = '$hmac-sha256$v=1$';

/** Separates the hash of a password from the id of the root that its pepper derives from. */
export const PEPPER_MARK = '@';

/** Revision of a removed account's record, higher than any stored one. */
export const REVISION_GONE: number = Number.MAX_SAFE_INTEGER;

/** Tells whether a password has the form of a generated one, as a chosen one may too. */
export function hasGeneratedForm(password: Uint8Array): boolean {
  return password.length === GENERATED_CHARACTERS && password.every(isBase64Url);
}

function isBase64Url(code: number): boolean {
  const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return isLetter || (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x5f;
}

export function isFastHash(hash: string): boolean {
  return hash.startsWith(FAST_HASH_PREFIX);
}

/** The id of the root in a hash; undefined for a vault whose root was never rotated. */
export function pepperIdOf(hash: string): string | undefined {
  return hash.split(PEPPER_MARK)[1];
}
