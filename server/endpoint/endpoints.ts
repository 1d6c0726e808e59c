import type { RecordChange } from '../../workers/jobs/audit/jobs.ts';
import type { EndpointPolicy, EndpointRecords } from '../../workers/jobs/endpoint/jobs.ts';
import type { Audit } from '../audit/audit.ts';
import { bindParts } from '../core/bind.ts';
import { type Clock, DAY_MS, type RandomId } from '../core/clock.ts';
import { mapAhead, recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Secret, SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { DURATION_EXPECTED, endOf } from '../domain/text/duration.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import { formatExpiry } from '../domain/text/time.ts';
import type { Keys } from '../key/keys.ts';
import { done, type KeyHandle } from '../key/opener.ts';
import {
  FIRST_CHECK_MS,
  NEVER_MS,
  removeEntry,
  sweepEntries,
  takeBack,
} from '../redis/records/directory-sweep.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import { mayReveal, mayUseKey, requireKey, requireScope } from '../request/permission.ts';
import type { Endpoint } from './schema.ts';
import type { EndpointEntry, EndpointStore, StoredEndpoint } from './store.ts';

/** What an endpoint of either kind is created with. */
export interface CreateEndpointInput {
  readonly user: string;
  readonly passphrase: SecretBytes;
  readonly unique_id?: string | undefined;
  /** A duration such as `45m` or `P1D`; 24 hours when omitted. */
  readonly ttl?: string | undefined;
  readonly rules: readonly string[];
  readonly return_card_metadata?: boolean | undefined;
}

/** A new endpoint with its secret, shown once. */
export interface EndpointWithSecret extends Pick<Endpoint, 'url' | 'unique_id' | 'expires_at'> {
  readonly secret: Secret<string>;
}

type Kind = EndpointPolicy['kind'];
type Sealed = EndpointRecords & {
  readonly secret: Secret<string>;
  readonly digest: string;
  readonly key: KeyHandle;
};

const DEFAULT_TTL = '24h';
/** How long an endpoint that cannot be used any more is kept, to answer the right secret with `endpoint_gone`. */
const KEPT_MS = DAY_MS;
/** The sweep checks every entry at least so often. */
const CHECK_MS = DAY_MS;
const READ_AHEAD = 64;
const NO_BYTES = new Uint8Array(0);

interface EndpointParts {
  readonly crypto: Pick<Crypto, 'createEndpoint' | 'describeEndpoint' | 'endpointDigest'>;
  readonly endpointStore: EndpointStore;
  readonly metering: Pick<MeteringService, 'count'>;
  readonly keys: Pick<Keys, 'find' | 'withUnlocked'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly now: Clock;
  readonly randomId: RandomId;
}

/** Endpoints of either kind: how they begin, are listed and end. What they do is their own service's. */
export type Endpoints = ReturnType<typeof createEndpoints>;

/** Makes the endpoints of a server. */
export function createEndpoints(parts: EndpointParts) {
  return bindParts(parts, { create, list, remove, sweep });
}

function urlOf(kind: Kind, id: string): string {
  return `/v1/${kind}/${id}`;
}

export function expiryText(ms: number | null): string | null {
  return ms === null ? null : formatExpiry(ms);
}

function expiryOf(ttl: string, now: number): number | null {
  const end = endOf(ttl, now);
  if (end === undefined) {
    throw new VaultError('invalid_request', { field: 'query.ttl', expected: DURATION_EXPECTED });
  }
  return end;
}

/** Whether a key is stored under the same generation as it is known. */
async function isStored({ keys }: EndpointParts, { aid, user, kid, gen }: KeyHandle): Promise<boolean> {
  const stored = await keys.find({ aid }, user);
  return stored.kid === kid && stored.gen === gen;
}

async function rejectChanged(parts: EndpointParts, key: KeyHandle): Promise<void> {
  if (!(await isStored(parts, key))) {
    throw new VaultError('key_changed');
  }
}

/**
 * Stores a sealed endpoint: reserves the id, enters it in the directory, makes sure that the key is still the one that it
 * was sealed under, and commits. A passphrase change in between stops it, before or after.
 */
async function place(
  parts: EndpointParts,
  entry: EndpointEntry,
  { key, policy, wrap }: Sealed,
): Promise<void> {
  const { endpointStore, now } = parts;
  const { aid, gen } = key;
  if (!(await endpointStore.reserve(entry.id, entry.nonce))) {
    throw new VaultError('endpoint_exists', { field: 'query.unique_id' });
  }
  try {
    await endpointStore.enter(aid, entry, now() + FIRST_CHECK_MS, gen);
    await rejectChanged(parts, key);
    if (!(await endpointStore.commit(entry.id, { nonce: entry.nonce, aid, policy, wrap }))) {
      // Stopped with its key in between; or this has taken so long that the reservation has expired.
      await rejectChanged(parts, key);
      throw new VaultError('overloaded');
    }
  } catch (error) {
    await takeBack(endpointStore, aid, entry);
    throw error;
  }
}

/**
 * Creates an endpoint of this kind; `own` and `order` are what the kind adds to its policy. Rejects with `invalid_request`, with the
 * errors of unlocking the key, `key_changed` and `endpoint_exists`.
 */
async function create(
  parts: EndpointParts,
  ctx: AccountContext,
  kind: Kind,
  input: CreateEndpointInput,
  own: Pick<
    EndpointPolicy,
    | 'algorithm'
    | 'keeps'
    | 'maskFields'
    | 'mayReveal'
    | 'reference'
    | 'requiresSealed'
    | 'smartParse'
    | 'token'
  >,
  order: Uint8Array = NO_BYTES,
): Promise<EndpointWithSecret> {
  const { crypto, keys, metering, now, randomId } = parts;
  const { account } = ctx;
  // A retrieval reads by the endpoint's own right; the rules of a capture are bound by what their maker may read.
  const seesAll =
    kind === 'capture' ? mayReveal(account) : account.credential === undefined || account.unmasked;
  const isMasked = seesAll ? undefined : true;
  const { user, passphrase, rules, unique_id: id = randomId() } = input;
  const wantsCard = input.return_card_metadata ?? account.preferences.return_card_metadata;
  const expiresAt = expiryOf(input.ttl ?? DEFAULT_TTL, now());
  const common = { kind, account: account.name, user, expiresAt, rules, wantsCard, isMasked, ...own };
  const sealed = await keys.withUnlocked<Sealed>(ctx, user, passphrase, async (key, blob) => {
    // What this server remembers may be older than a change at another one, however long ago.
    if (!(await isStored(parts, key))) {
      return { kind: 'stale' };
    }
    const { aid, kid, gen, summary } = key;
    const params = { aid, kid, gen, id, kind };
    const policy = { ...common, kid, gen, summary: summary || undefined };
    const made = await crypto.createEndpoint({ params, blob, passphrase, policy, order });
    return made.kind === 'warm_miss' ? made : done({ ...made, key });
  });
  await place(parts, { kid: sealed.key.kid, kind, nonce: randomId(), id }, sealed);
  ctx.change = { kind: 'endpoint', id, digest: sealed.digest, isGone: false };
  metering.count(ctx, `${kind}_create`);
  return { url: urlOf(kind, id), unique_id: id, secret: sealed.secret, expires_at: expiryText(expiresAt) };
}

/** An endpoint as a list shows it; undefined when it is gone. */
async function describe(
  { crypto, endpointStore, now }: EndpointParts,
  aid: string,
  { id, kind, nonce }: EndpointEntry,
): Promise<Endpoint | undefined> {
  const stored = await endpointStore.read(id);
  if (stored?.nonce !== nonce) {
    return undefined;
  }
  const policy = await crypto.describeEndpoint({ place: { aid, id }, policy: stored.policy });
  const { user, token, reference, expiresAt, requiresSealed } = policy;
  return {
    url: urlOf(kind, id),
    unique_id: id,
    expires_at: expiryText(expiresAt),
    user,
    ...(token === undefined ? {} : { token }),
    ...(reference === undefined ? {} : { reference }),
    ...(requiresSealed === true ? { require_sealed: true } : {}),
    expired: !stored.wrap || (expiresAt !== null && expiresAt <= now()),
  };
}

function byUserThenId(a: Endpoint, b: Endpoint): number {
  const [first, second] = a.user === b.user ? [a.unique_id, b.unique_id] : [a.user, b.user];
  return first < second ? -1 : 1;
}

/** The account's endpoints of this kind, by key and id; of one key when `user` names it. */
async function list(
  parts: EndpointParts,
  ctx: AccountContext,
  kind: Kind,
  { user }: { readonly user?: string | undefined },
): Promise<readonly Endpoint[]> {
  const { endpointStore, keys, metering } = parts;
  const { aid } = ctx.account;
  const kid = user === undefined ? undefined : (await keys.find({ aid }, user)).kid;
  const entries = (await endpointStore.entries(aid)).filter(
    (entry) => entry.kind === kind && (kid === undefined || entry.kid === kid),
  );
  const endpoints: Endpoint[] = [];
  for await (const found of mapAhead(entries, READ_AHEAD, (entry) => describe(parts, aid, entry))) {
    endpoints.push(...(found && mayUseKey(ctx.account, found.user) ? [found] : []));
  }
  metering.count(ctx, 'list');
  return endpoints.sort(byUserThenId);
}

/** An endpoint's entry of the directory: by its policy, or, where that does not open any more, by search. */
async function entryOf(
  { crypto, endpointStore }: EndpointParts,
  id: string,
  { aid, nonce, policy }: StoredEndpoint,
): Promise<EndpointEntry> {
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
}

/** What the security log says of the end of an endpoint; nothing where its policy does not open. */
async function goneChange(
  { crypto }: EndpointParts,
  id: string,
  { aid, policy }: StoredEndpoint,
): Promise<RecordChange | undefined> {
  const digest = crypto.endpointDigest({ place: { aid, id }, policy });
  const known = await recover(digest, 'integrity_failed', undefined);
  return known === undefined ? undefined : { kind: 'endpoint', id, digest: known, isGone: true };
}

/** Rejects a credential that is not for endpoints of this kind, or not for the key of this one. */
async function authorizeRemoval(
  { crypto }: EndpointParts,
  { account }: AccountContext,
  id: string,
  { aid, policy }: StoredEndpoint,
): Promise<void> {
  if (account.credential !== undefined) {
    const { kind, user } = await crypto.describeEndpoint({ place: { aid, id }, policy });
    requireScope(account, `${kind}:write`);
    requireKey(account, user);
  }
}

/** Deletes an endpoint of either kind and releases its id. Rejects with `endpoint_not_found`. */
async function remove(parts: EndpointParts, ctx: AccountContext, id: string): Promise<void> {
  const { endpointStore, metering, now } = parts;
  const { aid } = ctx.account;
  const stored = isIdentifier(id) ? await endpointStore.read(id) : undefined;
  if (stored?.aid !== aid) {
    throw new VaultError('endpoint_not_found');
  }
  await authorizeRemoval(parts, ctx, id, stored);
  const change = await goneChange(parts, id, stored);
  if (!(await removeEntry(endpointStore, aid, await entryOf(parts, id, stored), now()))) {
    throw new VaultError('endpoint_not_found');
  }
  ctx.change = change;
  metering.count(ctx, 'delete');
}

/** Postpones an entry whose endpoint is kept, and removes any other; the end of one that expired is recorded. */
async function checkEntry(parts: EndpointParts, aid: string, entry: EndpointEntry): Promise<void> {
  const { audit, crypto, endpointStore, now, randomId } = parts;
  const { id, nonce } = entry;
  const stored = await recover(endpointStore.read(id), 'integrity_failed', 'damaged');
  if (stored === 'damaged') {
    // It is left for the operator to examine; the entries behind it must not wait for that.
    return endpointStore.postpone(aid, entry, now() + CHECK_MS);
  }
  let change: RecordChange | undefined;
  let isExpired = false;
  if (stored?.nonce === nonce) {
    const described = crypto.describeEndpoint({ place: { aid, id }, policy: stored.policy });
    const expiresAt = (await described.catch(() => undefined))?.expiresAt ?? NEVER_MS;
    const removeAt = Math.min(expiresAt, stored.stoppedAt ?? NEVER_MS) + KEPT_MS;
    if (removeAt > now()) {
      return endpointStore.postpone(aid, entry, Math.min(removeAt, now() + CHECK_MS));
    }
    isExpired = stored.stoppedAt === undefined;
    change = await goneChange(parts, id, stored);
  }
  if ((await endpointStore.remove(aid, entry)) && isExpired) {
    await audit.record({
      ...{ aid, action: 'endpoint.expire', outcome: 'success', actor: 'vault', object: `endpoint/${id}` },
      ...{ ip: '', userAgent: '', requestId: randomId() },
      change,
    });
  }
}

/** Removes what expired or was stopped a day ago, and what interrupted creations have left. */
function sweep(parts: EndpointParts, aid: string): Promise<void> {
  return sweepEntries(parts.endpointStore, aid, parts.now, (entry) => checkEntry(parts, aid, entry));
}
