import { VaultError } from '../core/errors.ts';
import type { Scope } from '../core/scopes.ts';
import { keepsDigits } from '../domain/card/token-format.ts';
import { needsReveal } from '../domain/connection/connection.ts';
import type { Sight } from '../domain/relay/sight.ts';
import { isInRanges } from '../domain/text/network.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { Account, SignedInPerson } from './context.ts';

/** Returns the error for an action outside of a caller's rights; `missing` names the missing right. */
export function outsideScope({ credential }: Account, missing: string, scope?: Scope): VaultError {
  const who = credential?.person === undefined ? 'credential' : 'person';
  const expected = `of this ${who} does not include ${missing}`;
  return new VaultError('not_allowed', { field: 'scope', expected, scope });
}

/** True if a caller has a scope. A password has all. */
export function hasScope({ credential }: Account, scope: Scope): boolean {
  return credential === undefined || credential.scopes.has(scope);
}

/** Rejects a caller with none of these scopes. */
export function requireScope(account: Account, ...scopes: readonly Scope[]): void {
  if (!scopes.some((scope) => hasScope(account, scope))) {
    throw outsideScope(account, scopes.map((scope) => `\`${scope}\``).join(' or '), scopes[0]);
  }
}

/** Rejects a caller whose address is not one of the credential's. */
export function requireSource(account: Account, ip: string): void {
  const { credential } = account;
  if (credential?.ips !== undefined && !isInRanges(ip, credential.ips)) {
    throw outsideScope(account, 'your address');
  }
}

export function mayUseKey({ credential }: Account, user: string): boolean {
  return credential?.keys?.has(user) ?? true;
}

/** Rejects a destination outside the hosts of the credential (`not_allowed`) or the account (`destination_refused`). */
export async function vetTarget(
  thirdParties: ThirdParties,
  account: Account,
  url: string,
  field: string,
): Promise<void> {
  const { hosts, credential } = account;
  if (credential?.hosts && !thirdParties.isListed(url, credential.hosts)) {
    throw outsideScope(account, 'this host');
  }
  await thirdParties.vet(url, hosts, field);
}

/** Tells whether a caller may see who or what is limited to these keys: names of keys that it may not use are not for it. */
export function mayKnowKeys(account: Account, keys: readonly string[] | undefined): boolean {
  return keys?.every((user) => mayUseKey(account, user)) ?? true;
}

export function requireKey(account: Account, user: string): void {
  if (!mayUseKey(account, user)) {
    throw outsideScope(account, 'this key');
  }
}

export function requireUnmasked(account: Account): void {
  const { credential, unmasked } = account;
  if (!unmasked) {
    throw credential === undefined ? new VaultError('not_allowed') : outsideScope(account, 'unmasked output');
  }
}

/** Returns the person who acts. Rejects a caller that is none with `not_allowed`. */
export function personOf({ credential }: Account): SignedInPerson {
  if (credential?.person === undefined) {
    const expected = 'must be those of a person who has signed in at the console';
    throw new VaultError('not_allowed', { field: 'credentials', expected });
  }
  return credential.person;
}

/** True if a caller may decide what others see: the account, or a credential that reads unmasked. See {@link sightOf}. */
export function mayReveal(account: Account): boolean {
  return account.credential === undefined || (hasScope(account, 'vault:read') && account.unmasked);
}

/** Rejects, at its field, a setting that decides what others see, unless the caller may do so. */
export function requireReveal(account: Account, field: string): void {
  if (!mayReveal(account)) {
    throw needsReveal(field);
  }
}

/** Rejects, at its field, an algorithm whose tokens keep digits of the number: it decides what others see. */
export function requireAlgorithm(account: Account, algorithm: string | undefined, field: string): void {
  if (algorithm !== undefined && keepsDigits(algorithm)) {
    requireReveal(account, field);
  }
}

/** Returns how much a caller sees of the replies of third parties. */
export function sightOf(account: Account): Sight {
  if (!hasScope(account, 'vault:read')) {
    return 'named';
  }
  return account.unmasked ? 'all' : 'masked';
}
