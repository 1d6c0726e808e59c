import type { RootFacts } from '../../../workers/jobs/installation/jobs.ts';
import { openAccount } from '../../account/records.ts';
import type { Clock } from '../../core/clock.ts';
import { eachOf, recover } from '../../core/concurrency.ts';
import type { Crypto } from '../../crypto/client.ts';
import { pepperIdOf } from '../../domain/account.ts';
import type { Roots } from '../../installation/roots.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { CensusStore, IndexEntry } from '../store/census.ts';
import type { RecordStore } from '../store/records.ts';
import { metadataEntries } from '../verify/items.ts';
import type { VaultKey, Walk } from '../walk.ts';

/** The lifetime of replies for Idempotency-Keys, whose names derive from the root, and a margin. */
const KEPT_MS = 25 * 60 * 60 * 1_000;
const PASSES_MAX = 12;

export interface RootOutcome {
  /** `pending`: the older root is kept, for `waiting` accounts, or for Idempotency-Keys of the last 25 hours. */
  readonly state: 'done' | 'pending' | 'unfinished';
  /** Entries of the indexes of references and metadata that were moved in each pass. */
  readonly passes: readonly number[];
  /** Names of accounts that have not signed in since: their passwords are under the older root. */
  readonly waiting: readonly string[];
  /** When the older root is not needed any more for Idempotency-Keys, ms since 1970; 0 if there is none. */
  readonly keptUntilMs: number;
}

export interface RootRotationOptions {
  /** Resolves when every running server of the vault uses this state of the root record. */
  readonly waitForServers: (state: string) => Promise<void>;
  /** Called with numbers of entries that were verified. */
  readonly seen: (entries: number) => void;
  /** Forgets the older root, although accounts or Idempotency-Keys still need it. */
  readonly isForced?: boolean;
}

/** Numbers of moved entries, and of those that changed in the meantime. */
interface Moved {
  readonly moved: number;
  readonly missed: number;
}

function countMoved(results: readonly boolean[]): Moved {
  const moved = results.filter(Boolean).length;
  return { moved, missed: results.length - moved };
}

