/** Handlers of the jobs on action logs in `jobs.ts`, which says what each promises. */
import { formatStoredAt } from '../../../server/domain/text/time-text.ts';
import { type LogEntry, openLogEntry, tagOf } from '../../crypto/log/entry.ts';
import { equalBytes, IntegrityError } from '../../crypto/primitives/bytes.ts';
import type { ThreadHandlers } from '../context.ts';
import type { ITEM_JOBS } from './jobs.ts';
import { logEntry } from './records.ts';

/**
 * Whether a part of a log, newest first, is not what was written: an entry is in it twice, or does not name what lies
 * before it, because somebody moved or replaced one.
 */
function isBroken(entries: readonly LogEntry[], records: readonly Uint8Array[], newest: number): boolean {
  const tags = new Set(records.map((record) => Buffer.from(tagOf(record)).toString('base64')));
  if (tags.size < records.length) {
    return true;
  }
  return entries.some(({ seenLength, seenTag }, i) => {
    const position = newest - i;
    const named = seenLength === 0 ? undefined : records[newest - seenLength];
    return seenLength >= position || (named !== undefined && !equalBytes(seenTag, tagOf(named)));
  });
}

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
export const LOG_HANDLERS = {
  sealLog(context, { params, tail }) {
    return logEntry(context, params, params.token, params.action, tail);
  },

  readLog({ env, sealer }, { params: { aid, kid, token, newest }, entries: records }) {
    const entries = records.map((record) => openLogEntry(sealer, { env, aid, kid, token }, record));
    if (isBroken(entries, records, newest)) {
      throw new IntegrityError('log');
    }
    return entries.map((entry) => ({
      action: entry.action,
      source: entry.source,
      ip_address: entry.ip,
      user_agent: entry.userAgent,
      timestamp: formatStoredAt(entry.timeMs),
    }));
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
