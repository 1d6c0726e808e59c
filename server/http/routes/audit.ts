import { untilClosed } from '../../services/common/byte-stream.ts';
import { nextTokenHeader } from '../plugins/replies.ts';
import { defineRoute } from '../plugins/route.ts';
import { AuditEntries, AuditQuery } from '../schema/audit.ts';

const readAudit = defineRoute({
  method: 'GET',
  path: '/v1/audit',
  operationId: 'readAudit',
  noun: 'audit',
  summary: 'Read the security log',
  description:
    'What happened to the account, newest first: sign-ins, changes of keys, endpoints, rules, forms and certificates, refused decryptions, deletions, and what the operator did. Items have an action log of their own. A page may be short of `limit`, or empty: go on as long as there is an X-Vault-Next-Token. Reading is itself an entry.',
  auth: 'basic',
  query: AuditQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: AuditEntries,
  errors: ['cursor_invalid', 'integrity_failed'],
  meter: [],
  idempotent: false,
  audit: { action: 'audit.read', of: 'all' },
  handle: async ({ ctx, query, deps }) => {
    if (query.limit < 0) {
      const end = deps.admission.begin('list', ctx.account.aid);
      try {
        return { stream: untilClosed(await deps.audit.listAll(ctx, query), end) };
      } catch (error) {
        end();
        throw error;
      }
    }
    const { entries, nextToken } = await deps.audit.list(ctx, query);
    return { json: entries, headers: nextTokenHeader(nextToken) };
  },
});

export const AUDIT_ROUTES = [readAudit];
