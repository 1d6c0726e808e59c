import { createHash } from 'node:crypto';
import type { Credentials } from '../account/credential/credentials.ts';
import type { PersonRecords } from '../account/person/records.ts';
import { Memory } from '../core/cache.ts';
import type { Clock, RandomFraction } from '../core/clock.ts';
import { recover, withRetries } from '../core/concurrency.ts';
import { EVENT_ID, type EventData, hasEventType, type VaultEvent } from '../core/event-types.ts';
import { Secret } from '../core/secret.ts';
import { type Crypto, openJson, sealJson } from '../crypto/client.ts';
import type { NamedRecord } from '../redis/records/named.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { EventStore, SubscriptionProgress } from './store.ts';

const CACHED_MAX = 10_000;
const CACHED_MS = 60_000;
/** A receiver of which no call has succeeded for so long is paused. */
const FAILING_MS = 3 * 24 * 60 * 60 * 1_000;
/** The shortest wait behind a call to a receiver that fails, and the part of the longest for each delivery that is queued. */
const WAIT_MS = 1_000;
const WAIT_EACH_MS = 36;
/** The kind of the records of events that no log has. */
const ANNOUNCED = 'announced event';

/** The sealed record of a subscription. */
export interface SubscriptionRecord {
  /** The name of its account. */
  readonly account: string;
  /** The id of the credential that made it, `person/ID` for a person; undefined for the account's password. */
  readonly maker?: string | undefined;
  readonly url: string;
  readonly secret?: string | undefined;
  readonly types: readonly string[];
  readonly metadata?: object | undefined;
  readonly maxAttempts: number;
  readonly created_at: string;
}

/** A subscription whose maker still has the right to it. */
export interface LiveSubscription extends SubscriptionRecord {
  readonly id: string;
  /** The vault keys of its events; undefined for all. */
  readonly keys: readonly string[] | undefined;
}

/** Where a delivery is sent now. */
interface Receiver {
  readonly url: string;
  readonly secret: Secret<string> | undefined;
  readonly metadata: object | undefined;
  readonly maxAttempts: number;
}

/** An event that no log has. */
export interface Announced {
  readonly event: VaultEvent;
  /** The only subscription that gets it; undefined for all that have its type. */
  readonly only?: string | undefined;
  /** The id of the vault key that it is about, whose name the event gets. */
  readonly kid?: string | undefined;
}

/** Receivers of events: the subscriptions as they are now, and how calls to them go. */
export class Receivers {
  private readonly cache: Memory<{ readonly record: Buffer; readonly opened: SubscriptionRecord }>;
  /** Failing receivers that this process calls now: one call at a time shows whether they are back. */
  private readonly probed = new Set<string>();

  constructor(
    private readonly store: EventStore,
    private readonly crypto: Crypto,
    private readonly credentials: Credentials,
    private readonly persons: PersonRecords,
    private readonly recordEvent: RecordEvent,
    private readonly random: RandomFraction,
    private readonly now: Clock,
  ) {
    this.cache = new Memory(CACHED_MAX, CACHED_MS, now);
  }

  /** Returns the receiver of an event; undefined if its subscription has ended, or has a maker now who may not see it. */
  async find(aid: string, id: string, event: VaultEvent): Promise<Receiver | undefined> {
    const record = await this.store.read(aid, id);
    const live = record && (await this.openLive(aid, { id, record }));
    if (live === undefined || !mayShow(live, event)) {
      return undefined;
    }
    const { url, secret, metadata, maxAttempts } = live;
    return { url, secret: secret === undefined ? undefined : new Secret(secret), metadata, maxAttempts };
  }

  /** Returns the subscriptions of an account that have not ended. A damaged one has no receiver, and stops none of the others. */
  async live(aid: string): Promise<readonly LiveSubscription[]> {
    const found = await this.openAll(aid);
    return found.flatMap(({ live }) => (live === undefined || live === 'damaged' ? [] : [live]));
  }

  /** Returns the ids of the subscriptions of an account that have ended. */
  async ended(aid: string): Promise<readonly string[]> {
    return (await this.openAll(aid)).flatMap(({ id, live }) => (live === undefined ? [id] : []));
  }

  /** Returns how deliveries to the subscriptions of an account that have not ended go. */
  async states(aid: string): Promise<readonly SubscriptionProgress[]> {
    return Promise.all((await this.live(aid)).map(({ id }) => this.store.progress(aid, id)));
  }

  /** Returns the URLs of an account's subscriptions by id, without those of damaged ones. */
  async urls(aid: string): Promise<ReadonlyMap<string, string>> {
    const records = await this.store.readAll(aid);
    const found = await Promise.all(
      records.map(async (one) => {
        const opened = await recover(this.open(aid, one), 'integrity_failed', undefined);
        return opened === undefined ? [] : [[one.id, opened.url] as const];
      }),
    );
    return new Map(found.flat());
  }

