import { createHash } from 'node:crypto';
import type { OpenedEvent } from '../../workers/jobs/audit/jobs.ts';
import type { ItemChange, QueuedEvent } from '../../workers/jobs/event/jobs.ts';
import type { AuditStore } from '../audit/store.ts';
import { type Clock, DAY_MS } from '../core/clock.ts';
import { failureFields } from '../core/error-cause.ts';
import {
  EVENT_ID,
  type EventData,
  type EventType,
  hasEventType,
  type VaultEvent,
} from '../core/event-types.ts';
import type { Crypto } from '../crypto/client.ts';
import { sourceOf } from '../domain/text/network.ts';
import { formatExpiry } from '../domain/text/time.ts';
import { actorOfId } from '../request/context.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ItemStore } from '../vault/store/items.ts';
import { type Announced, eventIdOf, type LiveSubscription, mayShow, type Receivers } from './receivers.ts';
import type { EventStore, Outbox } from './store.ts';

/** Something that an owner has to renew. */
export interface Renewal {
  readonly kind: 'certificate' | 'credential';
  readonly id: string;
  readonly expires_at: string;
}

/** A sealed delivery of an event to a subscription. */
interface Delivery {
  /** Equal for the same event and subscription. */
  readonly id: string;
  readonly subscription: string;
  readonly record: Uint8Array;
}

/** How deliveries go: events that wait for receivers, and subscriptions that are paused. */
interface EventFigures {
  readonly waiting: number;
  readonly paused: number;
}

/** Queues deliveries, each once. Returns the subscriptions that have left one out, each as often as it has. */
type Queue = (aid: string, deliveries: readonly Delivery[]) => Promise<readonly string[]>;

/** Opens elements of an outbox. */
type OpensElements = (elements: readonly Buffer[]) => Promise<readonly Announced[]>;

/** All buckets are read that often, for changes that a server has made that is gone. */
const ALL_MS = 30_000;
/** Expiries are looked for that often. */
const RENEWALS_MS = 10 * 60_000;
/** Parts of one outbox that a round reads, so that accounts take turns. */
const PARTS_MAX = 16;
const STEP = 256;
const LOCK_MS = 30 * 60_000;
/** The days before an expiry on which it is told. */
const NOTICES = [30, 7, 1];
const NO_BYTES = Buffer.alloc(0);

/** The events of entries of a security log. Items have logs of their own, and endpoints announce theirs with their key. */
const OF_ACTIONS: Readonly<Record<string, EventType>> = {
  'key.create': 'key.created',
  'key.change': 'key.changed',
  'key.delete': 'key.deleted',
  'key.recover': 'key.recovered',
  'credential.create': 'credential.created',
  'credential.roll': 'credential.rolled',
  'credential.delete': 'credential.deleted',
  'certificate.create': 'certificate.created',
};

/**
 * Finds what has happened in accounts with subscriptions, and queues a delivery for each event and subscription: in outboxes, to
 * which the scripts that change items add in the same step, and in security logs, whose entries are written before the reply. A
 * position moves after the deliveries are queued, whose ids follow from the event: none is lost, and servers may read at once.
 */
export class Events {
  private running: Promise<void> | undefined;
  private isStopped = false;
  private hasFailed = false;
  private hasLooked = false;
  /** Heads of security logs up to which all is read. */
  private readonly heads = new Map<string, string>();
  /** Times of the last look at all buckets, and at expiries. */
  private readonly looked = new Map<string, number>();
  /** How the deliveries of each account go, as of the last look at all its buckets. */
  private readonly figuresOf = new Map<string, EventFigures>();

  constructor(
    private readonly store: EventStore,
    private readonly itemStore: ItemStore,
    private readonly auditStore: AuditStore,
    private readonly crypto: Crypto,
    private readonly receivers: Receivers,
    private readonly renewals: (aid: string) => Promise<readonly Renewal[]>,
    private readonly queue: Queue,
    private readonly recordEvent: RecordEvent,
    private readonly now: Clock,
  ) {}

