import type { SealConnectionParams } from '../../workers/jobs/connection/jobs.ts';
import { bindParts } from '../core/bind.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import { createMemory, type Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { Account, AccountContext } from '../request/context.ts';
import { mayReveal, requireReveal, vetTarget } from '../request/permission.ts';
import type { Connection } from './schema.ts';
import type { ConnectionStore } from './store.ts';

/** Connections that are read at once for a list. */
const STEP = 8;
/** How often a replacement is tried while others change the connection. */
const TRIES_MAX = 8;

interface ConnectionDependencies {
  readonly crypto: Pick<Crypto, 'describeConnections' | 'sealConnection'>;
  readonly connectionStore: ConnectionStore;
  readonly thirdParties: Pick<ThirdParties, 'isListed' | 'vet'>;
  readonly now: Clock;
  readonly settings: Pick<ServiceSettings, 'refuseUnknown'>;
}

/** A connection as it is stored, with its credentials, and as callers see it. */
export interface SealedConnection {
  readonly id: string;
  readonly record: Buffer;
  readonly shown: Connection;
}

const KNOWN_MAX = 10_000;
const KNOWN_MS = 60_000;

interface ConnectionParts extends ConnectionDependencies {
  /** Those whose records were read lately, by account and id. */
  readonly known: Memory<SealedConnection>;
}

/** Connections: addresses and credentials of third parties, which only threads open. */
export type Connections = ReturnType<typeof createConnections>;

/** Makes the connections of a server. */
export function createConnections(dependencies: ConnectionDependencies) {
  const known = createMemory<SealedConnection>(KNOWN_MAX, KNOWN_MS, dependencies.now);
  const parts: ConnectionParts = { ...dependencies, known };
  return bindParts(parts, { find, create, replace, read, list, remove, requireRuleChange });
}

/** The connection of this id as it is stored now. Rejects with `connection_not_found`. */
async function find(
  { crypto, connectionStore, known }: ConnectionParts,
  aid: string,
  id: string,
): Promise<SealedConnection> {
  const [record] = await connectionStore.read(aid, [id]);
  if (record === undefined) {
    throw new VaultError('connection_not_found');
  }
  const name = `${aid} ${id}`;
  const seen = known.get(name);
  if (seen?.record.equals(record)) {
    return seen;
  }
  const [shown] = await crypto.describeConnections({ aid, connections: [{ id, record }] });
  if (shown === undefined) {
    throw new VaultError('internal');
  }
  // A copy: a reply is a view, and would keep all that arrived with it.
  const found = { id, record: Buffer.from(record), shown };
  known.set(name, found);
  return found;
}

/** Seals what a caller has sent, once its host may be reached. */
async function seal(
  { crypto, thirdParties, now, settings: { refuseUnknown } }: ConnectionParts,
  account: Account,
  body: Uint8Array,
  previous?: SealedConnection,
) {
  const params: SealConnectionParams = {
    aid: account.aid,
    id: previous?.id,
    now: now(),
    refuseUnknown,
    mayReveal: mayReveal(account),
  };
  const sealed = await crypto.sealConnection({ params, previous: previous?.record, body });
  await vetTarget(thirdParties, account, sealed.origin, 'body.base_url');
  return sealed;
}

/**
 * Creates a connection of JSON text as it was sent. Rejects an invalid one with its place, a destination that may not be
 * reached, `connection_exists` and `connections_full`.
 */
async function create(
  parts: ConnectionParts,
  { account }: AccountContext,
  body: Uint8Array,
): Promise<Connection> {
  const { id, shown, record } = await seal(parts, account, body);
  const outcome = await parts.connectionStore.create(account.aid, id, record);
  if (outcome !== 'ok') {
    throw new VaultError(outcome === 'full' ? 'connections_full' : 'connection_exists', { field: 'body.id' });
  }
  return shown;
}

/** Replaces all of a connection but its id and its time of creation. Rejects as `create` does, and `connection_not_found`. */
async function replace(
  parts: ConnectionParts,
  { account }: AccountContext,
  { id, body }: { readonly id: string; readonly body: Uint8Array },
): Promise<Connection> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const previous = await find(parts, account.aid, id);
    const { shown, record } = await seal(parts, account, body, previous);
    if (await parts.connectionStore.replace(account.aid, id, previous.record, record)) {
      return shown;
    }
  }
  throw new VaultError('overloaded');
}

/** Rejects with `connection_not_found`. */
async function read(parts: ConnectionParts, { account }: AccountContext, id: string): Promise<Connection> {
  return (await find(parts, account.aid, id)).shown;
}

async function* readAll(
  { crypto, connectionStore }: ConnectionParts,
  aid: string,
): AsyncGenerator<readonly Connection[]> {
  const ids = [...(await connectionStore.ids(aid))].sort();
  for (let at = 0; at < ids.length; at += STEP) {
    const some = ids.slice(at, at + STEP);
    const records = await connectionStore.read(aid, some);
    const connections = some.flatMap((id, i) => {
      const record = records[i];
      return record ? [{ id, record }] : [];
    });
    yield crypto.describeConnections({ aid, connections });
  }
}

/** All connections of the account in the order of their ids, as the JSON text of a list. */
function list(parts: ConnectionParts, { account }: AccountContext): Promise<ReadableStream<Uint8Array>> {
  return listStreamOf(readAll(parts, account.aid));
}

/** Rejects with `connection_not_found`. */
async function remove(
  { connectionStore }: ConnectionParts,
  { account }: AccountContext,
  id: string,
): Promise<void> {
  if (!(await connectionStore.remove(account.aid, id))) {
    throw new VaultError('connection_not_found');
  }
}

/**
 * Rejects the creation, change or deletion of a rule that a connection names, unless the caller may decide what others see: it
 * runs over all that is sent through that connection.
 */
async function requireRuleChange(
  parts: ConnectionParts,
  { account }: AccountContext,
  id: string,
): Promise<void> {
  if (mayReveal(account)) {
    return;
  }
  for await (const some of readAll(parts, account.aid)) {
    if (some.some(({ rules }) => rules?.includes(id))) {
      requireReveal(account, 'query.id');
    }
  }
}
