import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto, EndpointPolicy, EndpointRecords } from '../../crypto/client.ts';
import { looksLikeCardNumber } from '../../domain/card/number.ts';
import { isIdentifier } from '../../domain/text/identifiers.ts';
import type { EndpointStore, StoredEndpoint } from '../../store/endpoint.ts';
import type { Accounts } from '../account/account.ts';
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../common/clock.ts';
import { isTransient, joinTick, pause } from '../common/coalesce.ts';
import { createMemory } from '../common/memory.ts';
import type { Account, RequestContext } from '../common/request-context.ts';
import type { Keys } from '../key/key.ts';
import { isRetry, type KeyRef, type Retry } from '../key/open.ts';
import type { RateService } from '../request/rate.ts';
import type { EndpointKind } from './endpoint.ts';

/** An endpoint as its user names it; every id and every secret is one that may be tried. */
export interface EndpointAddress {
  readonly unique_id: string;
  readonly secret: SecretBytes;
}

const KNOWN_MAX = 10_000;
const KNOWN_MS = 60_000;
const TRIES_MAX = 40;
const CLOSED_PAUSE_MS = 50;
const DECOY = { aid: '', id: 'decoy' } as const;

function isSame(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}

/** An endpoint whose secret was shown, and which can be used now. */
export interface OpenEndpoint {
  readonly id: string;
  readonly nonce: string;
  readonly policy: EndpointPolicy;
  readonly records: EndpointRecords;
  readonly key: KeyRef;
  /** With its rights as they are now. */
  readonly account: Account;
}

export interface EndpointUse {
  /**
   * Lets in whoever has the secret. Unknown ids and wrong secrets are refused alike, after the same work; only
   * the right secret hears, with `endpoint_gone`, that the endpoint has expired or was stopped.
   */
  readonly admit: (
    ctx: RequestContext,
    kind: EndpointKind,
    address: EndpointAddress,
  ) => Promise<OpenEndpoint>;
  /** Runs the use of an endpoint; how it is refused is noted in the security log of the endpoint's account. */
  readonly noting: <T>(ctx: RequestContext, endpoint: OpenEndpoint, use: () => Promise<T>) => Promise<T>;
  /**
   * Runs `attempt` until it is neither refused by a closed bucket nor stale. A generation that is no longer the
   * newest, and a key that is gone, end the endpoint.
   */
  readonly whileLive: <T>(endpoint: OpenEndpoint, attempt: () => Promise<T | Retry>) => Promise<T>;
}

/** What the way in is built from, beside the parts of every service. */
interface EndpointUseDependencies {
  readonly crypto: Pick<Crypto, 'checkEndpoint' | 'decoyEndpoint' | 'digestSecret'>;
  readonly endpointStore: Pick<EndpointStore, 'read'>;
  readonly accounts: Pick<Accounts, 'lookUp'>;
  readonly keys: Pick<Keys, 'find'>;
  readonly rates: Pick<RateService, 'account'>;
  readonly audit: Pick<Audit, 'record' | 'recordSoon'>;
  readonly now: Clock;
}

/** What a secret has opened. */
interface Proven {
  readonly aid: string;
  readonly record: Buffer;
  readonly wrap: Buffer | undefined;
  readonly policy: EndpointPolicy;
}

interface Ground {
  readonly key: Promise<KeyRef>;
  readonly account: Promise<Account | undefined>;
}

