/** The security log of the account. */

import type { CallOptions } from '../transport/call.ts';
import { fetchPage, type Page, type Pages, pagesOf } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type { AuditEntry, ReadAudit } from '../transport/types.ts';

/**
 * The security log of the account. Each call is itself an entry of it.
 * @see /guide/audit
 */
export interface AuditCalls {
  /**
   * One page of the log, newest first; at most 1,024 entries unless `limit` says otherwise. A page of a narrow
   * filter may be empty and still have a next one.
   * @see /guide/audit
   * @throws `cursor_invalid`
   * @example
   * const { data } = await client.audit.list({ action: 'key.delete', after: '2026-01-01T00:00:00Z' });
   */
  readonly list: (query?: ReadAudit, options?: CallOptions) => Promise<Page<AuditEntry[]>>;
  /**
   * The whole log, page by page, from `next_token` if given. New entries do not change the pages.
   * @see /guide/audit
   * @throws `cursor_invalid`
   * @example
   * for await (const { data } of client.audit.pages()) {
   *   const failed = data.filter(({ outcome }) => outcome !== 'success');
   * }
   */
  readonly pages: (query?: ReadAudit, options?: CallOptions) => Pages<AuditEntry[]>;
}

/** The calls of the security log. */
export function createAuditCalls(transport: Transport): AuditCalls {
  const list: AuditCalls['list'] = (query, options) =>
    fetchPage(transport, { method: 'GET', path: ['audit'], repeat: 'always', query, options });

  return {
    list,
    pages: pagesOf(list),
  };
}
