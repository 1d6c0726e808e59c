import { SCOPES, type Scope } from './scopes.ts';

/** The roles of people, those with the most rights first. */
export const ROLES = ['owner', 'admin', 'developer', 'support', 'auditor'] as const;

export type Role = (typeof ROLES)[number];

function allBut(...others: readonly Scope[]): readonly Scope[] {
  return SCOPES.filter((scope) => !others.includes(scope));
}

/** The scopes of each role: fixed sets, so that a role means the same in every account. */
export const SCOPES_OF_ROLE: Readonly<Record<Role, readonly Scope[]>> = {
  owner: SCOPES,
  admin: allBut('vault:export'),
  developer: allBut(
    ...(['vault:store', 'vault:read', 'vault:update', 'vault:delete', 'vault:export'] as const),
    ...(['person:write', 'credential:write'] as const),
  ),
  support: [
    ...(['vault:list', 'vault:read', 'vault:log', 'retrieve:write'] as const),
    ...(['job:read', 'audit:read', 'usage:read'] as const),
  ],
  auditor: SCOPES.filter((scope) => /:(?:list|log|read)$/.test(scope) && scope !== 'vault:read'),
};
