import { VaultError } from '../../core/errors.ts';
import type { AuditFilter, ChainFacts, Crypto, OpenedEvent } from '../../crypto/client.ts';
import { formatStoredAt } from '../../domain/text/time-text.ts';
import type { AuditEntry } from '../../http/schema/audit.ts';
import type { AuditStore } from '../../store/audit.ts';
import { streamOf } from '../common/byte-stream.ts';
import type { Cursors } from '../common/cursor.ts';
import type { AccountContext } from '../common/request-context.ts';
import type { AuditNote } from './queue.ts';

export interface AuditService {
  /**
   * Writes an entry of the security log, and resolves when it is stored. Who answers somebody waits for that: with
   * `store_unavailable` nothing may leave. Refusals that come in floods are gathered, and counted in one entry later.
   */
  readonly record: (note: AuditNote) => Promise<void>;
  /** A page of the caller's account, newest first. It may be short of its limit, or empty, and have a next one. */
  readonly list: (
    ctx: AccountContext,
    query: AuditQuery,
  ) => Promise<{ readonly entries: readonly AuditEntry[]; readonly nextToken?: string | undefined }>;
  /** All of them as the JSON text of a list, piece by piece; the limit is left out of account. */
  readonly listAll: (
    ctx: AccountContext,
    query: Omit<AuditQuery, 'limit'>,
  ) => Promise<ReadableStream<Uint8Array>>;
}

export interface AuditQuery {
  readonly action?: string | undefined;
  readonly token?: string | undefined;
  /** ms since 1970, inclusive. */
  readonly after?: number | undefined;
  /** ms since 1970, exclusive. */
  readonly before?: number | undefined;
  readonly limit: number;
  readonly next_token?: string | undefined;
}

const STEP = 256;
/** Entries in one piece of a stream. */
const STREAMED_MAX = 1_024;
/** Entries that one request looks at; a page of a narrow filter may be short, or empty, and have a next one. */
const LOOKED_AT_MAX = 16_384;

const encoder = new TextEncoder();

interface ChainDependencies {
  readonly crypto: Pick<Crypto, 'describeChain' | 'readAudit'>;
  readonly auditStore: Pick<AuditStore, 'read' | 'readMarks'>;
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

/** A part of a chain that was looked at. */
interface Found {
  readonly events: readonly OpenedEvent[];
  /** The sequence to go on from, downwards; 0 when there is no more. */
  readonly next: number;
}

/**
 * Reads chains, newest first. A place in a chain is a sequence number, so that entries which come meanwhile change
 * nothing of what follows. Times may step back; how far they ever did stands in the chain, and so a time is found by
 * halving all the same.
 */
export function createChainReader({ crypto, auditStore }: ChainDependencies) {
  const describe = async (aid: string): Promise<ChainFacts> =>
    crypto.describeChain({ aid, ...(await auditStore.readMarks(aid)) });

  /** Entries from `newest` down; those that retention has removed meanwhile are not missed. */
  const readDown = async (aid: string, newest: number, oldest: number): Promise<readonly Buffer[]> => {
    const sequences = Array.from({ length: newest - oldest + 1 }, (_, i) => newest - i);
    const entries = await auditStore.read(aid, sequences);
    const gap = entries.indexOf(undefined);
    const missing = sequences[gap];
    if (missing !== undefined && missing > (await describe(aid)).start.sequence) {
      throw new VaultError('integrity_failed');
    }
    return entries.slice(0, gap < 0 ? entries.length : gap).filter((entry) => entry !== undefined);
  };

  /** The first entry, from below, that nothing from `before` on can stand behind. */
  const newestBefore = async (aid: string, { head, start }: ChainFacts, before: number): Promise<number> => {
    const bound = before + head.stepBackMs;
    let low = start.sequence;
    let high = head.sequence;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const [entry] = await readDown(aid, middle, middle);
      const isOld = entry
        ? (await crypto.readAudit({ aid, newest: middle, filter: {}, entries: [entry] })).latestMs < bound
        : true;
      if (isOld) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  };

  /** Where to begin: at the newest entry that the filter can want. */
  const begin = async (aid: string, { before }: AuditFilter): Promise<number> => {
    const facts = await describe(aid);
    return before === undefined ? facts.head.sequence : newestBefore(aid, facts, before);
  };

  const find = async (aid: string, from: number, filter: AuditFilter, max: number): Promise<Found> => {
    const first = (await describe(aid)).start.sequence + 1;
    const stop = Math.max(first, from - LOOKED_AT_MAX + 1);
    const events: OpenedEvent[] = [];
    for (let newest = from; newest >= stop; newest -= STEP) {
      const entries = await readDown(aid, newest, Math.max(stop, newest - STEP + 1));
      if (entries.length === 0) {
        return { events, next: 0 };
      }
      const found = await crypto.readAudit({ aid, newest, filter, entries });
      const room = max - events.length;
      events.push(...found.events.slice(0, room));
      const last = events.at(-1);
      if (events.length === max && last) {
        return { events, next: last.sequence > first ? last.sequence - 1 : 0 };
      }
      if (filter.after !== undefined && found.latestMs < filter.after) {
        return { events, next: 0 };
      }
    }
    return { events, next: stop > first ? stop - 1 : 0 };
  };

  return { begin, find };
}

/** Reads chains for the operator. */
export interface AuditWalk {
  /** All entries of a chain that the filter wants, newest first, some at a time. */
  readonly walk: (aid: string, filter: AuditFilter) => AsyncGenerator<readonly AuditEntry[], void, void>;
}

/** The listings of security logs. */
export function createAuditList(
  chain: ChainDependencies,
  cursors: Cursors,
): Pick<AuditService, 'list' | 'listAll'> & Pick<AuditWalk, 'walk'> {
  const chains = createChainReader(chain);

  const begin = async (
    aid: string,
    { next_token, ...filter }: AuditFilter & { next_token?: string | undefined },
  ) => {
    const scope = ['audit', aid, filter.action, filter.token, filter.after, filter.before];
    const from =
      next_token === undefined ? await chains.begin(aid, filter) : Number(cursors.open(scope, next_token));
    return { scope, from };
  };

  async function* walkFrom(
    aid: string,
    start: number,
    filter: AuditFilter,
  ): AsyncGenerator<readonly AuditEntry[], void, void> {
    for (let from = start; from > 0; ) {
      const { events, next } = await chains.find(aid, from, filter, STREAMED_MAX);
      if (events.length > 0) {
        yield events.map(shown);
      }
      from = next;
    }
  }

  async function* listChunks(
    entries: AsyncGenerator<readonly AuditEntry[], void, void>,
  ): AsyncGenerator<Uint8Array, void, void> {
    let lead = '[';
    for await (const some of entries) {
      yield encoder.encode(lead + some.map((entry) => JSON.stringify(entry)).join(','));
      lead = ',';
    }
    yield encoder.encode(lead === '[' ? '[]' : ']');
  }

  return {
    async list({ account: { aid } }: AccountContext, { limit, ...query }: AuditQuery) {
      const { scope, from } = await begin(aid, query);
      const { events, next } = await chains.find(aid, from, query, limit);
      const entries = events.map(shown);
      return { entries, ...(next > 0 ? { nextToken: cursors.seal(scope, next) } : {}) };
    },
    async listAll({ account: { aid } }, query) {
      const { from } = await begin(aid, query);
      return streamOf(listChunks(walkFrom(aid, from, query)));
    },
    async *walk(aid, filter) {
      yield* walkFrom(aid, await chains.begin(aid, filter), filter);
    },
  };
}
