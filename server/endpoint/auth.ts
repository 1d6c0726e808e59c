import type { EndpointPolicy, EndpointRecords } from '../../workers/jobs/endpoint/jobs.ts';
import type { Accounts } from '../account/accounts.ts';
import type { Audit } from '../audit/audit.ts';
import { bindParts } from '../core/bind.ts';
import { createMemory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { createTickJoin, isTransient, pause, recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { looksLikeCardNumber } from '../domain/card/number.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import type { Keys } from '../key/keys.ts';
import { CLOSED_PAUSE_MS, type Done, type KeyRef, type Retry } from '../key/opener.ts';
import type { RateService } from '../limits/rates.ts';
import type { Account, RequestContext } from '../request/context.ts';
import type { EndpointStore, StoredEndpoint } from './store.ts';

/** An endpoint as its user names it; every id and every secret is one that may be tried. */
export interface EndpointAddress {
  readonly unique_id: string;
  readonly secret: SecretBytes;
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

type Kind = EndpointPolicy['kind'];

const KNOWN_MAX = 10_000;
const KNOWN_MS = 60_000;
const TRIES_MAX = 40;
/** The place of the decoys, which no endpoint has. */
const DECOY = { aid: '', id: 'decoy' } as const;

interface AuthDependencies {
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
  readonly stored: StoredEndpoint;
  readonly policy: EndpointPolicy;
}

type AuthParts = ReturnType<typeof createParts>;

function createParts(dependencies: AuthDependencies) {
  return {
    ...dependencies,
    /**
     * Policies by a digest of the secret that was right for them, which only this process can compute. The secret is
     * checked once more, by the wrap that it opens, in the same request.
     */
    proven: createMemory<Proven>(KNOWN_MAX, KNOWN_MS, dependencies.now),
    /** Reads of endpoints and keys, shared by the requests of one tick. */
    reading: createTickJoin<StoredEndpoint | undefined>(),
    finding: createTickJoin<KeyRef>(),
    decoys: new Map<Kind, Promise<EndpointRecords>>(),
  };
}

/** The part of capturing and retrieving that is the same: from an id and a secret to an endpoint that may be used. */
export type EndpointAuth = ReturnType<typeof createEndpointAuth>;

/** Makes the authentication by endpoint secrets, with no secret remembered. */
export function createEndpointAuth(dependencies: AuthDependencies) {
  const parts = createParts(dependencies);
  return {
    ...bindParts(parts, { admit }),
    /**
     * Runs the use of an endpoint; a failure is given to `onFailure`, and recorded in the security log of the endpoint's
     * account.
     */
    async recordFailure<T>(
      ctx: RequestContext,
      { id, key }: OpenEndpoint,
      use: () => Promise<T>,
      onFailure?: (error: unknown) => void,
    ): Promise<T> {
      try {
        return await use();
      } catch (error) {
        onFailure?.(error);
        await recordError(parts, ctx, key.aid, id, error);
        throw error;
      }
    },
    /**
     * Repeats `attempt` while the bucket is closed. A generation that is no longer the newest, and a key that is gone, end
     * the endpoint: `endpoint_gone`.
     */
    async whileLive<T>({ key, policy }: OpenEndpoint, attempt: () => Promise<Done<T> | Retry>): Promise<T> {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const result = await attempt();
        if (result.kind === 'done') {
          return result.value;
        }
        if (result.kind !== 'closed') {
          throw new VaultError('endpoint_gone');
        }
        await readOwner(parts, key.aid, policy);
        await pause(CLOSED_PAUSE_MS);
      }
      throw new VaultError('overloaded');
    },
  };
}

/** Rejects as if the endpoint existed and the secret were wrong: with the same work. */
async function rejectUnknown({ crypto, decoys }: AuthParts, kind: Kind, secret: SecretBytes): Promise<never> {
  const decoy = decoys.get(kind) ?? crypto.decoyEndpoint({ place: { ...DECOY, kind } });
  decoys.set(kind, decoy);
  decoy.catch(() => decoys.delete(kind));
  await crypto.checkEndpoint({ place: { ...DECOY, kind }, ...(await decoy), secret });
  throw new VaultError('endpoint_refused');
}

/** The account of an endpoint; `endpoint_gone` unless its key and its account are still what they were. */
async function readOwner(
  { accounts, finding, keys }: AuthParts,
  aid: string,
  { user, kid, gen, account: name, isMasked }: EndpointPolicy,
): Promise<Account> {
  const [key, account] = await Promise.all([
    recover(
      finding(`${aid} ${user}`, () => keys.find({ aid }, user)),
      'key_not_found',
      undefined,
    ),
    accounts.lookUp(name),
  ]);
  if (key?.kid !== kid || key.gen !== gen || account?.aid !== aid) {
    throw new VaultError('endpoint_gone');
  }
  return isMasked === true && account.unmasked ? { ...account, unmasked: false } : account;
}

/** Records why a use was rejected; what an unknown endpoint was sent is in the operator's own log. */
async function recordError(
  { audit }: AuthParts,
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
    // An entry now, in the log of one account or another, would show that there is such an endpoint.
    audit.recordSoon(event);
  } else {
    await audit.record(event);
  }
}

function isSame(seen: StoredEndpoint, stored: StoredEndpoint): boolean {
  const isWrapSame =
    seen.wrap === undefined || stored.wrap === undefined
      ? seen.wrap === stored.wrap
      : seen.wrap.equals(stored.wrap);
  return seen.aid === stored.aid && seen.policy.equals(stored.policy) && isWrapSame;
}

/** To be kept: a reply is a view, and would keep all that arrived with it. */
function copyOf({ policy, wrap, ...rest }: StoredEndpoint): StoredEndpoint {
  return { ...rest, policy: Buffer.from(policy), wrap: wrap && Buffer.from(wrap) };
}

/** The policy that this secret opens; `endpoint_refused` for any other secret. */
async function openPolicy(
  { crypto }: AuthParts,
  kind: Kind,
  { unique_id: id, secret }: EndpointAddress,
  { aid, policy: record, wrap }: StoredEndpoint,
): Promise<EndpointPolicy> {
  const policy = await crypto.checkEndpoint({ place: { aid, id, kind }, policy: record, wrap, secret });
  // The secret is bound to the kind; this is for a record that was sealed anew with the master key.
  if (policy.kind !== kind) {
    throw new VaultError('endpoint_refused');
  }
  return policy;
}

/**
 * Admits any caller with the secret. Unknown ids and wrong secrets are rejected alike with `endpoint_refused`, after the same
 * work; only the right secret learns, by `endpoint_gone`, that the endpoint has expired or was stopped. Rejections are
 * recorded in the security log.
 */
async function admit(
  parts: AuthParts,
  ctx: RequestContext,
  kind: Kind,
  address: EndpointAddress,
): Promise<OpenEndpoint> {
  const { crypto, endpointStore, now, proven, rates } = parts;
  const { unique_id: id, secret } = address;
  let stored: StoredEndpoint | undefined;
  try {
    const digest = crypto.digestSecret(`${kind} ${id}`, secret);
    const seen = proven.get(digest);
    // All that must be as it was is read at once. Only a secret that was right before is worth it.
    const ahead = seen && readOwner(parts, seen.stored.aid, seen.policy);
    // A failure is met where it is awaited; it may not be.
    ahead?.catch(() => undefined);
    stored = isIdentifier(id) ? await parts.reading(id, () => endpointStore.read(id)) : undefined;
    if (!stored) {
      return await rejectUnknown(parts, kind, secret);
    }
    const known = seen && isSame(seen.stored, stored) ? seen : undefined;
    const policy = known?.policy ?? (await openPolicy(parts, kind, address, stored));
    if (!known) {
      proven.set(digest, { stored: copyOf(stored), policy });
    }
    const { aid, nonce, policy: record, wrap } = stored;
    if (!wrap || (policy.expiresAt !== null && policy.expiresAt <= now())) {
      throw new VaultError('endpoint_gone');
    }
    // The fences say the same of a key that lives. One whose deletion was interrupted they hold for a while only.
    const account = await ((known && ahead) ?? readOwner(parts, aid, policy));
    // Behind the secret: guesses must not use up what the owner may do.
    await rates.account(account);
    const { user, kid, gen, summary = false } = policy;
    const key = { aid, user, kid, gen, summary };
    return { id, nonce, policy, records: { policy: record, wrap }, key, account };
  } catch (error) {
    await recordError(parts, ctx, stored?.aid ?? '', id, error);
    throw error;
  }
}
