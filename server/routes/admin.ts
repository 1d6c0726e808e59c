import { defineRoute } from '../plugins/route.ts';
import { Billing, Usage, UsageQuery, WhoAmI } from '../schema/admin.ts';
import { NO_QUERY } from './endpoint.ts';

const COMMON = {
  noun: 'admin',
  auth: 'basic',
  passphrase: 'none',
  meter: [],
  idempotent: false,
} as const;

const whoami = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/whoami',
  operationId: 'whoami',
  summary: 'Check who you are',
  description: 'Returns the name of the account that the credentials belong to, and what it talks to.',
  query: NO_QUERY,
  body: { kind: 'none' },
  response: WhoAmI,
  errors: [],
  handle: async ({ caller, deps }) => ({ json: await deps.accounts.whoami(caller) }),
});

const readBilling = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/billing',
  operationId: 'readBilling',
  summary: 'Read what the month has cost so far',
  description:
    "Counts what the account has used since the month began (UTC) and multiplies it with the operator's prices. Amounts are decimal texts and exact.",
  query: NO_QUERY,
  body: { kind: 'none' },
  response: Billing,
  errors: [],
  handle: async ({ caller, deps }) => ({ json: await deps.admin.billing(caller) }),
});

const readUsage = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/usage',
  operationId: 'readUsage',
  summary: 'Read what the account uses',
  description:
    'Counts the keys and tokens that there are now, and the requests of a month that were answered with 2xx.',
  query: UsageQuery,
  body: { kind: 'none' },
  response: Usage,
  errors: ['integrity_failed'],
  handle: async ({ caller, query, deps }) => ({ json: await deps.admin.usage(caller, query.month) }),
});

export const ADMIN_ROUTES = [whoami, readBilling, readUsage];
