import type { AuditStore } from '../audit/store.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { hasEventType } from '../core/event-types.ts';
import { type Crypto, sealJson } from '../crypto/client.ts';
import type { KeyDependent, KeyOpener } from '../key/opener.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { AccountContext } from '../request/context.ts';
import { vetTarget } from '../request/permission.ts';
import type { Receivers, SubscriptionRecord } from './receivers.ts';
import type { Subscription, SubscriptionBody } from './schema.ts';
import type { EventStore, Watched } from './store.ts';

const ID = /^sub_[\w-]{22}$/;
const METADATA_BYTES_MAX = 65_536;

/** A key that keeps events from its creation on. */
export class WatchedKeys implements KeyDependent {
  constructor(
    private readonly store: EventStore,
    private readonly receivers: Receivers,
  ) {}

  /** Lets the buckets of a new key keep events, if its account has subscriptions. */
  async prepare(aid: string, user: string, kid: string, isCreated: boolean): Promise<void> {
    if (await this.store.hasEntered(aid)) {
      const version = await this.store.version(aid);
      await this.store.watch(aid, { kid, user }, version, await watchedOf(this.receivers, aid), !isCreated);
    }
  }

  /** The outboxes of a deleted key stay until their events are queued. */
  async removeOfKey(): Promise<void> {}
}

