import { VaultError } from '../../core/errors.ts';
import type { Secret, SecretBytes } from '../../core/secret.ts';
import type { Crypto, EndpointPolicy, EndpointRecords } from '../../crypto/client.ts';
import { parseDuration } from '../../domain/text/duration.ts';
import { isIdentifier } from '../../domain/text/identifiers.ts';
import { formatExpiry } from '../../domain/text/time-text.ts';
import type { EndpointEntry, EndpointStore, StoredEndpoint } from '../../store/endpoint.ts';
import type { Audit } from '../audit/audit.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import { mapAhead, pause } from '../common/coalesce.ts';
import type { Account, AccountContext } from '../common/request-context.ts';
import type { Keys } from '../key/key.ts';
import type { KeyHandle } from '../key/open.ts';
import type { MeteringService } from '../request/metering.ts';
import { toAsync } from '../vault/tree.ts';

/** Types only, a part of deps.ts: endpoints, what goes through them, and rules. */
export type EndpointKind = 'capture' | 'retrieve';

export interface CreateEndpointInput {
  readonly user: string;
  readonly passphrase: SecretBytes;
  readonly unique_id?: string | undefined;
  /** A duration such as `45m` or `P1D`; 24 hours when left out. */
  readonly ttl?: string | undefined;
  readonly rules: readonly string[];
  readonly return_card_metadata?: boolean | undefined;
}

/** An endpoint with its secret, shown once. */
export interface NewEndpoint {
  readonly url: string;
  readonly unique_id: string;
  readonly secret: Secret<string>;
  /** RFC 3339 in whole seconds; null = never. */
  readonly expires_at: string | null;
}

export interface EndpointInfo extends Omit<NewEndpoint, 'secret'> {
  readonly user: string;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly expired: boolean;
}

