/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import * as checkpoints from '../../crypto/log/audit-checkpoint.ts';
import {
  type AuditEntry,
  type AuditMark,
  type AuditMarkKind,
  CHAIN_BEGIN,
  followsMark,
  openAuditEntry,
  openAuditMark,
  sealAuditEntry,
  sealAuditMark,
} from '../../crypto/log/audit-entry.ts';
import { equalBytes, IntegrityError } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext } from '../context.ts';
import type { In, Out } from '../define.ts';
import { openedOrNot } from '../failure.ts';
import type { AUDIT_JOBS, AuditFilter, ChainFault, MarkFacts, OpenedEvent } from './jobs.ts';

type Jobs = typeof AUDIT_JOBS;

function chainKey(context: ThreadContext, aid: string): Uint8Array {
  return context.rootKey('audit', aid);
}

function signingSeed(context: ThreadContext): Uint8Array {
  return context.rootKey('audit-sign', '');
}

function factsOf({ link, ...mark }: AuditMark): MarkFacts {
  return { ...mark, link: link.toHex() };
}

function markOf({ link, ...facts }: MarkFacts): AuditMark {
  return { ...facts, link: Uint8Array.fromHex(link) };
}

function openMark(
  { sealer }: ThreadContext,
  aid: string,
  kind: AuditMarkKind,
  record: Uint8Array | undefined,
): AuditMark {
  return record === undefined ? CHAIN_BEGIN : openAuditMark(sealer, aid, kind, record);
}

export function sealAudit(
  context: ThreadContext,
  { aid, head, events }: In<Jobs['sealAudit']>,
): Out<Jobs['sealAudit']> {
  const key = chainKey(context, aid);
  let mark = openMark(context, aid, 'head', head);
  const entries = events.map((event) => {
    const next = sealAuditEntry(context.sealer, key, aid, mark, event);
    mark = next.mark;
    return next.record;
  });
  return { mark: factsOf(mark), head: sealAuditMark(context.sealer, aid, 'head', mark), entries };
}

export function describeChain(
  context: ThreadContext,
  { aid, head, start }: In<Jobs['describeChain']>,
): Out<Jobs['describeChain']> {
  return {
    head: factsOf(openMark(context, aid, 'head', head)),
    start: factsOf(openMark(context, aid, 'start', start)),
  };
}

/** The token that an entry is about: the last part of the name of an item. */
function tokenOf(object: string): string | undefined {
  const [noun, , token] = object.split('/');
  return noun === 'item' ? token : undefined;
}

function isWanted({ timeMs, action, object }: AuditEntry, wanted: AuditFilter): boolean {
  return (
    (wanted.action === undefined || wanted.action === action) &&
    (wanted.token === undefined || wanted.token === tokenOf(object)) &&
    (wanted.after === undefined || timeMs >= wanted.after) &&
    (wanted.before === undefined || timeMs < wanted.before)
  );
}

export function readAudit(
  context: ThreadContext,
  { aid, newest, filter, entries }: In<Jobs['readAudit']>,
): Out<Jobs['readAudit']> {
  const key = chainKey(context, aid);
  const events: OpenedEvent[] = [];
  let latestMs = 0;
  for (const [i, record] of entries.entries()) {
    const entry = openAuditEntry(context.sealer, key, aid, newest - i, record);
    latestMs = entry.mark.latestMs;
    if (isWanted(entry, filter)) {
      const { mark, previous: _, ...event } = entry;
      events.push({ sequence: mark.sequence, ...event });
    }
  }
  return { events, latestMs };
}

function faultOf(
  entry: AuditEntry,
  end: AuditMark,
  links: ReadonlyMap<number, Uint8Array>,
): ChainFault | undefined {
  if (!followsMark(entry, end)) {
    return 'broken';
  }
  const link = links.get(entry.mark.sequence);
  return link !== undefined && !equalBytes(link, entry.mark.link) ? 'replaced' : undefined;
}

export function verifyAudit(
  context: ThreadContext,
  { aid, before, known, entries }: In<Jobs['verifyAudit']>,
): Out<Jobs['verifyAudit']> {
  const key = chainKey(context, aid);
  const links = new Map(known.map(({ sequence, link }) => [sequence, Uint8Array.fromHex(link)]));
  let end = markOf(before);
  for (const record of entries) {
    const sequence = end.sequence + 1;
    const entry = openedOrNot(() => openAuditEntry(context.sealer, key, aid, sequence, record));
    const fault = entry ? faultOf(entry, end, links) : 'damaged';
    if (fault !== undefined || entry === undefined) {
      return { end: factsOf(end), fault: fault ?? 'damaged' };
    }
    end = entry.mark;
  }
  return { end: factsOf(end) };
}

export function trimAudit(
  context: ThreadContext,
  { aid, beforeMs, start, entries }: In<Jobs['trimAudit']>,
): Out<Jobs['trimAudit']> {
  const key = chainKey(context, aid);
  let mark = markOf(start);
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
    mark: factsOf(mark),
    record: hasMoved ? sealAuditMark(context.sealer, aid, 'start', mark) : undefined,
  };
}

export function signCheckpoint(
  context: ThreadContext,
  { aid, head, timeMs }: In<Jobs['signCheckpoint']>,
): Out<Jobs['signCheckpoint']> {
  const { sequence, link } = factsOf(openMark(context, aid, 'head', head));
  const time = new Date(timeMs).toISOString();
  return checkpoints.signCheckpoint(signingSeed(context), context.env, {
    account: aid,
    sequence,
    head: link,
    time,
  });
}

export function checkCheckpoint(context: ThreadContext, { checkpoint }: In<Jobs['checkCheckpoint']>): void {
  if (!checkpoints.isOwnCheckpoint(signingSeed(context), context.env, checkpoint)) {
    throw new IntegrityError('checkpoint');
  }
}

export function auditKey(context: ThreadContext): Out<Jobs['auditKey']> {
  return checkpoints.checkpointKey(signingSeed(context));
}