/** Manages the event subscriptions of accounts. */
export class Subscriptions {
  constructor(
    private readonly store: EventStore,
    private readonly auditStore: AuditStore,
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly keys: KeyOpener,
    private readonly receivers: Receivers,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Creates a subscription. Rejects with `destination_refused`, `not_allowed` or `subscriptions_full`. */
  async create(ctx: AccountContext, body: SubscriptionBody): Promise<Subscription> {
    const { aid } = ctx.account;
    const record = await this.recordOf(ctx, body, new Date(this.now()).toISOString());
    const id = `sub_${this.randomId()}`;
    // From here on other servers look for events, also of keys that are created meanwhile.
    await this.store.enter(aid);
    await this.begin(aid);
    const sealed = await sealJson(this.crypto, aid, 'event subscription', id, record);
    let outcome = await this.store.create(aid, id, sealed);
    if (outcome === 'full' && (await this.removeEnded(aid)) > 0) {
      outcome = await this.store.create(aid, id, sealed);
    }
    if (outcome !== 'ok') {
      throw new VaultError('subscriptions_full');
    }
    // A sweep that found none before may have removed the account.
    await this.store.enter(aid);
    await this.watchAll(aid);
    return this.shownOf(aid, id, record);
  }

  /** Returns the subscriptions of an account, the oldest first. */
  async list({ account: { aid } }: AccountContext): Promise<readonly Subscription[]> {
    const live = await this.receivers.live(aid);
    const shown = await Promise.all(live.map(({ id, ...record }) => this.shownOf(aid, id, record)));
    return shown.sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? -1 : 1));
  }

  /** Returns a subscription. Rejects with `subscription_not_found`. */
  async read({ account: { aid } }: AccountContext, id: string): Promise<Subscription> {
    const { record } = await this.find(aid, id);
    return this.shownOf(aid, id, record);
  }

  /** Replaces a subscription and resumes it. Rejects as `create` does, or with `subscription_not_found`. */
  async replace(ctx: AccountContext, id: string, body: SubscriptionBody): Promise<Subscription> {
    const { aid } = ctx.account;
    const before = await this.find(aid, id);
    const record = await this.recordOf(ctx, body, before.record.created_at);
    const sealed = await sealJson(this.crypto, aid, 'event subscription', id, record);
    if (!(await this.store.replace(aid, id, before.sealed, sealed))) {
      throw new VaultError('overloaded');
    }
    await this.store.resume(aid, id);
    await this.watchAll(aid);
    return this.shownOf(aid, id, record);
  }

  /** Removes a subscription. Rejects with `subscription_not_found`. */
  async remove({ account: { aid } }: AccountContext, id: string): Promise<void> {
    if (!ID.test(id) || !(await this.end(aid, id))) {
      throw new VaultError('subscription_not_found');
    }
  }

  /** Sends a test event, and returns its id. Rejects with `subscription_not_found`. */
  async test({ account: { aid } }: AccountContext, id: string): Promise<string> {
    await this.find(aid, id);
    return this.receivers.announce(aid, `test ${this.randomId()}`, { type: 'test', data: {}, only: id });
  }

  /** Removes subscriptions that have ended, and completes what was interrupted, or is missing after a restore. */
  async sweep(aid: string): Promise<void> {
    const hasSome = async () => (await this.receivers.live(aid)).length > 0;
    await this.removeEnded(aid);
    const isWatched = await hasSome();
    if (isWatched) {
      await this.store.enter(aid);
      await this.begin(aid);
    } else if (!(await this.store.hasEntered(aid))) {
      return;
    }
    await this.watchAll(aid);
    const isDrained = await this.forgetKeys(aid);
    if (!isWatched && isDrained && !(await hasSome())) {
      await this.store.leave(aid);
      // For one that was made meanwhile.
      await ((await hasSome()) ? this.store.enter(aid) : undefined);
    }
  }

  /** Removes what a deleted account leaves. */
  removeAll(aid: string): Promise<void> {
    return this.store.removeAll(aid);
  }

  /** The events of an account begin after what its security log has now. */
  private async begin(aid: string): Promise<void> {
    const marks = await this.auditStore.readMarks(aid);
    const { head } = await this.crypto.describeChain({ aid, head: marks.head, start: marks.start });
    await this.store.begin(aid, 'a', head.sequence);
    await this.store.begin(aid, 'x', this.now());
  }

  /** Lets the buckets of all keys keep what the subscriptions need. */
  private async watchAll(aid: string): Promise<void> {
    // Before the subscriptions are read: what a later change finds has a greater version.
    const version = await this.store.nextVersion(aid);
    const watched = await watchedOf(this.receivers, aid);
    for await (const keys of this.keys.chunks({ aid })) {
      await Promise.all(keys.map((key) => this.store.watch(aid, key, version, watched)));
    }
  }

  /** Forgets keys that are gone, once the events of their changes are queued. True if those of all changes are. */
  private async forgetKeys(aid: string): Promise<boolean> {
    let isDrained = (await this.store.readOutbox({ aid })).length === 0;
    for (const [kid, user] of await this.store.keys(aid)) {
      const isFilled = (await this.store.filled(kid)).length > 0;
      isDrained &&= !isFilled;
      const key = await recover(this.keys.find({ aid }, user), 'key_not_found', undefined);
      if (!isFilled && key?.kid !== kid) {
        await this.store.forgetKey(aid, kid);
      }
    }
    return isDrained;
  }

  private async removeEnded(aid: string): Promise<number> {
    const ended = await this.receivers.ended(aid);
    for (const id of ended) {
      await this.end(aid, id);
    }
    return ended.length;
  }

  private async end(aid: string, id: string): Promise<boolean> {
    const isRemoved = await this.store.remove(aid, id);
    await this.store.resume(aid, id);
    return isRemoved;
  }

  private async find(aid: string, id: string) {
    const sealed = ID.test(id) ? await this.store.read(aid, id) : undefined;
    if (sealed === undefined) {
      throw new VaultError('subscription_not_found');
    }
    return { sealed, record: await this.receivers.open(aid, { id, record: sealed }) };
  }

  private async recordOf(
    { account }: AccountContext,
    { url, secret, types, metadata, max_attempts }: SubscriptionBody,
    created_at: string,
  ): Promise<SubscriptionRecord> {
    if (metadata !== undefined && Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES_MAX) {
      const expected = `must have at most ${METADATA_BYTES_MAX} bytes`;
      throw new VaultError('invalid_request', { field: 'body.metadata', expected });
    }
    await vetTarget(this.thirdParties, account, url, 'body.url');
    return {
      ...{ account: account.name, maker: account.credential?.id },
      ...{ url, secret, types: [...new Set(types)], metadata },
      maxAttempts: max_attempts ?? account.preferences.webhook_max_attempts,
      created_at,
    };
  }

  private async shownOf(
    aid: string,
    id: string,
    { url, types, metadata, maxAttempts, created_at }: SubscriptionRecord,
  ): Promise<Subscription> {
    const { failingMs, pausedMs, pausedBecause, leftOut, waiting } = await this.store.progress(aid, id);
    return {
      ...{ id, url, types: [...types] as Subscription['types'] }, // checked when it was made
      ...(metadata === undefined ? {} : { metadata }),
      ...{ max_attempts: maxAttempts, created_at, waiting },
      ...(failingMs === undefined ? {} : { failing_since: new Date(failingMs).toISOString() }),
      ...(pausedMs === undefined
        ? {}
        : {
            paused_since: new Date(pausedMs).toISOString(),
            paused_because: pausedBecause === 'full' ? 'full' : 'failing',
            left_out: leftOut,
          }),
    };
  }
}

/** What the buckets of an account's keys have to keep. */
async function watchedOf(receivers: Receivers, aid: string): Promise<Watched> {
  const live = await receivers.live(aid);
  if (live.some(({ types }) => hasEventType(types, 'item.read'))) {
    return 2;
  }
  return live.length > 0 ? 1 : 0;
}
