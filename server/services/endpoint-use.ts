import type {
  Account,
  EndpointAddress,
  EndpointKind,
  EndpointPolicy,
  EndpointRecords,
  Parts,
  SecretBytes,
  StoredEndpoint,
} from '../deps.ts';
import { isIdentifier } from '../domain/identifiers.ts';
import { VaultError } from '../errors.ts';
import type { Accounts } from './account.ts';
import { coalesce, pause } from './coalesce.ts';
import type { Keys } from './key.ts';
import { isRetry, type KeyRef, type Retry } from './key-open.ts';
import { createMemory } from './memory.ts';

const KNOWN_MAX = 10_000;
const KNOWN_MS = 60_000;
const TRIES_MAX = 40;
const CLOSED_PAUSE_MS = 50;
const DECOY = { aid: '', id: 'decoy' } as const;

const isSame = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.equals(b);

/** An endpoint whose secret was shown, and which can be used now. */
export interface OpenEndpoint {
  readonly id: string;
  readonly nonce: string;
  readonly policy: EndpointPolicy;
  readonly records: EndpointRecords;
  readonly key: KeyRef;
}

export interface EndpointUse {
  /**
   * Lets in whoever has the secret. Unknown ids and wrong secrets are refused alike, after the same work; only
   * the right secret hears, with `endpoint_gone`, that the endpoint has expired or was stopped.
   */
  readonly admit: (kind: EndpointKind, address: EndpointAddress) => Promise<OpenEndpoint>;
  /**
   * Runs `attempt` until it is neither refused by a closed bucket nor stale. A generation that is no longer the
   * newest, and a key that is gone, end the endpoint.
   */
  readonly whileLive: <T>(endpoint: OpenEndpoint, attempt: () => Promise<T | Retry>) => Promise<T>;
  /** The account of the endpoint with its rights as they are now; without it the endpoint is gone. */
  readonly accountOf: (endpoint: OpenEndpoint) => Promise<Account>;
}

/** What a secret has opened. */
interface Proven {
  readonly record: Buffer;
  readonly wrap: Buffer | undefined;
  readonly policy: EndpointPolicy;
}

/** What capturing and retrieving have in common: the way from an id and a secret to an endpoint that may be used. */
export function createEndpointUse(parts: Parts, accounts: Accounts, keys: Keys): EndpointUse {
  const { crypto, endpointStore, now } = parts;
  // Policies by a digest of the secret that was right for them, which only this process can compute. The secret is
  // checked once more, by the wrap that it opens, in the same request.
  const proven = createMemory<Proven>(KNOWN_MAX, KNOWN_MS, now);
  const readers = createMemory<() => Promise<StoredEndpoint | undefined>>(KNOWN_MAX, KNOWN_MS, now);
  const finders = createMemory<() => Promise<KeyRef>>(KNOWN_MAX, KNOWN_MS, now);
  const decoys = new Map<EndpointKind, Promise<EndpointRecords>>();

  const readFresh = (id: string): Promise<StoredEndpoint | undefined> => {
    const reader = readers.get(id) ?? coalesce(() => endpointStore.read(id));
    readers.set(id, reader);
    return reader();
  };

  /** Refuses as if there were an endpoint and the secret not its own: with the same work. */
  const refuse = async (kind: EndpointKind, secret: SecretBytes): Promise<never> => {
    const decoy = decoys.get(kind) ?? crypto.decoyEndpoint({ ...DECOY, kind });
    decoys.set(kind, decoy);
    decoy.catch(() => decoys.delete(kind));
    await crypto.checkEndpoint({ ...DECOY, kind }, await decoy, secret);
    throw new VaultError('endpoint_refused');
  };

  /** The policy of an endpoint for whoever has its secret; one that is wrong costs what an unknown id costs. */
  const prove = async (
    kind: EndpointKind,
    { unique_id: id, secret }: EndpointAddress,
    { nonce, aid, policy: record, wrap }: StoredEndpoint,
  ): Promise<EndpointPolicy> => {
    const digest = crypto.digestSecret([kind, id, nonce], secret);
    const seen = proven.get(digest);
    if (seen?.record.equals(record) && isSame(seen.wrap, wrap)) {
      return seen.policy;
    }
    const policy = await crypto.checkEndpoint({ aid, id, kind }, { policy: record, wrap }, secret);
    proven.set(digest, { record, wrap, policy });
    return policy;
  };

  const admit: EndpointUse['admit'] = async (kind, address) => {
    const { unique_id: id, secret } = address;
    const stored = isIdentifier(id) ? await readFresh(id) : undefined;
    if (!stored) {
      return refuse(kind, secret);
    }
    const { nonce, aid, wrap } = stored;
    const policy = await prove(kind, address, stored);
    // The secret is bound to the kind; this is for a record that was sealed anew with the master key.
    if (policy.kind !== kind) {
      throw new VaultError('endpoint_refused');
    }
    if (!wrap || (policy.expiresAt !== null && policy.expiresAt <= now())) {
      throw new VaultError('endpoint_gone');
    }
    const { user, kid, gen } = policy;
    const records = { policy: stored.policy, wrap };
    const endpoint = { id, nonce, policy, records, key: { aid, user, kid, gen } };
    // The fences say the same of a key that lives. One whose deletion was cut off they hold for a while only.
    await proveLive(endpoint);
    return endpoint;
  };

  const findFresh = (key: KeyRef): Promise<KeyRef> => {
    const name = `${key.aid} ${key.user}`;
    const finder = finders.get(name) ?? coalesce(() => keys.find(key, key.user));
    finders.set(name, finder);
    return finder();
  };

  const isLive = async ({ key }: OpenEndpoint): Promise<boolean> => {
    try {
      const { kid, gen } = await findFresh(key);
      return kid === key.kid && gen === key.gen;
    } catch (error) {
      if (error instanceof VaultError && error.code === 'key_not_found') {
        return false;
      }
      throw error;
    }
  };

  /** Refuses with `endpoint_gone` unless the key is, in Redis and now, the one that the endpoint was made under. */
  const proveLive = async (endpoint: OpenEndpoint): Promise<void> => {
    if (!(await isLive(endpoint))) {
      throw new VaultError('endpoint_gone');
    }
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
      await proveLive(endpoint);
      await pause(CLOSED_PAUSE_MS);
    }
    throw new VaultError('overloaded');
  };

  const accountOf: EndpointUse['accountOf'] = async ({ key, policy }) => {
    const account = await accounts.lookUp(policy.account);
    if (account?.aid !== key.aid) {
      throw new VaultError('endpoint_gone');
    }
    return account;
  };

  return { admit, accountOf, whileLive };
}