/** Replaces the root that index keys and the pepper of passwords derive from. */
export class RootRotation {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly censusStore: CensusStore,
    private readonly crypto: Crypto,
    private readonly walk: Walk,
    private readonly roots: Roots,
    private readonly now: Clock,
  ) {}

  /**
   * Rotates the root while the vault is in use, or continues a rotation that was interrupted at any point: the state is in
   * the sealed root record, and every step can be repeated. Servers know the new root before any of them writes under it,
   * and all of them write under it before entries of the index are moved, so an item is found at every moment.
   */
  async rotate(options: RootRotationOptions): Promise<RootOutcome> {
    const { waitForServers } = options;
    const passes: number[] = [];
    let facts = await this.roots.refresh();
    if (facts.stage === 'steady' && facts.ids.length === 1) {
      facts = await this.roots.step('begin');
    }
    if (facts.stage === 'known') {
      await waitForServers(facts.state);
      facts = await this.roots.step('move');
    }
    if (facts.stage === 'moving') {
      await waitForServers(facts.state);
      if (!(await this.moveAll(passes, options))) {
        return { state: 'unfinished', passes, waiting: [], keptUntilMs: 0 };
      }
      facts = await this.roots.step('settle');
    }
    await waitForServers(facts.state);
    // Repeated for writes of requests that took longer than the report of their server.
    return (await this.moveAll(passes, options))
      ? this.end(facts, passes, options)
      : { state: 'unfinished', passes, waiting: [], keptUntilMs: 0 };
  }

  /** Makes passes until one has found nothing to move. Returns false if there was always more. */
  private async moveAll(passes: number[], { seen }: RootRotationOptions): Promise<boolean> {
    for (let tries = 0; tries < PASSES_MAX; tries++) {
      const { moved, missed } = await this.movePass(seen);
      passes.push(moved);
      if (moved + missed === 0) {
        return true;
      }
    }
    return false;
  }

  /** Makes one pass over the indexes of references and metadata of all keys. */
  private async movePass(seen: RootRotationOptions['seen']): Promise<Moved> {
    const total = { moved: 0, missed: 0 };
    const moveBucket = async (key: VaultKey, number: number): Promise<void> => {
      const bucket = { kid: key.kid, number };
      for (const index of ['references', 'metadata'] as const) {
        for await (const entries of this.censusStore.entries(bucket, index)) {
          const { moved, missed } =
            index === 'references'
              ? await this.moveReferences(key, bucket, entries)
              : await this.moveMetadata(key, bucket, entries);
          total.moved += moved;
          total.missed += missed;
          seen(entries.length);
        }
      }
    };
    for await (const account of this.walk.accounts()) {
      for await (const key of this.walk.keys(account)) {
        await eachOf(this.walk.buckets(), (number) => moveBucket(key, number));
      }
    }
    return total;
  }

  /** Moves the entries of a page that are not in their place under the newest root. */
  private async moveReferences(
    { account, kid }: VaultKey,
    bucket: Bucket,
    entries: readonly IndexEntry[],
  ): Promise<Moved> {
    const tokens = entries.map(({ token }) => token);
    const metas = await this.censusStore.metas(bucket, tokens);
    const params = { aid: account.aid, kid, tokens };
    const members = await this.crypto.referenceMembers({ params, metas });
    const moves = entries.flatMap((entry, i) => {
      const [meta = Buffer.alloc(0), own = new Uint8Array(0)] = [metas[i], members[i]];
      // Damaged metadata does not open, and is left for the operator to examine.
      const isDamaged = meta.length > 0 && own.length === 0;
      return entry.member.equals(own) || isDamaged
        ? []
        : [this.censusStore.moveReference(bucket, entry, meta, own)];
    });
    return countMoved(await Promise.all(moves));
  }

  /** Does the same in the metadata index, where an item has several entries. */
  private async moveMetadata(
    { account, kid }: VaultKey,
    bucket: Bucket,
    entries: readonly IndexEntry[],
  ): Promise<Moved> {
    const tokens = [...new Set(entries.map(({ token }) => token))];
    const metas = await this.censusStore.metas(bucket, tokens);
    const members = await this.crypto.metadataMembers({ params: { aid: account.aid, kid, tokens }, metas });
    const own = Map.groupBy(metadataEntries(members), ({ token }) => token);
    const moves = entries.flatMap((entry) => {
      const meta = metas[tokens.indexOf(entry.token)] ?? Buffer.alloc(0);
      const mine = own.get(entry.token) ?? [];
      // As above; an entry of an item that has no metadata is damage as well.
      const isDamaged = meta.length > 0 && mine.length === 0;
      const digests = Buffer.concat(mine.map(({ digest }) => digest));
      return isDamaged || mine.some(({ member }) => entry.member.equals(member))
        ? []
        : [this.censusStore.moveMetadata(bucket, entry, meta, digests)];
    });
    return countMoved(await Promise.all(moves));
  }

  /** Forgets the older root if nothing needs it, or the operator ends it. */
  private async end(
    { ids, movedAtMs }: RootFacts,
    passes: readonly number[],
    { isForced = false, waitForServers }: RootRotationOptions,
  ): Promise<RootOutcome> {
    const waiting = await this.waitingAccounts(ids.at(-1));
    const keptUntilMs = movedAtMs + KEPT_MS;
    if (!isForced && (waiting.length > 0 || keptUntilMs > this.now())) {
      return { state: 'pending', passes, waiting, keptUntilMs };
    }
    const { state } = await this.roots.step('end');
    await waitForServers(state);
    return { state: 'done', passes, waiting, keptUntilMs: 0 };
  }

  /** Returns the accounts whose password is under another root than the newest. */
  private async waitingAccounts(newest: string | undefined): Promise<readonly string[]> {
    const waiting: string[] = [];
    for await (const page of this.recordStore.pages(this.recordStore.kinds.accounts, '')) {
      for (const { id: name, record } of page) {
        const account = openAccount(this.crypto, name, record);
        const opened = await recover(account, 'integrity_failed', undefined);
        if (opened === undefined || pepperIdOf(opened.phc) !== newest) {
          waiting.push(name);
        }
      }
    }
    return waiting.sort();
  }
}
