import type { AccountRecords } from '../account/records.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { pause, recover } from '../core/concurrency.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatExpiry } from '../domain/text/time.ts';
import { CLOSED_PAUSE_MS, type KeyHandle, type KeyOpener, namedInBody } from '../key/opener.ts';
import type { Lease } from '../redis/records/lease.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { type ItemPage, type ItemPages, stringAt } from './list/page.ts';
import type { Range } from './list/plan.ts';
import type { ResealProgress } from './schema.ts';
import type { ItemStore } from './store/items.ts';
import type { ResealState, ResealStore } from './store/reseals.ts';

/** A run holds a key open for an hour at most. */
const RUN_MS = 3_600_000;
/** A server that has died is replaced after this time; one that is alive extends its claim in time. */
const LEASE_MS = 10_000;
const EXTEND_MS = 2_000;
/** Pause in which a request watches whether the claim of another run is extended. */
const WATCH_MS = 250;
/** A request waits so long for the number of items. */
const COUNT_WAIT_MS = 5_000;
/** Items whose sealed bytes are in memory at once. */
const RESEALED_ITEMS_MAX = 128;
const RESEALED_STRINGS = 5;
const NO_BYTES = new Uint8Array(0);

/** An open key, with the name of its account, and what opens it in the threads. */
interface Opened {
  readonly account: string;
  readonly key: KeyHandle;
  readonly opening: Parameters<Crypto['resealItems']>[0]['opening'];
}

/** Whether a run may go on: its time, its server, its account, and its claim, which ends with the key. */
type MayGoOn = () => boolean;

/**
 * Seals all items of a key under its newest generation, with summaries if the key has them and without if it has none, in the
 * background. A run that has ended goes on with a repeat; the suspension of its account ends it.
 */
export class Reseals {
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly store: ResealStore,
    private readonly items: ItemStore,
    private readonly crypto: Crypto,
    private readonly accounts: AccountRecords,
    private readonly keys: KeyOpener,
    private readonly pages: ItemPages,
    private readonly metering: Metering,
    private readonly recordEvent: RecordEvent,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Starts the reseal of a key, or goes on with it, unless it is running. Rejects with `key_not_found` or `passphrase_wrong`. */
  async start(
    ctx: AccountContext,
    { user, passphrase }: { readonly user: string; readonly passphrase: SecretBytes },
  ): Promise<ResealProgress> {
    const { key, blob } = await namedInBody(this.keys.prove(ctx, user, passphrase));
    this.metering.count(ctx, 'key');
    const run = this.randomId();
    if (await this.claim(key, run)) {
      const opening = { kind: 'warm', blob, secret: passphrase } as const;
      const begun = Promise.withResolvers<void>();
      const work = this.run({ account: ctx.account.name, key, opening }, run, begun.resolve).finally(() => {
        begun.resolve();
        this.running.delete(work);
      });
      this.running.add(work);
      await Promise.race([begun.promise, pause(COUNT_WAIT_MS)]);
    }
    return this.progressOf(key);
  }

  /** Returns the progress of the last reseal of a key; zeros for a key that had none. */
  async progress(ctx: AccountContext, { user }: { readonly user: string }): Promise<ResealProgress> {
    const key = await this.keys.find(ctx.account, user);
    this.metering.count(ctx, 'key');
    return this.progressOf(key);
  }

  /** Pauses the runs of this server. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }

  private async progressOf({ aid, kid }: KeyHandle): Promise<ResealProgress> {
    // The claim first: a run that ends in between has then noted its end.
    const isClaimed = (await this.store.leaseOf(aid, kid).left()) > 0;
    const state = await this.store.read(aid, kid);
    if (state === undefined) {
      return { total: 0, done: 0 };
    }
    const { total, done, finishedAt } = state;
    return {
      ...{ total, done: Math.min(done, total) },
      ...(finishedAt === undefined && !isClaimed ? { paused: true } : {}),
      ...(finishedAt === undefined ? {} : { finished_at: formatExpiry(finishedAt) }),
    };
  }

  /** Claims a key for a run; false if another run has it. The claim of a server that has died is waited for. */
  private async claim({ aid, kid }: KeyHandle, run: string): Promise<boolean> {
    const lease = this.store.leaseOf(aid, kid);
    for (let seen = Number.POSITIVE_INFINITY; ; ) {
      if (await lease.claim(run, LEASE_MS)) {
        return true;
      }
      const left = await lease.left();
      if (left > seen) {
        return false;
      }
      seen = left;
      await pause(WATCH_MS);
    }
  }

