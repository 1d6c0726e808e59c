import { isInRanges } from '../../../server/domain/text/network.ts';
import {
  type AuditMarkKind,
  CHAIN_BEGIN,
  type ChainEntry,
  followsMark,
  type MarkFacts,
  openAuditEntry,
  openAuditMark,
  sealAuditEntry,
  sealAuditMark,
} from '../../crypto/log/audit-entry.ts';
import * as checkpoints from '../../crypto/log/checkpoint.ts';
import { openLogEntry } from '../../crypto/log/entry.ts';
import { IntegrityError, openedOrNot } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { AUDIT_JOBS, AuditFilter, ChainFault, OpenedEvent } from './jobs.ts';

function chainKey(context: ThreadContext, aid: string): Uint8Array {
  return context.rootKey('audit', aid);
}

function signingSeed(context: ThreadContext): Uint8Array {
  return context.rootKey('audit-sign', '');
}

function openMark(
  { sealer }: ThreadContext,
  aid: string,
  kind: AuditMarkKind,
  record: Uint8Array | undefined,
): MarkFacts {
  return record === undefined ? CHAIN_BEGIN : openAuditMark(sealer, aid, kind, record);
}

/** The token of the item that an entry names; undefined for any other object. */
function tokenOf(object: string): string | undefined {
  const [noun, , token] = object.split('/');
  return noun === 'item' ? token : undefined;
}

/** The vault key that an entry names; undefined for any other object. */
function keyOf(object: string): string | undefined {
  const [noun = '', key] = object.split('/');
  return ['key', 'item', 'items'].includes(noun) ? key : undefined;
}

function isOfKeys(object: string, keys: readonly string[]): boolean {
  const key = keyOf(object);
  return key === undefined || keys.includes(key);
}

function isWanted(entry: ChainEntry, wanted: AuditFilter): boolean {
  const { timeMs, action, actor, ip, outcome, object } = entry;
  return (
    (wanted.action === undefined || wanted.action === action) &&
    (wanted.token === undefined || wanted.token === tokenOf(object)) &&
    (wanted.actor === undefined || wanted.actor === actor) &&
    (wanted.outcome === undefined || wanted.outcome === outcome) &&
    (wanted.source_ip === undefined || isInRanges(ip, [wanted.source_ip])) &&
    (wanted.keys === undefined || isOfKeys(object, wanted.keys)) &&
    (wanted.after === undefined || timeMs >= wanted.after) &&
    (wanted.before === undefined || timeMs < wanted.before)
  );
}

function eventOf({ mark, previous: _, ...event }: ChainEntry): OpenedEvent {
  return { sequence: mark.sequence, ...event };
}

function faultOf(
  entry: ChainEntry,
  end: MarkFacts,
  links: ReadonlyMap<number, string>,
): ChainFault | undefined {
  if (!followsMark(entry, end)) {
    return 'broken';
  }
  const link = links.get(entry.mark.sequence);
  return link !== undefined && link !== entry.mark.link ? 'replaced' : undefined;
}

export const AUDIT_HANDLERS: ThreadHandlers<typeof AUDIT_JOBS> = {
  sealAudit(context, { aid, head, events }) {
    const key = chainKey(context, aid);
    let mark = openMark(context, aid, 'head', head);
    let revision = mark.revision ?? 0;
    const entries = events.map((event) => {
      const next = sealAuditEntry(context.sealer, key, aid, mark, event);
      mark = next.mark;
      revision = event.change?.kind === 'account' ? Math.max(revision, event.change.revision) : revision;
      return next.record;
    });
    return { mark, head: sealAuditMark(context.sealer, aid, 'head', { ...mark, revision }), entries };
  },

  describeChain(context, { aid, head, start }) {
    return {
      head: openMark(context, aid, 'head', head),
      start: openMark(context, aid, 'start', start),
    };
  },

  readAudit(context, { aid, newest, filter, known, entries }) {
    const key = chainKey(context, aid);
    const events: OpenedEvent[] = [];
    let latestMs = 0;
    for (const [i, record] of entries.entries()) {
      const entry = openAuditEntry(context.sealer, key, aid, newest - i, record);
      latestMs = entry.mark.latestMs;
      if (known.some(({ sequence, link }) => sequence === newest - i && link !== entry.mark.link)) {
        throw new IntegrityError('security log');
      }
      if (isWanted(entry, filter)) {
        events.push(eventOf(entry));
      }
    }
    return { events, latestMs };
  },

  streamAudit(context, { aid, first, entries }) {
    const key = chainKey(context, aid);
    return entries.map((record, i) => {
      const entry = openedOrNot(() => openAuditEntry(context.sealer, key, aid, first + i, record));
      return entry === undefined ? null : eventOf(entry);
    });
  },

  streamLogs({ env, sealer }, { params: { aid, kid, tokens }, entries }) {
    return entries.map((record, i) => {
      const place = { env, aid, kid, token: tokens[i] ?? '' };
      const entry = openedOrNot(() => openLogEntry(sealer, place, record));
      if (entry === undefined) {
        return null;
      }
      const { seenLength: _, seenTag: __, ...shown } = entry;
      return shown;
    });
  },

  readChanges(context, { aid, first, entries }) {
    const key = chainKey(context, aid);
    return entries.flatMap((record, i) => {
      const entry = openedOrNot(() => openAuditEntry(context.sealer, key, aid, first + i, record));
      return entry?.change ? [entry.change] : [];
    });
  },

  verifyAudit(context, { aid, before, known, entries }) {
    const key = chainKey(context, aid);
    const links = new Map(known.map(({ sequence, link }) => [sequence, link]));
    let end = before;
    for (const record of entries) {
      const sequence = end.sequence + 1;
      const entry = openedOrNot(() => openAuditEntry(context.sealer, key, aid, sequence, record));
      const fault = entry ? faultOf(entry, end, links) : 'damaged';
      if (fault !== undefined || entry === undefined) {
        return { end, fault: fault ?? 'damaged' };
      }
      end = entry.mark;
    }
    return { end };
  },

  trimAudit(context, { aid, beforeMs, start, entries }) {
    const key = chainKey(context, aid);
    let mark = start;
    for (const record of entries) {
      const entry = openAuditEntry(context.sealer, key, aid, mark.sequence + 1, record);
      if (!followsMark(entry, mark)) {
        throw new IntegrityError('security log entry');
      }
      if (entry.timeMs >= beforeMs) {
        break;
      }
      mark = entry.mark;
    }
    const hasMoved = mark.sequence > start.sequence;
    return {
      mark,
      record: hasMoved ? sealAuditMark(context.sealer, aid, 'start', mark) : undefined,
    };
  },

  signCheckpoint(context, { aid, head, timeMs }) {
    const { sequence, link } = openMark(context, aid, 'head', head);
    const time = new Date(timeMs).toISOString();
    return checkpoints.signCheckpoint(signingSeed(context), context.env, {
      account: aid,
      sequence,
      head: link,
      time,
    });
  },

  checkCheckpoint(context, { checkpoint }) {
    if (!checkpoints.isOwnCheckpoint(signingSeed(context), context.env, checkpoint)) {
      throw new IntegrityError('checkpoint');
    }
  },

  auditKey(context) {
    return checkpoints.checkpointKey(signingSeed(context));
  },
};
