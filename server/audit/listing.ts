import type { AuditFilter, ChainFacts, KnownLinks, OpenedEvent } from '../../workers/jobs/audit/jobs.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatStoredAt } from '../domain/text/time.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { AuditEntry } from './schema.ts';
import type { AuditStore } from './store.ts';
import { parseCheckpoint } from './verifier.ts';

/** Times in ms since 1970: `after` inclusive, `before` exclusive. */
type Query = AuditFilter & { readonly next_token?: string | undefined };

/** A chain, with the entry that its checkpoint names. */
interface Chain {
  readonly aid: string;
  readonly known: KnownLinks;
}

const STEP = 256;
/** Entries in one piece of a stream. */
const STREAMED_MAX = 1_024;
/** Entries that one request reads; a page of a narrow filter may be short, or empty, and have a next one. */
const READ_MAX = 16_384;

/**
 * Lists security logs, newest first. A place in a chain is a sequence number, so that new entries do not move a page. Times
 * may step back; the chain records by how much, so that a time can still be found by bisection.
 */
export class AuditListing {
  constructor(
    private readonly store: AuditStore,
    private readonly crypto: Crypto,
    private readonly cursors: Cursors,
  ) {}

  /**
   * Returns a page of the log, newest first, perhaps a short one. A credential with certain keys sees no entries about others.
   * Rejects with `cursor_invalid` and `integrity_failed`.
   */
  async list({ account }: AccountContext, { limit, ...query }: Query & { readonly limit: number }) {
    const { scope, from, chain } = await this.begin(account.aid, query);
    const { events, next } = await this.find(chain, from, visibleTo(account, query), limit);
    return { entries: events.map(shown), nextToken: next > 0 ? this.cursors.sign(scope, next) : undefined };
  }

  /** Returns the whole log of the account, as the JSON text of a list. Rejects as `list` does. */
  async listAll({ account }: AccountContext, query: Query): Promise<ReadableStream<Uint8Array>> {
    const { chain, from } = await this.begin(account.aid, query);
    return listStreamOf(this.walkFrom(chain, from, visibleTo(account, query)));
  }

  /** Yields all entries of a chain that match the filter, newest first, in chunks, for the operator. */
  async *walk(aid: string, filter: AuditFilter): AsyncGenerator<readonly AuditEntry[], void, void> {
    const chain = await this.signedChain(aid);
    yield* this.walkFrom(chain, await this.findNewest(chain, filter), filter);
  }

  /** Returns the chain of an account with the entry that its newest stored checkpoint names. */
  private async signedChain(aid: string): Promise<Chain> {
    const stored = await this.store.readCheckpoint(aid);
    const checkpoint = stored && parseCheckpoint(stored.text);
    if (stored !== undefined && checkpoint === undefined) {
      throw new VaultError('integrity_failed');
    }
    return { aid, known: checkpoint ? [{ sequence: checkpoint.sequence, link: checkpoint.head }] : [] };
  }

  /** Returns the first sequence number of a listing, and the scope of its cursors. */
  private async begin(aid: string, { next_token, ...filter }: Query) {
    const { action, token, actor, source_ip, outcome, after, before } = filter;
    const scope = ['audit', aid, action, token, actor, source_ip, outcome, after, before];
    // Read before the head, which can only be newer.
    const chain = await this.signedChain(aid);
    const from =
      next_token === undefined
        ? await this.findNewest(chain, filter)
        : Number(this.cursors.verify(scope, next_token));
    return { scope, from, chain };
  }

  private async *walkFrom(
    chain: Chain,
    start: number,
    filter: AuditFilter,
  ): AsyncGenerator<readonly AuditEntry[], void, void> {
    for (let from = start; from > 0; ) {
      const { events, next } = await this.find(chain, from, filter, STREAMED_MAX);
      if (events.length > 0) {
        yield events.map(shown);
      }
      from = next;
    }
  }

  /** Finds the newest entry that can match the filter: no entry after it is from before its `before`. */
  private async findNewest(chain: Chain, { before }: AuditFilter): Promise<number> {
    const { head, start } = await this.describe(chain);
    if (before === undefined) {
      return head.sequence;
    }
    let low = start.sequence;
    let high = head.sequence;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const entries = await this.readDown(chain, middle, middle);
      const isOld =
        entries.length === 0 ||
        (await this.crypto.readAudit({ ...chain, newest: middle, filter: {}, entries })).latestMs <
          before + head.stepBackMs;
      if (isOld) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /** Finds at most `max` entries from the number `from` downwards. `next` is where to continue; 0 at the end. */
  private async find(chain: Chain, from: number, filter: AuditFilter, max: number) {
    const first = (await this.describe(chain)).start.sequence + 1;
    const stop = Math.max(first, from - READ_MAX + 1);
    const events: OpenedEvent[] = [];
    for (let newest = from; newest >= stop; newest -= STEP) {
      const entries = await this.readDown(chain, newest, Math.max(stop, newest - STEP + 1));
      if (entries.length === 0) {
        return { events, next: 0 };
      }
      const found = await this.crypto.readAudit({ ...chain, newest, filter, entries });
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

  /** Reads entries from `newest` down. Entries that retention has removed may be missing; any other: `integrity_failed`. */
  private async readDown(chain: Chain, newest: number, oldest: number): Promise<readonly Buffer[]> {
    const entries = await this.store.readRun(chain.aid, newest, oldest);
    const missing = newest - entries.length;
    if (missing >= oldest && missing > (await this.describe(chain)).start.sequence) {
      throw new VaultError('integrity_failed');
    }
    return entries;
  }

  /** Returns both ends of a chain. Rejects with `integrity_failed` if its head was removed, or replaced by an older one. */
  private async describe({ aid, known }: Chain): Promise<ChainFacts> {
    const { entries, ...marks } = await this.store.readMarks(aid);
    const facts = await this.crypto.describeChain({ aid, ...marks });
    const { head, start } = facts;
    const isOlder = known.some(({ sequence }) => sequence > head.sequence);
    if (isOlder || entries > head.sequence - start.sequence) {
      throw new VaultError('integrity_failed');
    }
    return facts;
  }
}

/** A filter for the entries that a caller may see. */
function visibleTo({ credential }: Account, filter: AuditFilter): AuditFilter {
  return { ...filter, keys: credential?.keys && [...credential.keys] };
}

function shown({ sequence, timeMs, ip, userAgent, requestId, ...event }: OpenedEvent): AuditEntry {
  return {
    id: String(sequence),
    time: formatStoredAt(timeMs),
    // The action is of the schema's list: the service sealed the entry.
    action: event.action as AuditEntry['action'],
    outcome: event.outcome,
    actor: event.actor,
    ...(event.actorName === undefined ? {} : { actor_name: event.actorName }),
    source_ip: ip,
    user_agent: userAgent,
    request_id: requestId,
    ...(event.object === '' ? {} : { object: event.object }),
    ...(event.count === 1 ? {} : { count: event.count }),
  };
}
