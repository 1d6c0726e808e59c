import { untilClosed } from '../core/byte-stream.ts';
import { nextTokenHeader } from '../http/reply.ts';
import { defineRoute } from '../http/route.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AuditListing } from './listing.ts';
import { AuditEntries, AuditQuery } from './schema.ts';

interface Needs {
  readonly limiter: Limiter;
  readonly auditListing: AuditListing;
}

const readAudit = defineRoute({
  method: 'GET',
  path: '/v1/audit',
  operationId: 'readAudit',
  scope: 'audit:read',
  noun: 'audit',
  summary: 'Read the security log',
  description:
    'Lists the events of the account, newest first: sign-ins, changes of keys, endpoints, rules, forms and certificates, failed decryptions, deletions, and actions of the operator. Each item has its own action log. A page may have fewer entries than `limit`, or none: continue while the reply has X-Vault-Next-Token. Reading the log adds an entry.',
  auth: 'basic',
  query: AuditQuery,
  response: AuditEntries,
  errors: ['cursor_invalid'],
  meter: [],
  audit: { action: 'audit.read' },
  handle: async ({ ctx, query }, services: Needs) => {
    if (query.limit < 0) {
      const end = await services.limiter.hold('list', ctx.account.aid);
      try {
        return { stream: untilClosed(await services.auditListing.listAll(ctx, query), end) };
      } catch (error) {
        end();
        throw error;
      }
    }
    const { entries, nextToken } = await services.auditListing.list(ctx, query);
    return { json: entries, headers: nextTokenHeader(nextToken) };
  },
});

export const AUDIT_ROUTES = [readAudit];