  /** Runs until the end, a pause, or a change of the key; never rejects. */
  private async run(opened: Opened, run: string, begin: () => void): Promise<void> {
    const { account, key } = opened;
    const lease = this.store.leaseOf(key.aid, key.kid);
    const until = this.now() + RUN_MS;
    let isHeld = true;
    const extender = setInterval(async () => {
      // While Redis does not answer, the claim stays as it is.
      isHeld &&= await this.extend(account, lease, run).catch(() => true);
    }, EXTEND_MS);
    const mayGoOn = () => isHeld && !this.stopping.signal.aborted && this.now() < until;
    try {
      await this.resealAll(opened, run, mayGoOn, begin);
    } catch (error) {
      if (!this.stopping.signal.aborted) {
        this.recordEvent('reseal_failed', { error: error instanceof Error ? error.name : 'error' });
      }
    } finally {
      clearInterval(extender);
      await lease.release(run).catch(() => undefined);
    }
  }

  /** Extends the claim of a run; false if it has lost it, or its account is suspended. */
  private async extend(account: string, lease: Lease, run: string): Promise<boolean> {
    const isSuspended = (await this.accounts.find(account))?.account.isSuspended === true;
    return !isSuspended && (await lease.extend(run, LEASE_MS));
  }

  private async resealAll(opened: Opened, run: string, mayGoOn: MayGoOn, begin: () => void): Promise<void> {
    const { key } = opened;
    const { aid, kid, gen, user } = key;
    // A key that was deleted before the claim does not end it.
    const found = await recover(this.keys.find({ aid }, user), 'key_not_found', undefined);
    if (found?.kid !== kid) {
      return;
    }
    const before = await this.store.read(aid, kid);
    const unsealed = await this.countUnsealed(key, mayGoOn);
    if (unsealed === undefined) {
      return;
    }
    const isSame = before?.gen === gen && before.finishedAt === undefined;
    const total = isSame ? Math.max(before.total, unsealed) : unsealed;
    let state: ResealState = { gen, total, done: total - unsealed, finishedAt: undefined };
    const note = (done: number, finishedAt?: number): Promise<boolean> => {
      state = { ...state, done, finishedAt };
      return this.store.write(aid, kid, run, state);
    };
    if (!(await note(state.done))) {
      return;
    }
    begin();
    for await (const page of this.pages.read(await this.rangeOf(key), {
      part: 'full',
      itemsMax: RESEALED_ITEMS_MAX,
    })) {
      const replaced = mayGoOn() ? await this.resealPage(opened, page, mayGoOn) : undefined;
      if (replaced === undefined) {
        return;
      }
      if (replaced > 0 && !(await note(state.done + replaced))) {
        return;
      }
    }
    // Others have stored, changed and deleted items meanwhile.
    const left = await this.countUnsealed(key, mayGoOn);
    if (left !== undefined) {
      await note(Math.max(0, state.total - left), this.now());
    }
  }

  /** Counts the items that are to be sealed; undefined if it may not go on. */
  private async countUnsealed(key: KeyHandle, mayGoOn: MayGoOn): Promise<number | undefined> {
    const { aid, kid, gen, summary: wantsSummary } = key;
    let count = 0;
    for await (const page of this.pages.read(await this.rangeOf(key), { part: 'meta' })) {
      if (!mayGoOn()) {
        return undefined;
      }
      const params = { aid, kid, gen, wantsSummary, now: this.now() };
      count += await this.crypto.countUnsealed({ params, page: page.fields });
    }
    return count;
  }

  /** Seals the items of a page; returns how many it has replaced, undefined if the key is another one now, or gone. */
  private async resealPage(
    { key, opening }: Opened,
    page: ItemPage,
    mayGoOn: MayGoOn,
  ): Promise<number | undefined> {
    const { aid, kid, summary: wantsSummary } = key;
    const params = { aid, kid, wantsSummary, now: this.now() };
    const resealed = await this.crypto.resealItems({ params, opening, page: page.fields });
    if (resealed.kind === 'warm_miss') {
      return undefined;
    }
    const { parts } = resealed;
    let count = 0;
    for (const { bucket, tokens, indexes } of page.buckets) {
      const writes = tokens.flatMap((token, at) => {
        const first = RESEALED_STRINGS * (indexes[at] ?? 0);
        const [tag = NO_BYTES, item = NO_BYTES, meta = NO_BYTES, sad = NO_BYTES, digests = NO_BYTES] =
          Array.from({ length: RESEALED_STRINGS }, (_, place) => stringAt(parts, first + place));
        return tag.length > 0 ? [{ token, tag, item, meta, sad, digests }] : [];
      });
      let replaced = writes.length === 0 ? 0 : await this.items.reseal(bucket, key, writes);
      while (replaced === 'closed' && mayGoOn()) {
        await pause(CLOSED_PAUSE_MS);
        replaced = await this.items.reseal(bucket, key, writes);
      }
      if (typeof replaced === 'string') {
        return undefined;
      }
      count += replaced;
    }
    return count;
  }

  /** The items that are there now; later ones are sealed under the newest generation. */
  private async rangeOf(key: KeyHandle): Promise<Range> {
    const numbers = Array.from({ length: this.items.buckets }, (_, number) => number);
    const start = await Promise.all(numbers.map((number) => this.items.newest({ kid: key.kid, number })));
    return { key, after: numbers.map(() => 0), start, until: Math.max(this.now(), ...start) };
  }
}