/** What an account does with its endpoints, of either kind. */
export interface EndpointService {
  readonly list: (
    ctx: AccountContext,
    kind: EndpointKind,
    filter: { readonly user?: string | undefined },
  ) => Promise<readonly EndpointInfo[]>;
  /** Deletes an endpoint of either kind and frees its id. */
  readonly remove: (ctx: AccountContext, id: string) => Promise<void>;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_TTL = '24h';
/** How long an endpoint that cannot be used any more still tells the right secret so. */
const KEPT_MS = DAY_MS;
/** The sweep looks at every entry at least so often. */
const LOOK_MS = DAY_MS;
/** And first after so long: by then a creation has ended, one way or the other. */
const FIRST_LOOK_MS = 120_000;
const TAKE_BACK_MS = 250;
const READ_AHEAD = 64;
const NEVER_MS = 8_000_000_000_000_000;

/** What a kind of endpoint adds to the policy of both. */
type OwnPolicy = Pick<EndpointPolicy, 'algorithm' | 'token' | 'reference' | 'maskFields'>;

export interface Endpoints extends EndpointService {
  readonly create: (
    ctx: AccountContext,
    kind: EndpointKind,
    input: CreateEndpointInput,
    own: OwnPolicy,
  ) => Promise<NewEndpoint>;
  /** Removes what expired or was stopped a day ago, and what interrupted creations have left. */
  readonly sweep: (aid: string) => Promise<void>;
}

function urlOf(kind: EndpointKind, id: string): string {
  return `/v1/${kind}/${id}`;
}
function expiryText(ms: number | null): string | null {
  return ms === null ? null : formatExpiry(ms);
}

/** When an endpoint that begins now ends: the next whole second at or after its time. */
function expiryOf(ttl: string, now: number): number | null {
  const duration = parseDuration(ttl);
  if (duration === undefined) {
    throw new VaultError('invalid_request', { field: 'query.ttl' });
  }
  return duration === 'forever' ? null : Math.ceil((now + duration) / 1_000) * 1_000;
}

interface EndpointDependencies {
  readonly crypto: Pick<Crypto, 'createEndpoint' | 'describeEndpoint'>;
  readonly endpointStore: EndpointStore;
  readonly metering: Pick<MeteringService, 'count'>;
  readonly keys: Pick<Keys, 'find' | 'withUnlocked'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
}

/** Endpoints of either kind: how they begin, are listed and end. What they do is their own service's. */
export function createEndpoints(dependencies: EndpointDependencies): Endpoints {
  const { crypto, endpointStore, metering, keys, audit, now, randomId } = dependencies;

  type Sealed = EndpointRecords & { readonly secret: NewEndpoint['secret']; readonly key: KeyHandle };

  const isStored = async ({ aid, user, kid, gen }: KeyHandle): Promise<boolean> => {
    const stored = await keys.find({ aid }, user);
    return stored.kid === kid && stored.gen === gen;
  };

  const refuseChanged = async (key: KeyHandle): Promise<void> => {
    if (!(await isStored(key))) {
      throw new VaultError('key_changed');
    }
  };

  /**
   * Puts a sealed endpoint in its place: reserves the id, enters it in the directory, makes sure that the key is
   * still the one it was sealed under, and commits. A passphrase change in between stops it, before or after.
   */
  const place = async (entry: EndpointEntry, { key, policy, wrap }: Sealed): Promise<void> => {
    const { aid, gen } = key;
    if (!(await endpointStore.reserve(entry.id, entry.nonce))) {
      throw new VaultError('endpoint_exists', { field: 'query.unique_id' });
    }
    try {
      await endpointStore.enter(aid, entry, now() + FIRST_LOOK_MS, gen);
      await refuseChanged(key);
      if (!(await endpointStore.commit(entry.id, { nonce: entry.nonce, aid, policy, wrap }))) {
        // Stopped with its key in between; or this has taken so long that the reservation has run out.
        await refuseChanged(key);
        throw new VaultError('overloaded');
      }
    } catch (error) {
      // What cannot be taken back now runs out by itself, or is stopped with its key.
      // A caller of a Redis that does not answer has waited enough.
      await Promise.race([endpointStore.remove(aid, entry).catch(() => false), pause(TAKE_BACK_MS)]);
      throw error;
    }
  };

  const create: Endpoints['create'] = async (ctx, kind, input, own) => {
    const { account } = ctx;
    const { user, passphrase, rules } = input;
    const wantsCard = input.return_card_metadata ?? account.preferences.return_card_metadata;
    const { aid, name } = account;
    const expiresAt = expiryOf(input.ttl ?? DEFAULT_TTL, now());
    const id = input.unique_id ?? randomId();
    const sealed = await keys.withUnlocked<Sealed>(account, user, passphrase, async (key, blob) => {
      // What this server remembers may be of before a change at another one, however long ago.
      if (!(await isStored(key))) {
        return { kind: 'stale' };
      }
      const { kid, gen } = key;
      const policy: EndpointPolicy = {
        kind,
        account: name,
        user,
        kid,
        gen,
        expiresAt,
        rules,
        wantsCard,
        ...own,
      };
      const made = await crypto.createEndpoint({
        params: { aid, kid, gen, id, kind },
        blob,
        passphrase,
        policy,
      });
      return made.kind === 'warm_miss' ? made : { ...made, kind: 'sealed' as const, key };
    });
    await place({ kid: sealed.key.kid, kind, nonce: randomId(), id }, sealed);
    metering.count(ctx, `${kind}_create`);
    return { url: urlOf(kind, id), unique_id: id, secret: sealed.secret, expires_at: expiryText(expiresAt) };
  };

  const describe = async (aid: string, { id, kind, nonce }: EndpointEntry): Promise<EndpointInfo[]> => {
    const stored = await endpointStore.read(id);
    if (stored?.nonce !== nonce) {
      return [];
    }
    const { user, token, reference, expiresAt } = await crypto.describeEndpoint({
      place: { aid, id },
      policy: stored.policy,
    });
    return [
      {
        url: urlOf(kind, id),
        unique_id: id,
        expires_at: expiryText(expiresAt),
        user,
        ...(token === undefined ? {} : { token }),
        ...(reference === undefined ? {} : { reference }),
        expired: !stored.wrap || (expiresAt !== null && expiresAt <= now()),
      },
    ];
  };

  const byUserThenId = (a: EndpointInfo, b: EndpointInfo): number => {
    const [first, second] = a.user === b.user ? [a.unique_id, b.unique_id] : [a.user, b.user];
    return first < second ? -1 : 1;
  };

  /** The entries of one kind, of one key or of all. */
  const entriesOf = async ({ aid }: Account, kind: EndpointKind, user: string | undefined) => {
    const kid = user === undefined ? undefined : (await keys.find({ aid }, user)).kid;
    const entries = await endpointStore.entries(aid);
    return entries.filter((entry) => entry.kind === kind && (kid === undefined || entry.kid === kid));
  };

  const list: Endpoints['list'] = async (ctx, kind, { user }) => {
    const { account } = ctx;
    const infos: EndpointInfo[] = [];
    const entries = await entriesOf(account, kind, user);
    for await (const found of mapAhead(toAsync(entries), READ_AHEAD, (entry) =>
      describe(account.aid, entry),
    )) {
      infos.push(...found);
    }
    metering.count(ctx, 'list');
    return infos.sort(byUserThenId);
  };

  /** An endpoint's line of the directory: by its policy, or, where that does not open any more, by search. */
  const entryOf = async (id: string, { aid, nonce, policy }: StoredEndpoint): Promise<EndpointEntry> => {
    try {
      const { kid, kind } = await crypto.describeEndpoint({ place: { aid, id }, policy });
      return { kid, kind, nonce, id };
    } catch (error) {
      const entries = await endpointStore.entries(aid);
      const found = entries.find((entry) => entry.id === id && entry.nonce === nonce);
      if (!found) {
        throw error;
      }
      return found;
    }
  };

  const remove: Endpoints['remove'] = async (ctx, id) => {
    const { account } = ctx;
    const { aid } = account;
    const stored = isIdentifier(id) ? await endpointStore.read(id) : undefined;
    if (stored?.aid !== aid) {
      throw new VaultError('endpoint_not_found');
    }
    const entry = await entryOf(id, stored);
    // Should this end half-way, the sweep finds an entry without an endpoint. A full Redis takes the removal alone.
    await endpointStore.postpone(aid, entry, now()).catch(() => undefined);
    if (!(await endpointStore.remove(aid, entry))) {
      throw new VaultError('endpoint_not_found');
    }
    metering.count(ctx, 'delete');
  };

  /** When to look at an entry again; without that it may go now, with its endpoint, or as the rest of one. */
  const lookAgainAt = async (
    aid: string,
    { id, nonce }: EndpointEntry,
  ): Promise<number | 'expired' | 'stopped' | 'rest'> => {
    const stored = await endpointStore.read(id).catch((error: unknown) => {
      if (error instanceof VaultError && error.code === 'integrity_failed') {
        return 'damaged' as const;
      }
      throw error;
    });
    // A record that does not open is left for people to look at: others behind it must not wait for that.
    if (stored === 'damaged') {
      return now() + LOOK_MS;
    }
    if (stored?.nonce !== nonce) {
      return 'rest';
    }
    const policy = await crypto
      .describeEndpoint({ place: { aid, id }, policy: stored.policy })
      .catch(() => undefined);
    const expiresAt = policy?.expiresAt ?? NEVER_MS;
    const goesAt = Math.min(expiresAt, stored.stoppedAt ?? NEVER_MS) + KEPT_MS;
    if (goesAt > now()) {
      return Math.min(goesAt, now() + LOOK_MS);
    }
    return stored.stoppedAt === undefined ? 'expired' : 'stopped';
  };

  /** Removes what the sweep finds over; the end of an endpoint that nobody has stopped is noted. */
  const removeOver = async (aid: string, entry: EndpointEntry, isExpired: boolean): Promise<void> => {
    if ((await endpointStore.remove(aid, entry)) && isExpired) {
      await audit.record({
        ...{
          aid,
          action: 'endpoint.expire',
          outcome: 'success',
          actor: 'vault',
          object: `endpoint/${entry.id}`,
        },
        ...{ ip: '', userAgent: '', requestId: randomId() },
      });
    }
  };

  const sweep: Endpoints['sweep'] = async (aid) => {
    for (;;) {
      const entries = await endpointStore.due(aid, now());
      for (const entry of entries) {
        const next = await lookAgainAt(aid, entry);
        if (typeof next === 'number') {
          await endpointStore.postpone(aid, entry, next);
        } else {
          await removeOver(aid, entry, next === 'expired');
        }
      }
      if (entries.length === 0) {
        return;
      }
    }
  };

  return { create, list, remove, sweep };
}
