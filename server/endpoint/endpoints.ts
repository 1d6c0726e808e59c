import type { RecordChange } from '../../workers/jobs/audit/jobs.ts';
import type { EndpointPolicy, EndpointRecords } from '../../workers/jobs/endpoint/jobs.ts';
import type { Audit } from '../audit/audit.ts';
import { type Clock, DAY_MS, type RandomId } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Secret, SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { normalOrigin, ORIGIN_EXPECTED } from '../domain/endpoint.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import { compareTexts } from '../domain/text/order.ts';
import { DURATION_EXPECTED, endOf, formatExpiry } from '../domain/text/time.ts';
import { done, type KeyHandle, type KeyOpener } from '../key/opener.ts';
import type { Limiter } from '../limits/limiter.ts';
import { mapInPieces } from '../limits/pieces.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { mayReveal, mayUseKey, requireKey, requireScope } from '../request/permission.ts';
import type { EndpointEvents } from './endpoint-events.ts';
import type { CreateEndpointQuery } from './schema.ts';
import type { EndpointEntry, EndpointStore, StoredEndpoint } from './store.ts';

export interface CreateEndpointInput extends CreateEndpointQuery {
  readonly passphrase: SecretBytes;
}

/** What a new endpoint is made of. */
interface NewEndpoint {
  readonly id: string;
  readonly passphrase: SecretBytes;
  readonly policy: Omit<EndpointPolicy, 'kid' | 'gen'>;
  /** The order of a capture endpoint with a webhook; empty for others. */
  readonly order?: Uint8Array;
  /** The secret of an endpoint that is made again, in whose place it comes. */
  readonly given?: SecretBytes | undefined;
  /** The place of its id in the request. */
  readonly field: string;
}

/** A new endpoint with its secret, shown once. */
export interface EndpointWithSecret {
  readonly url: string;
  readonly unique_id: string;
  readonly secret: Secret<string>;
  readonly expires_at: string | null;
}

/** An endpoint with its policy. */
export interface DescribedEndpoint {
  readonly id: string;
  readonly policy: EndpointPolicy;
  readonly uses: number;
  /** It has expired or was stopped. */
  readonly isOver: boolean;
}

type Kind = EndpointPolicy['kind'];

interface Sealed extends EndpointRecords {
  readonly secret: Secret<string>;
  readonly digest: string;
  readonly key: KeyHandle;
}

const DEFAULT_TTL = '24h';
/** The time that an unusable endpoint is kept, to answer the right secret with `endpoint_gone`. */
const KEPT_MS = DAY_MS;
/** The longest time between two checks of an entry by the sweep. */
const CHECK_MS = DAY_MS;
/** What was made for more than this time is listed before it ends. */
const LONG_MS = 7 * DAY_MS;
const SECOND_MS = 1_000;
/** A use that has not ended by then was interrupted. */
export const USE_MS = 15 * 60_000;
const NO_BYTES = new Uint8Array(0);