  /** Opens the record of a subscription. */
  async open(aid: string, { id, record }: NamedRecord): Promise<SubscriptionRecord> {
    const name = `${aid} ${id}`;
    const cached = this.cache.get(name);
    if (cached?.record.equals(record) === true) {
      return cached.opened;
    }
    const opened = await openJson<SubscriptionRecord>(this.crypto, aid, 'event subscription', id, record);
    // The record is copied: it is a view of a larger reply, which the cache would keep in memory.
    this.cache.set(name, { record: Buffer.from(record), opened });
    return opened;
  }

  /**
   * Begins a call of a receiver. Of one that fails there is one call at a time: any other gets the ms to wait, the longer the more are
   * queued, so that a dead receiver costs nobody else. `release` must follow, unless a wait is returned.
   */
  async acquire(aid: string, id: string): Promise<number | undefined> {
    const name = `${aid} ${id}`;
    const { failingMs } = await this.store.state(aid, id);
    if (failingMs === undefined) {
      return undefined;
    }
    if (!this.probed.has(name)) {
      this.probed.add(name);
      return undefined;
    }
    const queued = await this.store.queued(aid, id);
    const longestMs = WAIT_MS + queued * WAIT_EACH_MS;
    return Math.ceil(WAIT_MS + this.random() * (longestMs - WAIT_MS));
  }

  /** Ends a call, with its outcome if it was made. Pauses a subscription whose calls have failed for three days. */
  async release(aid: string, id: string, delivered: boolean | undefined): Promise<void> {
    this.probed.delete(`${aid} ${id}`);
    if (delivered !== undefined) {
      await withRetries(() => this.note(aid, id, delivered));
    }
  }

  /** Announces an event that no log has, once for its seed, to accounts with subscriptions. */
  async announce(
    aid: string,
    seed: string,
    {
      type,
      data,
      ...about
    }: Omit<Announced, 'event'> & {
      readonly type: VaultEvent['type'];
      readonly data: EventData;
    },
  ): Promise<string> {
    const id = eventIdOf(aid, seed);
    const isWanted =
      about.only !== undefined || (await this.live(aid)).some(({ types }) => hasEventType(types, type));
    if (isWanted) {
      const event: VaultEvent = { id, type, created_at: new Date(this.now()).toISOString(), data };
      await this.store.announce(aid, await sealJson(this.crypto, aid, ANNOUNCED, '', { event, ...about }));
    }
    return id;
  }

  /** Opens what `announce` has stored. */
  openAnnounced(aid: string, element: Uint8Array): Promise<Announced> {
    return openJson<Announced>(this.crypto, aid, ANNOUNCED, '', element);
  }

  private async note(aid: string, id: string, delivered: boolean): Promise<void> {
    const { failingMs, pausedMs } = await this.store.state(aid, id);
    if (delivered) {
      await (failingMs === undefined ? undefined : this.store.noteSuccess(aid, id));
    } else if (failingMs === undefined) {
      await this.store.noteFailure(aid, id, this.now());
    } else if (pausedMs === undefined && this.now() - failingMs >= FAILING_MS) {
      await this.store.pause(aid, id, this.now(), 'failing');
      this.recordEvent('event_subscription_paused', { subscription: id, because: 'failing' });
    }
  }

  private async openAll(aid: string) {
    return Promise.all(
      (await this.store.readAll(aid)).map(async (one) => ({
        id: one.id,
        live: await recover(this.openLive(aid, one), 'integrity_failed', 'damaged'),
      })),
    );
  }

  /** Opens a subscription; undefined if its maker was deleted, or has expired. */
  private async openLive(aid: string, stored: NamedRecord): Promise<LiveSubscription | undefined> {
    const opened = await this.open(aid, stored);
    const { id } = stored;
    if (opened.maker === undefined) {
      return { ...opened, id, keys: undefined };
    }
    const maker = await this.readMaker(aid, opened.maker);
    const hasEnded =
      maker === undefined || (maker.expires_at !== undefined && Date.parse(maker.expires_at) <= this.now());
    return hasEnded ? undefined : { ...opened, id, keys: maker.keys };
  }

  /** Reads the credential or the person that has made a subscription; undefined if it is gone. */
  private async readMaker(
    aid: string,
    maker: string,
  ): Promise<{ readonly keys?: readonly string[]; readonly expires_at?: string } | undefined> {
    const [, person] = /^person\/(.*)$/.exec(maker) ?? [];
    return person === undefined
      ? recover(this.credentials.read(aid, maker), 'credential_not_found', undefined)
      : (await this.persons.find({ aid, id: person }))?.record;
  }
}

/** Tells whether an event is about one of the keys of a subscription, or a test, which is about none. */
export function mayShow(
  { keys }: Pick<LiveSubscription, 'keys'>,
  { type, data: { user } }: VaultEvent,
): boolean {
  return keys === undefined || type === 'test' || (user !== undefined && keys.includes(user));
}

/** The id of an event, equal for the same account and seed. */
export function eventIdOf(aid: string, seed: string): string {
  return `${EVENT_ID}${createHash('sha256').update(`${aid} ${seed}`).digest('base64url').slice(0, 22)}`;
}
