import type { EndpointPolicy, EndpointRecords } from '../../workers/jobs/endpoint/jobs.ts';
import type { AccountRecords } from '../account/records.ts';
import type { Audit } from '../audit/audit.ts';
import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { createTickJoin, isTransient, pause, recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { looksLikeCardNumber } from '../domain/card/number.ts';
import { parseRate } from '../domain/rate.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import { isInRanges } from '../domain/text/network.ts';
import { CLOSED_PAUSE_MS, type Done, type KeyOpener, type KeyRef, type Retry } from '../key/opener.ts';
import type { Rates, UseRate } from '../limits/rates.ts';
import type { Account, AccountContext, RequestContext } from '../request/context.ts';
import type { Rejections } from '../vault/rejections.ts';
import type { EndpointEvents } from './endpoint-events.ts';
import { USE_MS } from './endpoints.ts';
import type { EndpointEntry, EndpointStore, StoredEndpoint } from './store.ts';

/** An endpoint as a caller names it, with an id and a secret that may both be wrong. */
export interface EndpointAddress {
  readonly unique_id: string;
  readonly secret: SecretBytes;
  /** The origin of the page that sends the request; undefined for a program, and for pages of the vault. */
  readonly origin?: string | undefined;
}

/** An endpoint that can be used now, by a caller that has shown its secret. */
export interface OpenEndpoint {
  readonly id: string;
  readonly nonce: string;
  readonly policy: EndpointPolicy;
  readonly records: EndpointRecords;
  readonly key: KeyRef;
  /** The owner with its current rights. */
  readonly account: Account;
  /** How often it was used, where that is limited, and by which idempotent requests lately. */
  readonly uses: number;
  readonly seeds: string;
}

/** Takes a use of an endpoint, once however often it is called. Rejects with `endpoint_used_up` or `endpoint_gone`. */
export type TakesUse = () => Promise<void>;

type Kind = EndpointPolicy['kind'];

const CACHED_MAX = 10_000;
const CACHED_MS = 60_000;
const TRIES_MAX = 40;

/** A stored endpoint and the policy that its secret has opened. */
interface Proven {
  readonly stored: StoredEndpoint;
  readonly policy: EndpointPolicy;
}

/** Authenticates callers of endpoints by id and secret. */
export class EndpointAuth {
  /** Policies by a digest of their secret within this process. The wrap checks the secret again in the same request. */
  private readonly proven: Memory<Proven>;
  /** Reads of endpoints and keys, shared by the requests of one tick. */
  private readonly reading = createTickJoin<StoredEndpoint | undefined>();
  private readonly finding = createTickJoin<KeyRef>();
  private readonly decoys = new Map<Kind, Promise<EndpointRecords>>();

  constructor(
    private readonly store: EndpointStore,
    private readonly crypto: Crypto,
    private readonly accounts: AccountRecords,
    private readonly keys: KeyOpener,
    private readonly rates: Rates,
    private readonly rejections: Rejections,
    private readonly audit: Audit,
    private readonly events: EndpointEvents,
    private readonly now: Clock,
  ) {
    this.proven = new Memory(CACHED_MAX, CACHED_MS, now);
  }

  /**
   * Admits a caller with the secret. Unknown ids and wrong secrets are rejected alike with `endpoint_refused`, after the same
   * work. Only with the right secret, `endpoint_gone` tells that the endpoint has expired or was stopped, `account_suspended` that
   * its owner is suspended, `origin_not_allowed` and `rate_limited` what its owner allows. With `lookupRate` that rate applies in place of these. Rejections are recorded in the
   * security log.
   */
  async admit(
    ctx: RequestContext,
    kind: Kind,
    address: EndpointAddress,
    lookupRate?: UseRate,
  ): Promise<OpenEndpoint> {
    const { unique_id: id, secret } = address;
    let stored: StoredEndpoint | undefined;
    try {
      const digest = this.crypto.digestSecret(`${kind} ${id}`, secret);
      const seen = this.proven.get(digest);
      // The owner is read together with the endpoint, but only for a secret that was right before.
      const ahead = seen && this.readOwner(seen.stored.aid, seen.policy);
      // A failure is handled where it is awaited, if it is.
      ahead?.catch(() => undefined);
      stored = isIdentifier(id) ? await this.reading(id, () => this.store.read(id)) : undefined;
      if (!stored) {
        return await this.rejectUnknown(kind, secret);
      }
      const known = seen && isSame(seen.stored, stored) ? seen : undefined;
      const policy = known?.policy ?? (await this.openPolicy(kind, address, stored));
      if (!known) {
        this.proven.set(digest, { stored: copyOf(stored), policy });
      }
      const { aid, nonce, policy: record, wrap, uses, seeds } = stored;
      if (!wrap || (policy.expiresAt !== null && policy.expiresAt <= this.now())) {
        throw new VaultError('endpoint_gone');
      }
      // The fences show the same of an existing key, but only for a limited time of a key whose deletion was interrupted.
      const { account, key } = await ((known && ahead) ?? this.readOwner(aid, policy));
      if (account.isSuspended === true) {
        throw new VaultError('account_suspended');
      }
      const isLookup = lookupRate !== undefined;
      if (!isLookup && address.origin !== undefined && policy.origins?.includes(address.origin) === false) {
        throw new VaultError('origin_not_allowed');
      }
      const ips = policy.inbound?.ips;
      if (ips !== undefined && !isInRanges(ctx.ip, ips)) {
        const expected = 'must be one of the addresses that the inbound names';
        throw new VaultError('not_allowed', { field: 'source_ip', expected });
      }
      // Checked after the secret, so that guesses do not consume the owner's rate limit.
      const rate = this.rates.account(account);
      if (rate !== undefined) {
        await rate;
      }
      const ownRate = lookupRate ?? (policy.rate === undefined ? undefined : parseRate(policy.rate));
      if (ownRate !== undefined) {
        await this.rates.endpoint(isLookup ? `${nonce} lookup` : nonce, ctx.ip, ownRate);
      }
      return { id, nonce, policy, records: { policy: record, wrap }, key, account, uses, seeds };
    } catch (error) {
      await this.recordError(ctx, stored?.aid ?? '', id, error);
      throw error;
    }
  }

  /**
   * Makes one use of an endpoint. Where their number is limited, `act` takes it before it has an effect, at the latest moment, so that
   * what it rejects holds none; a use that was taken is given back only if `act` certainly had no effect. The last one announces its event. A
   * repeat with the seed of a request whose reply was lost is the same use. Rejects with `endpoint_used_up`.
   */
  use<T>(
    ctx: RequestContext,
    endpoint: OpenEndpoint,
    act: (take: TakesUse | undefined) => Promise<T>,
    seed?: string,
  ): Promise<T> {
    const { maxUses } = endpoint.policy;
    return maxUses === undefined ? act(undefined) : this.useOnce(ctx, endpoint, maxUses, act, seed);
  }

  private async useOnce<T>(
    { requestId }: RequestContext,
    { id, nonce, policy: { kid, kind }, key, uses, seeds }: OpenEndpoint,
    maxUses: number,
    act: (take: TakesUse) => Promise<T>,
    seed?: string,
  ): Promise<T> {
    if (uses >= maxUses && (seed === undefined || !seeds.includes(seed))) {
      throw new VaultError('endpoint_used_up');
    }
    const entry = { kid, kind, nonce, id };
    let taken: 'ok' | 'last' | 'again' | undefined;
    const take = async (): Promise<void> => {
      taken ??= await this.takeUse(key.aid, entry, maxUses, seed);
    };
    let hasEffect = true;
    try {
      return await act(take);
    } catch (error) {
      hasEffect = !(error instanceof VaultError && (error.status < 500 || error.code === 'overloaded'));
      throw error;
    } finally {
      // Of a repeat the first run has counted it; where that has died, the sweep announces the event.
      if (taken !== undefined && taken !== 'again') {
        // A use that cannot be subtracted now stays used.
        const ended = hasEffect
          ? this.endUse(key.aid, entry, maxUses, requestId)
          : this.store.giveBackUse(id, nonce, seed);
        await ended.catch(() => undefined);
      }
    }
  }

  private async takeUse(aid: string, entry: EndpointEntry, maxUses: number, seed: string | undefined) {
    const taken = await this.store.takeUse(entry.id, entry.nonce, maxUses, this.now(), seed);
    if (taken === 'gone' || taken === 'used_up') {
      throw new VaultError(taken === 'gone' ? 'endpoint_gone' : 'endpoint_used_up');
    }
    if (taken === 'last') {
      // Should this process die, the sweep announces the event.
      await this.store.postpone(aid, entry, this.now() + USE_MS).catch(() => undefined);
    }
    return taken;
  }

  private async endUse(aid: string, entry: EndpointEntry, maxUses: number, requestId: string): Promise<void> {
    if (await this.store.endUse(entry.id, entry.nonce, maxUses)) {
      await this.events.usedUp(aid, entry, requestId);
    }
  }

  /** Records a failed use of an endpoint in the security log of the owner, and in the log of the item, if it is known. */
  async recordFailure(
    ctx: AccountContext,
    { id, key }: OpenEndpoint,
    operation: 'encrypt' | 'decrypt',
    token: string | undefined,
    error: unknown,
  ): Promise<void> {
    if (token !== undefined) {
      this.rejections.record(ctx, { kid: key.kid, token }, operation, error);
    }
    await this.recordError(ctx, key.aid, id, error);
  }

  /**
   * Repeats `attempt`, with the key as it is stored now, while the bucket is closed or the summaries of the key have changed.
   * Rejects with `endpoint_gone` if its passphrase has changed or it is gone.
   */
  async whileLive<T>(endpoint: OpenEndpoint, attempt: (key: KeyRef) => Promise<Done<T> | Retry>): Promise<T> {
    let { key } = endpoint;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const result = await attempt(key);
      if (result.kind === 'done') {
        return result.value;
      }
      if (result.kind === 'warm_miss') {
        throw new VaultError('endpoint_gone');
      }
      if (result.kind === 'stale') {
        await recover(this.keys.findAgain(key), 'key_not_found', undefined);
      } else {
        await pause(CLOSED_PAUSE_MS);
      }
      ({ key } = await this.readOwner(key.aid, endpoint.policy));
    }
    throw new VaultError('overloaded');
  }

  /** Rejects with the work that an existing endpoint and a wrong secret would cost. */
  private async rejectUnknown(kind: Kind, secret: SecretBytes): Promise<never> {
    // No endpoint has this place.
    const place = { aid: '', id: 'decoy', kind };
    const decoy = this.decoys.get(kind) ?? this.crypto.decoyEndpoint({ place });
    this.decoys.set(kind, decoy);
    decoy.catch(() => this.decoys.delete(kind));
    await this.crypto.checkEndpoint({ place, ...(await decoy), secret });
    throw new VaultError('endpoint_refused');
  }

  /** Returns the policy that this secret opens. Rejects with `endpoint_refused` for any other secret. */
  private async openPolicy(
    kind: Kind,
    { unique_id: id, secret }: EndpointAddress,
    { aid, policy: record, wrap }: StoredEndpoint,
  ): Promise<EndpointPolicy> {
    const place = { aid, id, kind };
    const policy = await this.crypto.checkEndpoint({ place, policy: record, wrap, secret });
    // The secret is bound to the kind; this is for a record that was sealed by others with the master key.
    if (policy.kind !== kind) {
      throw new VaultError('endpoint_refused');
    }
    return policy;
  }

  /** Returns the account and the key of an endpoint. Rejects with `endpoint_gone` unless its key and its account are unchanged. */
  private async readOwner(aid: string, { user, kid, gen, account: name, isMasked }: EndpointPolicy) {
    try {
      const [key, owner] = await Promise.all([
        this.finding(`${aid} ${user}`, () => this.keys.find({ aid }, user)),
        this.accounts.find(name),
      ]);
      const account = owner?.account;
      if (key.kid === kid && key.gen === gen && account?.aid === aid) {
        const masked = isMasked === true && account.unmasked ? { ...account, unmasked: false } : account;
        return { account: masked, key };
      }
    } catch (error) {
      if (!(error instanceof VaultError && error.code === 'key_not_found')) {
        throw error;
      }
    }
    throw new VaultError('endpoint_gone');
  }

  /** Records the reason of a rejection. Ids that are not identifiers are recorded only in the operator's own log. */
  private async recordError(
    { ip, userAgent, requestId }: RequestContext,
    aid: string,
    id: string,
    error: unknown,
  ): Promise<void> {
    if (isTransient(error) || (error instanceof VaultError && error.code === 'rate_limited')) {
      return;
    }
    const object = isIdentifier(id) && !looksLikeCardNumber(id) ? `endpoint/${id}` : 'endpoint';
    const outcome = error instanceof VaultError ? error.code : 'internal';
    const isSecretWrong = outcome === 'endpoint_refused';
    // A caller without the secret is anonymous.
    const actor = isSecretWrong ? 'anonymous' : object;
    const event = { aid, ip, userAgent, requestId, action: 'endpoint.use', object, outcome, actor } as const;
    if (isSecretWrong) {
      // The time of an immediate entry would show whether the endpoint exists.
      this.audit.recordSoon(event);
    } else {
      await this.audit.record(event);
    }
  }
}

function isSame(seen: StoredEndpoint, stored: StoredEndpoint): boolean {
  const isWrapSame = seen.wrap && stored.wrap ? seen.wrap.equals(stored.wrap) : seen.wrap === stored.wrap;
  return seen.aid === stored.aid && seen.policy.equals(stored.policy) && isWrapSame;
}

/** Copies the records of an endpoint, which are views of a larger reply that the cache would keep in memory. */
function copyOf({ policy, wrap, ...rest }: StoredEndpoint): StoredEndpoint {
  return { ...rest, policy: Buffer.from(policy), wrap: wrap && Buffer.from(wrap) };
}
