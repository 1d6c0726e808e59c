import { nextTokenHeader } from '../http/reply.ts';
import { defineRoute } from '../http/route.ts';
import type { ExpiringThings } from './expiring.ts';
import { ExpiringList, ExpiringQuery } from './schema.ts';

interface Needs {
  readonly expiring: ExpiringThings;
}

const listExpiring = defineRoute({
  method: 'GET',
  path: '/v1/expiring',
  operationId: 'listExpiring',
  scope: 'usage:read',
  noun: 'admin',
  summary: 'List what expires',
  description:
    'Lists certificates, API credentials and long-lived endpoints that expire within a time, 30 days by default, the soonest first. A credential that is limited to vault keys sees endpoints of these, and only credentials that are limited to them. The metric `vault_expiring` counts the same over all accounts.',
  auth: 'basic',
  query: ExpiringQuery,
  response: ExpiringList,
  errors: ['cursor_invalid'],
  meter: [],
  handle: async ({ ctx, query }, services: Needs) => {
    const { found, nextToken } = await services.expiring.list(ctx, query);
    return { json: found, headers: nextTokenHeader(nextToken) };
  },
});

export const EXPIRING_ROUTES = [listExpiring];
