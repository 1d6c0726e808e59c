import type { OidcRole } from '../../core/settings.ts';

/** What the provider has said of a person. */
export type Claims = Readonly<Record<string, unknown>>;

/** Tells whether a claim is this text, or a list with it. An address that the provider has not verified may be anybody's. */
function fits(claims: Claims, claim: string, value: string): boolean {
  const told = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (claim === 'email' && claims['email_verified'] !== true) {
    return false;
  }
  return told === value || (Array.isArray(told) && told.includes(value));
}

/** The first pair that fits; undefined if the person has no access. */
export function roleOf(roles: readonly OidcRole[], claims: Claims): OidcRole | undefined {
  return roles.find(({ claim, value }) => fits(claims, claim, value));
}
