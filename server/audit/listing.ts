import type { AuditFilter, ChainFacts, OpenedEvent } from '../../workers/jobs/audit/jobs.ts';
import { bindParts } from '../core/bind.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatStoredAt } from '../domain/text/time.ts';
import type { AccountContext } from '../request/context.ts';
import type { AuditEntry } from './schema.ts';
import type { AuditStore } from './store.ts';

/** Times in ms since 1970: `after` inclusive, `before` exclusive. */
type Query = AuditFilter & { readonly next_token?: string | undefined };

const STEP = 256;
/** Entries in one piece of a stream. */
const STREAMED_MAX = 1_024;
/** Entries that one request reads; a page of a narrow filter may be short, or empty, and have a next one. */
const READ_MAX = 16_384;

interface ListParts {
  readonly crypto: Pick<Crypto, 'describeChain' | 'readAudit'>;
  readonly auditStore: Pick<AuditStore, 'read' | 'readMarks'>;
  readonly cursors: Cursors;
}

/** A part of a chain that was read. */
interface Found {
  readonly events: readonly OpenedEvent[];
  /** The sequence number to go on from, downwards; 0 when there is no more. */
  readonly next: number;
}

/**
 * The listings of security logs, newest first. A place in a chain is a sequence number, so that entries which come
 * meanwhile change nothing of what follows. Times may step back; how far they ever did is in the chain, and so a time is
 * found by bisection all the same.
 */
export function createAuditList({ crypto, auditStore, cursors }: ListParts) {
  return bindParts({ crypto, auditStore, cursors }, { list, listAll, walk });
}

function shown({ sequence, timeMs, ip, userAgent, requestId, ...event }: OpenedEvent): AuditEntry {
  return {
    id: String(sequence),
    time: formatStoredAt(timeMs),
    // Entries are sealed by the service, from the very list that the schema has.
    action: event.action as AuditEntry['action'],
    outcome: event.outcome,
    actor: event.actor,
    source_ip: ip,
    user_agent: userAgent,
    request_id: requestId,
    ...(event.object === '' ? {} : { object: event.object }),
    ...(event.count === 1 ? {} : { count: event.count }),
  };
}

async function describe({ crypto, auditStore }: ListParts, aid: string): Promise<ChainFacts> {
  return crypto.describeChain({ aid, ...(await auditStore.readMarks(aid)) });
}

/** Entries from `newest` down. Those that retention has removed meanwhile may be missing; any other: `integrity_failed`. */
async function readDown(
  parts: ListParts,
  aid: string,
  newest: number,
  oldest: number,
): Promise<readonly Buffer[]> {
  const sequences = Array.from({ length: newest - oldest + 1 }, (_, i) => newest - i);
  const entries = await parts.auditStore.read(aid, sequences);
  const gap = entries.indexOf(undefined);
  const missing = sequences[gap];
  if (missing !== undefined && missing > (await describe(parts, aid)).start.sequence) {
    throw new VaultError('integrity_failed');
  }
  return entries.slice(0, gap < 0 ? entries.length : gap).filter((entry) => entry !== undefined);
}

/** The newest entry that the filter can want: no entry after it is from before its `before`. */
async function findNewest(parts: ListParts, aid: string, { before }: AuditFilter): Promise<number> {
  const { head, start } = await describe(parts, aid);
  if (before === undefined) {
    return head.sequence;
  }
  let low = start.sequence;
  let high = head.sequence;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const entries = await readDown(parts, aid, middle, middle);
    const isOld =
      entries.length === 0 ||
      (await parts.crypto.readAudit({ aid, newest: middle, filter: {}, entries })).latestMs <
        before + head.stepBackMs;
    if (isOld) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/** At most `max` of the entries that the filter wants, downwards from the sequence number `from`. */
async function find(
  parts: ListParts,
  aid: string,
  from: number,
  filter: AuditFilter,
  max: number,
): Promise<Found> {
  const first = (await describe(parts, aid)).start.sequence + 1;
  const stop = Math.max(first, from - READ_MAX + 1);
  const events: OpenedEvent[] = [];
  for (let newest = from; newest >= stop; newest -= STEP) {
    const entries = await readDown(parts, aid, newest, Math.max(stop, newest - STEP + 1));
    if (entries.length === 0) {
      return { events, next: 0 };
    }
    const found = await parts.crypto.readAudit({ aid, newest, filter, entries });
    events.push(...found.events.slice(0, max - events.length));
    const last = events.at(-1);
    if (events.length === max && last) {
      return { events, next: last.sequence > first ? last.sequence - 1 : 0 };
    }
    if (filter.after !== undefined && found.latestMs < filter.after) {
      return { events, next: 0 };
    }
  }
  return { events, next: stop > first ? stop - 1 : 0 };
}

/** Where a listing begins, and the scope of its cursors. */
async function begin(parts: ListParts, aid: string, { next_token, ...filter }: Query) {
  const scope = ['audit', aid, filter.action, filter.token, filter.after, filter.before];
  const from =
    next_token === undefined
      ? await findNewest(parts, aid, filter)
      : Number(parts.cursors.verify(scope, next_token));
  return { scope, from };
}

async function* walkFrom(
  parts: ListParts,
  aid: string,
  start: number,
  filter: AuditFilter,
): AsyncGenerator<readonly AuditEntry[], void, void> {
  for (let from = start; from > 0; ) {
    const { events, next } = await find(parts, aid, from, filter, STREAMED_MAX);
    if (events.length > 0) {
      yield events.map(shown);
    }
    from = next;
  }
}

/**
 * A page of the account's log, newest first. It may be shorter than its limit, or empty, and have a next one. Rejects with
 * `cursor_invalid` and `integrity_failed`.
 */
async function list(
  parts: ListParts,
  { account: { aid } }: AccountContext,
  { limit, ...query }: Query & { readonly limit: number },
): Promise<{ readonly entries: readonly AuditEntry[]; readonly nextToken?: string | undefined }> {
  const { scope, from } = await begin(parts, aid, query);
  const { events, next } = await find(parts, aid, from, query, limit);
  return {
    entries: events.map(shown),
    ...(next > 0 ? { nextToken: parts.cursors.sign(scope, next) } : {}),
  };
}

/** The whole log of the account, as the JSON text of a list. Rejects as `list` does. */
async function listAll(
  parts: ListParts,
  { account: { aid } }: AccountContext,
  query: Query,
): Promise<ReadableStream<Uint8Array>> {
  const { from } = await begin(parts, aid, query);
  return listStreamOf(walkFrom(parts, aid, from, query));
}

/** All entries of a chain that the filter wants, newest first, some at a time, for the operator. */
async function* walk(
  parts: ListParts,
  aid: string,
  filter: AuditFilter,
): AsyncGenerator<readonly AuditEntry[], void, void> {
  yield* walkFrom(parts, aid, await findNewest(parts, aid, filter), filter);
}