  /** Queues what has happened since the last round, with `all` also what other servers left. Never rejects: a later round retries. */
  async round(all = false): Promise<void> {
    if (all) {
      this.looked.clear();
    }
    this.running ??= this.runRound().finally(() => {
      this.running = undefined;
    });
    await this.running;
  }

  /** Returns the most events that wait for a receiver of an account that answers. */
  async crowd(aid: string): Promise<number> {
    const states = await this.receivers.states(aid);
    const answering = states.filter(({ failingMs, pausedMs }) => (failingMs ?? pausedMs) === undefined);
    return Math.max(0, ...answering.map(({ waiting }) => waiting));
  }

  /** Returns how the deliveries of all accounts go, about half a minute old; undefined before the first round. */
  figures(): EventFigures | undefined {
    const all = [...this.figuresOf.values()];
    return this.hasLooked
      ? {
          waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
          paused: all.reduce((sum, { paused }) => sum + paused, 0),
        }
      : undefined;
  }

  /** Ends the round in flight early. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
  }

  private async runRound(): Promise<void> {
    const errors: unknown[] = [];
    const attempt = (work: Promise<void>): Promise<unknown> =>
      work.catch((error: unknown) => errors.push(error));
    await attempt(this.readAll(attempt));
    if (errors.length > 0 && !this.hasFailed) {
      this.recordEvent('events_failed', failureFields(errors[0]));
    }
    this.hasFailed = errors.length > 0;
  }

  private async readAll(attempt: (work: Promise<void>) => Promise<unknown>): Promise<void> {
    const changed = Map.groupBy(this.itemStore.takeChanged(), ({ kid }) => kid);
    const accounts = new Set(await this.store.accounts());
    for (const aid of new Set(this.figuresOf.keys()).difference(accounts)) {
      this.figuresOf.delete(aid);
    }
    for (const aid of accounts) {
      if (this.isStopped) {
        return;
      }
      await attempt(this.readLog(aid));
      await attempt(this.readOutbox(aid, { aid }, (elements) => this.openAnnounced(aid, elements)));
      await attempt(this.readRenewals(aid));
      const isAll = this.isDue(`all ${aid}`, ALL_MS);
      for (const [kid, user] of await this.store.keys(aid)) {
        const buckets = isAll ? await this.store.filled(kid) : (changed.get(kid) ?? []);
        for (const bucket of buckets) {
          const open: OpensElements = (elements) => this.openChanges({ aid, kid }, user, elements);
          await attempt(this.readOutbox(aid, bucket, open));
        }
      }
      await (isAll ? attempt(this.count(aid)) : undefined);
    }
    this.hasLooked = true;
  }

  private async count(aid: string): Promise<void> {
    const states = await this.receivers.states(aid);
    this.figuresOf.set(aid, {
      waiting: states.reduce((sum, { waiting }) => sum + waiting, 0),
      paused: states.filter(({ pausedMs }) => pausedMs !== undefined).length,
    });
  }

  /** Queues what an outbox holds, up to a number of parts; the next round then reads all. */
  private async readOutbox(aid: string, outbox: Outbox, open: OpensElements): Promise<void> {
    for (let parts = 0; parts < PARTS_MAX; parts++) {
      const elements = this.isStopped ? [] : await this.store.readOutbox(outbox);
      if (elements.length === 0) {
        return;
      }
      await this.pass(aid, await open(elements), () => this.store.advanceOutbox(outbox, elements));
    }
    this.looked.delete(`all ${aid}`);
  }

  /** Opens what the scripts that change items have added to the outbox of a bucket. */
  private async openChanges(
    params: { readonly aid: string; readonly kid: string },
    user: string,
    elements: readonly Buffer[],
  ): Promise<readonly Announced[]> {
    const changes = await this.crypto.readOutbox({ params, elements });
    return changes.flatMap((change) => (change === null ? [] : [itemEventOf(change, user)]));
  }

