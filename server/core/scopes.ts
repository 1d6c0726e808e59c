/** The permissions of credentials, in the order of the documents. Each route that needs an account requires one. */
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
  'person:write',
  'vault:export',
  'event:write',
] as const;

/** The scope of operator credentials, which belong to no account; no credential of an account can have it. */
export const OPERATOR_SCOPE = 'account:write';

export type Scope = (typeof SCOPES)[number] | typeof OPERATOR_SCOPE;
