/** What API credentials may do. An account's password may do everything that the account may. */

import { VaultError } from '../core/errors.ts';
import type { Scope } from '../core/scopes.ts';
import { keepsDigits } from '../domain/card/token-format.ts';
import { needsReveal } from '../domain/connection/connection.ts';
import type { Sight } from '../domain/relay/sight.ts';
import { isInRanges } from '../domain/text/network.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { Account } from './context.ts';

/** The rejection of what is outside of a credential's rights; `missing` is what these do not include. */
export function outsideScope(missing: string, scope?: Scope): VaultError {
  const expected = `of this credential does not include ${missing}`;
  return new VaultError('not_allowed', { field: 'scope', expected, scope });
}

/** Whether a caller may do what a scope is for. */
export function hasScope({ credential }: Pick<Account, 'credential'>, scope: Scope): boolean {
  return credential === undefined || credential.scopes.has(scope);
}

/** Rejects a caller who has none of these scopes. */
export function requireScope(account: Pick<Account, 'credential'>, ...scopes: readonly Scope[]): void {
  if (!scopes.some((scope) => hasScope(account, scope))) {
    throw outsideScope(scopes.map((scope) => `\`${scope}\``).join(' or '), scopes[0]);
  }
}

/** Rejects a caller at another address than the credential is for. */
export function requireSource({ credential }: Pick<Account, 'credential'>, ip: string): void {
  if (credential?.ips !== undefined && !isInRanges(ip, credential.ips)) {
    throw outsideScope('your address');
  }
}

/** Whether a caller may use the vault key of this name. */
export function mayUseKey({ credential }: Pick<Account, 'credential'>, user: string): boolean {
  return credential?.keys?.has(user) ?? true;
}

/**
 * Rejects a destination that an account, or a credential, may not reach: one outside a credential's hosts with `not_allowed`,
 * any other with `destination_refused` at `field`. What is sent later is checked again then.
 */
export async function vetTarget(
  thirdParties: Pick<ThirdParties, 'isListed' | 'vet'>,
  { hosts, credential }: Pick<Account, 'credential' | 'hosts'>,
  url: string,
  field: string,
): Promise<void> {
  if (credential?.hosts && !thirdParties.isListed(url, credential.hosts)) {
    throw outsideScope('this host');
  }
  await thirdParties.vet(url, hosts, field);
}

/** Rejects the use of another vault key than the credential is for. */
export function requireKey(account: Pick<Account, 'credential'>, user: string): void {
  if (!mayUseKey(account, user)) {
    throw outsideScope('this key');
  }
}

/** Rejects a caller who sees numbers masked. */
export function requireUnmasked({ credential, unmasked }: Pick<Account, 'credential' | 'unmasked'>): void {
  if (!unmasked) {
    throw credential === undefined ? new VaultError('not_allowed') : outsideScope('unmasked output');
  }
}

/**
 * Whether a caller may decide what others see: the account itself, or a credential that reads without a mask. An account that
 * is masked itself is no exception: what it sees is a matter of {@link sightOf}.
 */
export function mayReveal(account: Pick<Account, 'credential' | 'unmasked'>): boolean {
  return account.credential === undefined || (hasScope(account, 'vault:read') && account.unmasked);
}

/** Rejects, at its place, what only a caller may set who may decide what others see. */
export function requireReveal(account: Pick<Account, 'credential' | 'unmasked'>, field: string): void {
  if (!mayReveal(account)) {
    throw needsReveal(field);
  }
}

/** Rejects, at its place, an algorithm whose tokens keep digits of the number: it decides what others see. */
export function requireAlgorithm(
  account: Pick<Account, 'credential' | 'unmasked'>,
  algorithm: string | undefined,
  field: string,
): void {
  if (algorithm !== undefined && keepsDigits(algorithm)) {
    requireReveal(account, field);
  }
}

/** How much a caller sees of the replies of third parties. */
export function sightOf(account: Pick<Account, 'credential' | 'unmasked'>): Sight {
  if (!hasScope(account, 'vault:read')) {
    return 'named';
  }
  return account.unmasked ? 'all' : 'masked';
}
