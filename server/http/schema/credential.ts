import { type Static, Type } from '@sinclair/typebox';

/** What credentials can be allowed, in the order of the documents. Each route that needs an account names its own. */
export const SCOPES = [
  'vault:store',
  'vault:list',
  'vault:read',
  'vault:update',
  'vault:delete',
  'vault:log',
  'key:read',
  'key:write',
  'capture:write',
  'retrieve:write',
  'form:write',
  'rule:read',
  'rule:write',
  'proxy:send',
  'proxy:fetch',
  'cert:write',
  'job:read',
  'job:write',
  'connection:read',
  'connection:write',
  'audit:read',
  'usage:read',
  'preference:write',
  'credential:write',
  'vault:export',
] as const;

export const Scope = Type.Union(
  SCOPES.map((scope) => Type.Literal(scope)),
  { description: 'One thing that a credential may do.', examples: ['proxy:send'] },
);
export type Scope = Static<typeof Scope>;
