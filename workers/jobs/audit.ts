/** Jobs on security logs: seal what follows a head, open, verify and cut chains, sign and check checkpoints. */
import { checkpointKey, isOwnCheckpoint, signCheckpoint as signed } from '../crypto/log/audit-checkpoint.ts';
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
} from '../crypto/log/audit-entry.ts';
import { equalBytes, IntegrityError } from '../crypto/primitives/bytes.ts';
import type {
  AuditFilter,
  ChainFacts,
  ChainFault,
  ChainParams,
  CheckCheckpointParams,
  MarkFacts,
  OpenedEvent,
  ReadAuditFacts,
  ReadAuditParams,
  SealAuditParams,
  SignCheckpointParams,
  TrimAuditParams,
  VerifyAuditFacts,
  VerifyAuditParams,
} from './audit-kinds.ts';
import {
  EMPTY,
  field,
  type Handler,
  JobFailure,
  paramsOf,
  type ThreadContext,
  toBytes,
  toJsonBytes,
} from './context.ts';

const chainKey = (context: ThreadContext, aid: string): Uint8Array => context.rootKey('audit', aid);
const signingSeed = (context: ThreadContext): Uint8Array => context.rootKey('audit-sign', '');

const factsOf = ({ link, ...mark }: AuditMark): MarkFacts => ({
  ...mark,
  link: Buffer.from(link).toString('hex'),
});
const markOf = ({ link, ...facts }: MarkFacts): AuditMark => ({ ...facts, link: Uint8Array.fromHex(link) });

const openMark = (context: ThreadContext, aid: string, kind: AuditMarkKind, record: Uint8Array): AuditMark =>
  record.length === 0 ? CHAIN_BEGIN : openAuditMark(context.sealer, aid, kind, record);

export const sealAudit: Handler = (context, fields) => {
  const { aid, events } = paramsOf<SealAuditParams>(fields);
  const key = chainKey(context, aid);
  let mark = openMark(context, aid, 'head', field(fields, 1));
  const records = events.map((event) => {
    const next = sealAuditEntry(context.sealer, key, aid, mark, event);
    mark = next.mark;
    return next.record;
  });
  const facts = factsOf(mark);
  return [toJsonBytes(facts), sealAuditMark(context.sealer, aid, 'head', mark), ...records];
};

export const describeChain: Handler = (context, fields) => {
  const { aid } = paramsOf<ChainParams>(fields);
  const facts: ChainFacts = {
    head: factsOf(openMark(context, aid, 'head', field(fields, 1))),
    start: factsOf(openMark(context, aid, 'start', field(fields, 2))),
  };
  return [toJsonBytes(facts)];
};

/** The token that an entry is about: the last part of the name of an item. */
const tokenOf = (object: string): string | undefined => {
  const [noun, , token] = object.split('/');
  return noun === 'item' ? token : undefined;
};

const isWanted = ({ timeMs, action, object }: AuditEntry, wanted: AuditFilter): boolean =>
  (wanted.action === undefined || wanted.action === action) &&
  (wanted.token === undefined || wanted.token === tokenOf(object)) &&
  (wanted.after === undefined || timeMs >= wanted.after) &&
  (wanted.before === undefined || timeMs < wanted.before);

export const readAudit: Handler = (context, fields) => {
  const { aid, newest, ...filter } = paramsOf<ReadAuditParams>(fields);
  const key = chainKey(context, aid);
  const events: OpenedEvent[] = [];
  let latestMs = 0;
  for (let i = 1; i < fields.length; i++) {
    const entry = openAuditEntry(context.sealer, key, aid, newest - i + 1, field(fields, i));
    latestMs = entry.mark.latestMs;
    if (isWanted(entry, filter)) {
      const { mark, previous: _, ...event } = entry;
      events.push({ sequence: mark.sequence, ...event });
    }
  }
  const facts: ReadAuditFacts = { events, latestMs };
  return [toJsonBytes(facts)];
};

const entryOrNot = (open: () => AuditEntry): AuditEntry | undefined => {
  try {
    return open();
  } catch (error) {
    if (error instanceof IntegrityError) {
      return undefined;
    }
    throw error;
  }
};

export const verifyAudit: Handler = (context, fields) => {
  const { aid, before, known } = paramsOf<VerifyAuditParams>(fields);
  const key = chainKey(context, aid);
  const links = new Map(known.map(({ sequence, link }) => [sequence, Uint8Array.fromHex(link)]));
  const faultOf = (entry: AuditEntry | undefined, end: AuditMark): ChainFault | undefined => {
    if (entry === undefined) {
      return 'damaged';
    }
    if (!followsMark(entry, end)) {
      return 'broken';
    }
    const link = links.get(entry.mark.sequence);
    return link !== undefined && !equalBytes(link, entry.mark.link) ? 'replaced' : undefined;
  };
  let end = markOf(before);
  for (const record of fields.slice(1)) {
    const sequence = end.sequence + 1;
    const entry = entryOrNot(() => openAuditEntry(context.sealer, key, aid, sequence, record));
    const fault = faultOf(entry, end);
    if (fault !== undefined || entry === undefined) {
      const facts: VerifyAuditFacts = { end: factsOf(end), fault: fault ?? 'damaged' };
      return [toJsonBytes(facts)];
    }
    end = entry.mark;
  }
  const facts: VerifyAuditFacts = { end: factsOf(end) };
  return [toJsonBytes(facts)];
};

/** The start of what is left when the entries given have lost their old ones; no bytes where none is old. */
export const trimAudit: Handler = (context, fields) => {
  const { aid, beforeMs, start } = paramsOf<TrimAuditParams>(fields);
  const key = chainKey(context, aid);
  let mark = markOf(start);
  for (const record of fields.slice(1)) {
    const entry = openAuditEntry(context.sealer, key, aid, mark.sequence + 1, record);
    if (!followsMark(entry, mark)) {
      throw new IntegrityError('security log entry');
    }
    if (entry.timeMs >= beforeMs) {
      break;
    }
    mark = entry.mark;
  }
  const isOlder = mark.sequence > start.sequence;
  return [toJsonBytes(factsOf(mark)), isOlder ? sealAuditMark(context.sealer, aid, 'start', mark) : EMPTY];
};

export const signCheckpoint: Handler = (context, fields) => {
  const { aid, timeMs } = paramsOf<SignCheckpointParams>(fields);
  const { sequence, link } = factsOf(openMark(context, aid, 'head', field(fields, 1)));
  const time = new Date(timeMs).toISOString();
  const facts = { account: aid, sequence, head: link, time };
  return [toJsonBytes(signed(signingSeed(context), context.env, facts))];
};

export const checkCheckpoint: Handler = (context, fields) => {
  const { checkpoint } = paramsOf<CheckCheckpointParams>(fields);
  if (!isOwnCheckpoint(signingSeed(context), context.env, checkpoint)) {
    throw new JobFailure('integrity_failed');
  }
  return [];
};

export const auditKey: Handler = (context) => [toBytes(checkpointKey(signingSeed(context)))];