  /** Opens what was announced, since no log has it. */
  private async openAnnounced(aid: string, elements: readonly Buffer[]): Promise<readonly Announced[]> {
    const opened = await Promise.all(
      elements.map((element) => this.receivers.openAnnounced(aid, element).catch(() => undefined)),
    );
    const users = await this.store.keys(aid);
    return opened.filter((one) => one !== undefined).map((one) => withUser(one, users));
  }

  /** Queues the events of the entries of the security log after its position. */
  private async readLog(aid: string): Promise<void> {
    const marks = await this.auditStore.readMarks(aid);
    const end = marks.head?.toString('base64') ?? '';
    if (this.heads.get(aid) === end) {
      return;
    }
    const { head, start } = await this.crypto.describeChain({ aid, head: marks.head, start: marks.start });
    const position = await this.store.position(aid, 'a');
    // The log of a restored copy may end before the position.
    let from = Math.min(Math.max(position ?? head.sequence, start.sequence), head.sequence);
    if (
      position !== undefined &&
      from !== position &&
      !(await this.store.advance(aid, 'a', position, from))
    ) {
      return;
    }
    while (from < head.sequence && !this.isStopped) {
      const sequences = Array.from({ length: Math.min(STEP, head.sequence - from) }, (_, i) => from + 1 + i);
      const entries = (await this.auditStore.read(aid, sequences)).map((entry) => entry ?? NO_BYTES);
      const opened = await this.crypto.streamAudit({ aid, first: from + 1, entries });
      const events = opened.flatMap((entry) => (entry === null ? [] : securityEventsOf(aid, entry)));
      const [begin, end] = [from, from + sequences.length];
      if (!(await this.pass(aid, events, () => this.store.advance(aid, 'a', begin, end)))) {
        // Another server reads the same log.
        return;
      }
      from = end;
    }
    this.heads.set(aid, end);
  }

  /** Queues the expiries whose notices have become due since the last look of any server. */
  private async readRenewals(aid: string): Promise<void> {
    const types = ['certificate.expiring', 'credential.expiring'];
    if (!this.isDue(`renewals ${aid}`, RENEWALS_MS)) {
      return;
    }
    const now = this.now();
    const live = await this.receivers.live(aid);
    const isWanted = live.some((one) => types.some((type) => hasEventType(one.types, type)));
    const from = (await this.store.position(aid, 'x')) ?? now;
    // The position moves in any case: a later subscription is not told what was due before it.
    const renewals = isWanted ? await this.renewals(aid) : [];
    const events = renewals.flatMap(({ kind, id, expires_at }) =>
      NOTICES.flatMap((days): Announced[] => {
        const at = Date.parse(expires_at) - days * DAY_MS;
        const seed = `expiring ${kind} ${id} ${expires_at} ${days}`;
        const data = { id, actor: 'vault', expires_at };
        const type = `${kind}.expiring` as const;
        return at > from && at <= now
          ? [{ event: { id: eventIdOf(aid, seed), type, created_at: new Date(now).toISOString(), data } }]
          : [];
      }),
    );
    await this.pass(aid, events, () => this.store.advance(aid, 'x', from, now));
  }

  /**
   * Queues events, and moves the position after them; false if another server has. Several may queue the same ones at once: what
   * their subscriptions leave out is counted by the one that moves the position.
   */
  private async pass(
    aid: string,
    events: readonly Announced[],
    advance: () => Promise<boolean>,
  ): Promise<boolean> {
    const leftOut = await this.emit(aid, events);
    const isOurs = await advance();
    if (isOurs) {
      await this.store.countLeftOut(aid, leftOut);
    }
    return isOurs;
  }

