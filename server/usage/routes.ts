import { defineRoute } from '../http/route.ts';
import { NO_QUERY } from '../schema/common.ts';
import { Billing, Usage, UsageQuery } from './schema.ts';
import type { UsageReports } from './usage.ts';

/** Services of these routes. */
interface Needs {
  readonly usage: UsageReports;
}

/** Reports, which change nothing and are not metered. */
const COMMON = {
  method: 'GET',
  noun: 'admin',
  auth: 'basic',
  scope: 'usage:read',
  passphrase: 'none',
  meter: [],
  idempotent: false,
} as const;

const readBilling = defineRoute({
  ...COMMON,
  path: '/v1/billing',
  operationId: 'readBilling',
  summary: 'Read the cost of the current month',
  description:
    "Multiplies the operations of the account since the start of the month (UTC) by the operator's prices. Amounts are exact decimal strings.",
  query: NO_QUERY,
  body: { kind: 'none' },
  response: Billing,
  errors: [],
  handle: async ({ ctx }, services: Needs) => ({ json: await services.usage.billing(ctx) }),
});

const readUsage = defineRoute({
  ...COMMON,
  path: '/v1/usage',
  operationId: 'readUsage',
  summary: 'Read the usage of the account',
  description: 'Counts the existing keys and tokens, and the requests of a month with a 2xx reply.',
  query: UsageQuery,
  body: { kind: 'none' },
  response: Usage,
  errors: [],
  handle: async ({ ctx, query }, services: Needs) => ({ json: await services.usage.usage(ctx, query) }),
});

export const USAGE_ROUTES = [readBilling, readUsage];