/** Endpoints of either kind, from creation to removal. `Captures` and `Retrievals` use them. */
export class Endpoints {
  constructor(
    private readonly store: EndpointStore,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly keys: KeyOpener,
    private readonly audit: Audit,
    private readonly events: EndpointEvents,
    private readonly metering: Metering,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Creates an endpoint; `own` is the policy of its kind. Rejects with `key_changed`, `endpoint_exists`, or as an unlock. */
  async create(
    ctx: AccountContext,
    kind: Kind,
    input: CreateEndpointInput,
    own: Partial<EndpointPolicy>,
    order: Uint8Array = NO_BYTES,
  ): Promise<EndpointWithSecret> {
    const { account } = ctx;
    // A retrieval reads by the endpoint's own right; the rules of a capture are limited to what their maker may read.
    const seesAll =
      kind === 'capture' ? mayReveal(account) : account.credential === undefined || account.unmasked;
    const isMasked = seesAll ? undefined : true;
    const { user, passphrase, rules = [], unique_id: id = this.randomId(), max_uses: maxUses, rate } = input;
    const wantsCard = input.return_card_metadata ?? account.preferences.return_card_metadata;
    const createdAt = this.now();
    const expiresAt = endOf(input.ttl ?? DEFAULT_TTL, createdAt);
    if (expiresAt === undefined) {
      throw new VaultError('invalid_request', { field: 'query.ttl', expected: DURATION_EXPECTED });
    }
    const policy = {
      kind,
      account: account.name,
      user,
      createdAt,
      expiresAt,
      rules,
      wantsCard,
      isMasked,
      maxUses,
      rate,
      origins: originsOf(input.origins),
      ...own,
    };
    return this.make(ctx, { id, passphrase, policy, order, field: 'query.unique_id' });
  }

  /**
   * Makes an endpoint with this policy. One with a given secret takes the place of the endpoint that has its id and this secret, also
   * of a stopped one. Rejects as `create`.
   */
  async make(
    ctx: AccountContext,
    { id, passphrase, policy: common, order = NO_BYTES, given, field }: NewEndpoint,
  ): Promise<EndpointWithSecret> {
    const { kind, user, expiresAt } = common;
    const before = given && (await this.provenBefore(ctx, { id, kind, field }, given));
    const sealed = await this.keys.withUnlocked<Sealed>(ctx, user, passphrase, async (key, blob) => {
      // The cached key may be older than a change at another server, however long ago.
      if (!(await this.isStored(key))) {
        return { kind: 'stale' };
      }
      const { aid, kid, gen } = key;
      const params = { aid, kid, gen, id, kind };
      const policy = { ...common, kid, gen };
      const made = await this.crypto.createEndpoint({ params, blob, passphrase, policy, order, given });
      return made.kind === 'warm_miss' ? made : done({ ...made, key });
    });
    const entry = { kid: sealed.key.kid, kind, nonce: this.randomId(), id };
    const end = longEnd(common, common.createdAt ?? this.now());
    await (before === undefined
      ? this.place(entry, sealed, end, field)
      : this.placeAgain(entry, sealed, end, before));
    await this.events.requested(ctx, 'endpoint.created', entry);
    ctx.change = { kind: 'endpoint', id, digest: sealed.digest, isGone: false };
    this.metering.count(ctx, kind === 'retrieve' ? 'retrieve_create' : 'capture_create');
    return { url: urlOf(kind, id), unique_id: id, secret: sealed.secret, expires_at: expiryText(expiresAt) };
  }

  /** Returns the account's endpoints of this kind by key and id, or those of one key if `user` names it. */
  async list(ctx: AccountContext, kind: Kind, user: string | undefined) {
    return (await this.find(ctx, kind, user)).map(shown);
  }

  /** Returns the same with their policies. */
  async find(
    ctx: AccountContext,
    kind: Kind,
    user: string | undefined,
  ): Promise<readonly DescribedEndpoint[]> {
    const { aid } = ctx.account;
    const kid = user === undefined ? undefined : (await this.keys.find({ aid }, user)).kid;
    const entries = (await this.store.entries(aid)).filter(
      (entry) => entry.kind === kind && (kid === undefined || entry.kid === kid),
    );
    const found = await mapInPieces(this.limiter, aid, entries, (entry) => this.describe(aid, entry));
    this.metering.count(ctx, 'list');
    return found
      .filter((endpoint) => endpoint !== undefined)
      .filter(({ policy }) => mayUseKey(ctx.account, policy.user))
      .sort((a, b) => compareTexts(a.policy.user, b.policy.user) || compareTexts(a.id, b.id));
  }

  /** Returns an endpoint of the account. Rejects with `endpoint_not_found`, also for one of another kind. */
  async read(aid: string, kind: Kind, id: string): Promise<DescribedEndpoint> {
    const stored = isIdentifier(id) ? await this.store.read(id) : undefined;
    const found = stored?.aid === aid ? await this.described(aid, id, stored) : undefined;
    if (found?.policy.kind !== kind) {
      throw new VaultError('endpoint_not_found');
    }
    return found;
  }

  /**
   * Yields the endpoints of a kind that end in a period, the first one first, of those that were made for more than seven days
   * and were not stopped. Times are ms since 1970.
   */
  async *ending(aid: string, kind: Kind, from: number, upTo: number) {
    for await (const entries of this.store.ends(aid, kind, from, upTo)) {
      const found = await mapInPieces(this.limiter, aid, entries, (entry) => this.describe(aid, entry));
      yield found
        .filter((endpoint) => endpoint !== undefined)
        .filter(({ isOver }) => !isOver)
        .map(shown);
    }
  }

  /** Counts them, without those that end at `from`. A stopped one may be counted for a day. */
  countEnding(aid: string, kind: Kind, from: number, upTo: number): Promise<number> {
    return this.store.countEnds(aid, kind, from, upTo);
  }

  /** Deletes an endpoint and releases its id. Rejects with `endpoint_not_found`, or if the credential may not change it. */
  async remove(ctx: AccountContext, id: string): Promise<void> {
    const { aid } = ctx.account;
    const stored = isIdentifier(id) ? await this.store.read(id) : undefined;
    if (stored?.aid !== aid) {
      throw new VaultError('endpoint_not_found');
    }
    if (ctx.account.credential !== undefined) {
      const { policy } = stored;
      const { kind, user } = await this.crypto.describeEndpoint({ place: { aid, id }, policy });
      requireScope(ctx.account, kind === 'retrieve' ? 'retrieve:write' : 'capture:write');
      requireKey(ctx.account, user);
    }
    const change = await this.goneChange(id, stored);
    const entry = await this.entryOf(id, stored);
    if (!(await this.store.removeNow(aid, entry, this.now()))) {
      throw new VaultError('endpoint_not_found');
    }
    await this.events.requested(ctx, 'endpoint.deleted', entry);
    ctx.change = change;
    this.metering.count(ctx, 'delete');
  }

  /** Removes endpoints that expired or were stopped a day ago, and entries of interrupted creations. */
  sweep(aid: string): Promise<void> {
    return this.store.sweep(aid, this.now, (entry) => this.checkEntry(aid, entry));
  }

  /** Returns whether the stored key has the generation of this one. */
  private async isStored({ aid, user, kid, gen }: KeyHandle): Promise<boolean> {
    const stored = await this.keys.find({ aid }, user);
    return stored.kid === kid && stored.gen === gen;
  }

  /** Stores a sealed endpoint and verifies that its key has not changed. A later change of the passphrase stops it. */
  private async place(
    entry: EndpointEntry,
    { key, policy, wrap }: Sealed,
    end: number | undefined,
    field: string,
  ): Promise<void> {
    const { aid, gen } = key;
    if (!(await this.store.reserve(entry.id, entry.nonce))) {
      throw new VaultError('endpoint_exists', { field });
    }
    try {
      await this.store.enter(aid, entry, this.now(), gen, end);
      await this.rejectChanged(key);
      if (!(await this.store.commit(entry.id, { nonce: entry.nonce, aid, policy, wrap }))) {
        // The endpoint was stopped with its key meanwhile, or the reservation has expired.
        await this.rejectChanged(key);
        throw new VaultError('overloaded');
      }
    } catch (error) {
      await this.store.takeBack(aid, entry);
      throw error;
    }
  }

  /** Stores a sealed endpoint in the place of another one, which ends. A change of the passphrase meanwhile stops it. */
  private async placeAgain(
    entry: EndpointEntry,
    { key, policy, wrap }: Sealed,
    end: number | undefined,
    before: EndpointEntry,
  ): Promise<void> {
    const { aid, gen } = key;
    await this.store.enter(aid, entry, this.now(), gen, end);
    if (!(await this.store.replace(entry.id, before.nonce, { nonce: entry.nonce, aid, policy, wrap }))) {
      await this.store.takeBack(aid, entry);
      throw new VaultError('overloaded');
    }
    await this.store.remove(aid, before);
    if (!(await this.isStored(key))) {
      // Its entry may have come after the stop of the others.
      await this.store.stop(aid, entry);
      throw new VaultError('key_changed');
    }
  }

  /**
   * Returns the endpoint with this id and secret; undefined if there is none. Rejects with `endpoint_exists` for another one, and one
   * of a key that the caller may not use, whose senders would then send their cards elsewhere.
   */
  private async provenBefore(
    { account }: AccountContext,
    { id, kind, field }: { readonly id: string; readonly kind: Kind; readonly field: string },
    secret: SecretBytes,
  ): Promise<EndpointEntry | undefined> {
    const { aid } = account;
    const stored = await this.store.read(id);
    if (stored === undefined) {
      return undefined;
    }
    const { policy, wrap, nonce } = stored;
    const checking =
      stored.aid === aid
        ? this.crypto.checkEndpoint({ place: { aid, id, kind }, policy, wrap, secret })
        : undefined;
    const known = checking && (await recover(checking, 'endpoint_refused', undefined));
    if (known?.kind !== kind || !mayUseKey(account, known.user)) {
      throw new VaultError('endpoint_exists', { field });
    }
    return { kid: known.kid, kind, nonce, id };
  }

  private async rejectChanged(key: KeyHandle): Promise<void> {
    if (!(await this.isStored(key))) {
      throw new VaultError('key_changed');
    }
  }

  /** Describes an endpoint of the directory; undefined if it is gone. */
  private async describe(aid: string, { id, nonce }: EndpointEntry): Promise<DescribedEndpoint | undefined> {
    const stored = await this.store.read(id);
    return stored?.nonce === nonce ? this.described(aid, id, stored) : undefined;
  }

  private async described(
    aid: string,
    id: string,
    { policy: record, wrap, uses }: StoredEndpoint,
  ): Promise<DescribedEndpoint> {
    const policy = await this.crypto.describeEndpoint({ place: { aid, id }, policy: record });
    const { expiresAt } = policy;
    return { id, policy, uses, isOver: !wrap || (expiresAt !== null && expiresAt <= this.now()) };
  }

  /** Returns the directory entry of an endpoint, by its policy, or by search if that does not open. */
  private async entryOf(id: string, { aid, nonce, policy }: StoredEndpoint): Promise<EndpointEntry> {
    try {
      const { kid, kind } = await this.crypto.describeEndpoint({ place: { aid, id }, policy });
      return { kid, kind, nonce, id };
    } catch (error) {
      const entries = await this.store.entries(aid);
      const found = entries.find((entry) => entry.id === id && entry.nonce === nonce);
      if (!found) {
        throw error;
      }
      return found;
    }
  }

  /** Returns the change that the security log records for a removed endpoint; undefined if its policy does not open. */
  private async goneChange(id: string, { aid, policy }: StoredEndpoint): Promise<RecordChange | undefined> {
    const digest = this.crypto.endpointDigest({ place: { aid, id }, policy });
    const known = await recover(digest, 'integrity_failed', undefined);
    return known === undefined ? undefined : { kind: 'endpoint', id, digest: known, isGone: true };
  }

  /** Postpones the entry of a kept endpoint and removes others. Records the end of an expired endpoint. */
  private async checkEntry(aid: string, entry: EndpointEntry): Promise<void> {
    const { id, nonce } = entry;
    const stored = await recover(this.store.read(id), 'integrity_failed', 'damaged');
    if (stored === 'damaged') {
      // The endpoint is left for the operator to examine and does not block later entries.
      return this.store.postpone(aid, entry, this.now() + CHECK_MS);
    }
    let change: RecordChange | undefined;
    let isExpired = false;
    if (stored?.nonce === nonce) {
      const describing = this.crypto.describeEndpoint({ place: { aid, id }, policy: stored.policy });
      const policy = await describing.catch(() => undefined);
      const expiresAt = policy?.expiresAt ?? Number.POSITIVE_INFINITY;
      const removeAt = Math.min(expiresAt, stored.stoppedAt ?? Number.POSITIVE_INFINITY) + KEPT_MS;
      const end = policy && stored.wrap ? longEnd(policy, this.now()) : undefined;
      if (end !== undefined) {
        // Entries of earlier versions and of restored copies may not be there.
        await this.store.noteEnd(aid, entry, end);
      }
      const toldAt = policy && (await this.checkUses(aid, entry, stored, policy));
      if (removeAt > this.now()) {
        return this.store.postpone(aid, entry, Math.min(removeAt, toldAt ?? this.now() + CHECK_MS));
      }
      isExpired = stored.stoppedAt === undefined;
      if (isExpired) {
        // Before the removal: an event may be repeated, but must not be lost.
        await this.events.expired(aid, entry);
      }
      change = await this.goneChange(id, stored);
    }
    if ((await this.store.remove(aid, entry)) && isExpired) {
      await this.audit.record({
        ...{ aid, action: 'endpoint.expire', outcome: 'success', actor: 'vault', object: `endpoint/${id}` },
        ...{ ip: '', userAgent: '', requestId: this.randomId() },
        change,
      });
    }
  }

  /**
   * Announces that an endpoint is used up, where a use was interrupted before it did. Returns the time to look again, ms since
   * 1970, while one may be in flight.
   */
  private async checkUses(
    aid: string,
    entry: EndpointEntry,
    { uses, usesDone, lastUseAt }: StoredEndpoint,
    { maxUses }: EndpointPolicy,
  ): Promise<number | undefined> {
    if (maxUses === undefined || uses < maxUses || usesDone === 'told') {
      return undefined;
    }
    if (usesDone < maxUses && lastUseAt + USE_MS > this.now()) {
      return lastUseAt + USE_MS;
    }
    await this.events.usedUp(aid, entry);
    return undefined;
  }
}

/** An endpoint as its owner sees it. */
function shown({ id, policy, uses, isOver }: DescribedEndpoint) {
  const { kind, user, token, reference, expiresAt, requiresSealed, maxUses, rate, origins } = policy;
  return {
    url: urlOf(kind, id),
    unique_id: id,
    expires_at: expiryText(expiresAt),
    user,
    token,
    reference,
    require_sealed: requiresSealed || undefined,
    max_uses: maxUses,
    uses: maxUses === undefined ? undefined : uses,
    rate,
    origins: origins && [...origins],
    reference_field: policy.referenceField,
    expired: isOver,
  };
}

/** Formats the expiry of an endpoint, ms since 1970; null if it never expires. */
export function expiryText(ms: number | null): string | null {
  return ms === null ? null : formatExpiry(ms);
}

/**
 * The end of an endpoint that was made for more than seven days, ms since 1970; undefined for any other. The lifetime is in
 * whole seconds, and the end up to a second after it. An endpoint of an earlier version has no time of creation: it counts
 * while it has more left than the default lifetime.
 */
function longEnd(
  { createdAt, expiresAt }: Pick<EndpointPolicy, 'createdAt' | 'expiresAt'>,
  now: number,
): number | undefined {
  if (expiresAt === null) {
    return undefined;
  }
  const isLong =
    createdAt === undefined ? expiresAt - now > DAY_MS : expiresAt - createdAt >= LONG_MS + SECOND_MS;
  return isLong ? expiresAt : undefined;
}

function originsOf(given: readonly string[] | undefined): readonly string[] | undefined {
  const origins = given?.map(normalOrigin);
  if (origins?.includes(undefined) === true) {
    throw new VaultError('invalid_request', { field: 'query.origins', expected: ORIGIN_EXPECTED });
  }
  return origins?.filter((origin) => origin !== undefined);
}

export function urlOf(kind: Kind, id: string): string {
  return `/v1/${kind}/${id}`;
}