/** What capturing and retrieving have in common: the way from an id and a secret to an endpoint that may be used. */
export function createEndpointUse(dependencies: EndpointUseDependencies): EndpointUse {
  const { crypto, endpointStore, accounts, keys, rates, audit, now } = dependencies;
  // Policies by a digest of the secret that was right for them, which only this process can compute. The secret is
  // checked once more, by the wrap that it opens, in the same request.
  const proven = createMemory<Proven>(KNOWN_MAX, KNOWN_MS, now);
  const readers = createMemory<() => Promise<StoredEndpoint | undefined>>(KNOWN_MAX, KNOWN_MS, now);
  const finders = createMemory<() => Promise<KeyRef>>(KNOWN_MAX, KNOWN_MS, now);
  const decoys = new Map<EndpointKind, Promise<EndpointRecords>>();

  const readFresh = (id: string): Promise<StoredEndpoint | undefined> => {
    const reader = readers.get(id) ?? joinTick(() => endpointStore.read(id));
    readers.set(id, reader);
    return reader();
  };

  /** Refuses as if there were an endpoint and the secret not its own: with the same work. */
  const refuse = async (kind: EndpointKind, secret: SecretBytes): Promise<never> => {
    const decoy = decoys.get(kind) ?? crypto.decoyEndpoint({ place: { ...DECOY, kind } });
    decoys.set(kind, decoy);
    decoy.catch(() => decoys.delete(kind));
    await crypto.checkEndpoint({ place: { ...DECOY, kind }, ...(await decoy), secret });
    throw new VaultError('endpoint_refused');
  };

  const findFresh = (aid: string, user: string): Promise<KeyRef> => {
    const name = `${aid} ${user}`;
    const finder = finders.get(name) ?? joinTick(() => keys.find({ aid }, user));
    finders.set(name, finder);
    return finder();
  };

  /** Begins to read what an endpoint stands on: its key and its account, as they are now. */
  const readGround = (aid: string, { user, account }: EndpointPolicy): Ground => {
    const ground = { key: findFresh(aid, user), account: accounts.lookUp(account) };
    // What fails is met by whoever waits for it; ground that nobody asks for any more must not count as unhandled.
    ground.key.catch(() => undefined);
    ground.account.catch(() => undefined);
    return ground;
  };

  /** The account of an endpoint; refuses with `endpoint_gone` unless its key and account are what they were. */
  const standOn = async (ground: Ground, { aid, kid, gen }: KeyRef): Promise<Account> => {
    const key = await ground.key.catch((error: unknown) => {
      if (error instanceof VaultError && error.code === 'key_not_found') {
        return undefined;
      }
      throw error;
    });
    const account = await ground.account;
    if (key?.kid !== kid || key.gen !== gen || account?.aid !== aid) {
      throw new VaultError('endpoint_gone');
    }
    return account;
  };

  /** Notes how a use was refused; what an unknown endpoint was sent is on the operator's own log. */
  const noteRefusal = async (ctx: RequestContext, aid: string, id: string, error: unknown): Promise<void> => {
    if (isTransient(error) || (error instanceof VaultError && error.code === 'rate_limited')) {
      return;
    }
    const { ip, userAgent, requestId } = ctx;
    const name = isIdentifier(id) && !looksLikeCardNumber(id) ? `endpoint/${id}` : 'endpoint';
    const isRefused = error instanceof VaultError && error.code === 'endpoint_refused';
    const note = {
      ...({ aid, ip, userAgent, requestId, action: 'endpoint.use', object: name } as const),
      outcome: error instanceof VaultError ? error.code : 'internal',
      // Who has not shown the secret is nobody in particular.
      actor: isRefused ? 'anonymous' : name,
    };
    if (isRefused) {
      // An entry now, in the log of one account or another, would tell that there is such an endpoint.
      audit.recordSoon(note);
    } else {
      await audit.record(note);
    }
  };

  const find = async (
    kind: EndpointKind,
    { unique_id: id, secret }: EndpointAddress,
    onOwner: (aid: string) => void,
  ): Promise<OpenEndpoint> => {
    const digest = crypto.digestSecret([kind, id], secret);
    const seen = proven.get(digest);
    // All that must be as it was is read at once. Only a secret that was right before is worth it.
    const ahead = seen && readGround(seen.aid, seen.policy);
    const stored = isIdentifier(id) ? await readFresh(id) : undefined;
    if (!stored) {
      return refuse(kind, secret);
    }
    const { nonce, aid, policy: record, wrap } = stored;
    onOwner(aid);
    const isKnown = seen?.aid === aid && seen.record.equals(record) && isSame(seen.wrap, wrap);
    const policy = isKnown
      ? seen.policy
      : await crypto.checkEndpoint({ place: { aid, id, kind }, policy: record, wrap, secret });
    // The secret is bound to the kind; this is for a record that was sealed anew with the master key.
    if (policy.kind !== kind) {
      throw new VaultError('endpoint_refused');
    }
    if (!isKnown) {
      proven.set(digest, { aid, record, wrap, policy });
    }
    if (!wrap || (policy.expiresAt !== null && policy.expiresAt <= now())) {
      throw new VaultError('endpoint_gone');
    }
    const { user, kid, gen } = policy;
    const key = { aid, user, kid, gen };
    // The fences say the same of a key that lives. One whose deletion was cut off they hold for a while only.
    const account = await standOn(isKnown && ahead ? ahead : readGround(aid, policy), key);
    // Behind the secret: guesses must not use up what the owner may do.
    await rates.account(account);
    return { id, nonce, policy, records: { policy: record, wrap }, key, account };
  };

  const whileLive: EndpointUse['whileLive'] = async (endpoint, attempt) => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const result = await attempt();
      if (!isRetry(result)) {
        return result;
      }
      if (result.kind !== 'closed') {
        throw new VaultError('endpoint_gone');
      }
      await standOn(readGround(endpoint.key.aid, endpoint.policy), endpoint.key);
      await pause(CLOSED_PAUSE_MS);
    }
    throw new VaultError('overloaded');
  };

  return {
    async admit(ctx, kind, address) {
      let owner = '';
      try {
        return await find(kind, address, (aid) => {
          owner = aid;
        });
      } catch (error) {
        await noteRefusal(ctx, owner, address.unique_id, error);
        throw error;
      }
    },
    async noting(ctx, { id, key }, use) {
      try {
        return await use();
      } catch (error) {
        await noteRefusal(ctx, key.aid, id, error);
        throw error;
      }
    },
    whileLive,
  };
}