  /**
   * Queues events for the subscriptions that have their types and keys. These are read after the events: one that was made before
   * an event gets it, however long the round has run. Returns as `Queue` does.
   */
  private async emit(aid: string, events: readonly Announced[]): Promise<readonly string[]> {
    if (events.length === 0) {
      return [];
    }
    const live = await this.receivers.live(aid);
    const queued = events.flatMap(({ event, only }) =>
      live
        .filter((one) => (only === undefined ? isFor(one, event) : one.id === only))
        .map(({ id: subscription, account }): QueuedEvent & { readonly id: string } => ({
          ...{ id: deliveryIdOf(event.id, subscription), subscription, account },
          event: withActor(event, account),
        })),
    );
    const leftOut: string[] = [];
    for (let at = 0; at < queued.length; at += STEP) {
      const part = queued.slice(at, at + STEP);
      const records = await this.crypto.sealEvents({ aid, events: part });
      const deliveries = part.map(({ id, subscription }, i) => ({
        ...{ id, subscription, record: records[i] ?? NO_BYTES },
      }));
      leftOut.push(...(await this.queue(aid, deliveries)));
    }
    return leftOut;
  }

  /** True if something was not done for a time, which begins anew. */
  private isDue(name: string, everyMs: number): boolean {
    const now = performance.now();
    const isDue = now - (this.looked.get(name) ?? Number.NEGATIVE_INFINITY) >= everyMs;
    if (isDue) {
      this.looked.set(name, now);
    }
    return isDue;
  }
}

/** Tells whether a subscription gets an event: it has the type, and the event names one of its maker's keys. */
function isFor(subscription: LiveSubscription, event: VaultEvent): boolean {
  return hasEventType(subscription.types, event.type) && mayShow(subscription, event);
}

/** The event of a change of an item; its actor is the account, unless it names a credential or an endpoint. */
function itemEventOf(change: ItemChange, user: string): Announced {
  const { what, id, token, timeMs, reference, expiresAtMs, endpoint, credential, requestId } = change;
  const actor =
    what === 'expired'
      ? 'vault'
      : credential !== ''
        ? actorOfId(credential)
        : endpoint !== ''
          ? `endpoint/${endpoint}`
          : undefined;
  const data: EventData = {
    ...{ user, token, reference, actor },
    endpoint: endpoint === '' ? undefined : endpoint,
    request_id: requestId === '' ? undefined : requestId,
    expires_at: expiresAtMs === undefined ? undefined : formatExpiry(expiresAtMs),
  };
  return { event: { id, type: `item.${what}`, created_at: new Date(timeMs).toISOString(), data } };
}

/** Adds the name of the key that an announced event is about. */
function withUser({ event, only, kid }: Announced, users: ReadonlyMap<string, string>): Announced {
  const user = kid === undefined ? undefined : users.get(kid);
  return user === undefined ? { event, only } : { event: { ...event, data: { user, ...event.data } }, only };
}

/** Adds the account as the actor of an event that names none. */
function withActor(event: VaultEvent, account: string): VaultEvent {
  const { data } = event;
  return data.actor === undefined && event.type !== 'test'
    ? { ...event, data: { ...data, actor: `account/${account}` } }
    : event;
}

/** The event of an entry of a security log, if it has one. */
function securityEventsOf(aid: string, entry: OpenedEvent): readonly Announced[] {
  const { sequence, timeMs, action, outcome, actor, ip, requestId, object } = entry;
  const created_at = new Date(timeMs).toISOString();
  if (action === 'sign_in' && outcome === 'too_many_failures') {
    // Sign-ins to a locked account are entries each; one event tells of a lock.
    const seed = `locked ${sourceOf(ip)} ${Math.floor(timeMs / LOCK_MS)}`;
    const data = { actor, request_id: requestId };
    return [{ event: { id: eventIdOf(aid, seed), type: 'account.locked', created_at, data } }];
  }
  const type = OF_ACTIONS[action];
  if (type === undefined || outcome !== 'success') {
    return [];
  }
  const [noun, name] = object.split('/');
  const named = noun === 'key' ? { user: name } : { id: name };
  const data = { ...named, actor, request_id: requestId };
  return [{ event: { id: eventIdOf(aid, `log ${sequence}`), type, created_at, data } }];
}

/** The id of the delivery of an event to a subscription. */
function deliveryIdOf(event: string, subscription: string): string {
  const digest = createHash('sha256').update(`${event} ${subscription}`).digest('base64url');
  return `${EVENT_ID}${digest.slice(0, 18)}`;
}
