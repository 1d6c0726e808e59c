import type { OidcSettings } from '../../core/settings.ts';
import type { System } from '../assemble.ts';

/** The accounts that people shall act for and that do not exist, or not yet. */
export async function missingAccounts(
  { services: { accounts } }: System,
  oidc: OidcSettings | undefined,
): Promise<readonly string[]> {
  if (oidc === undefined) {
    return [];
  }
  const known = new Set((await accounts.list()).map(({ name }) => name));
  const wanted = new Set(oidc.roles.map(({ account }) => account));
  return [...wanted].filter((name) => !known.has(name));
}
