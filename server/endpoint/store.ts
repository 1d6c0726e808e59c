import { type RedisLink, script } from '../redis/client.ts';
import { createDirectory, DIRECTORY_STEP, ignoreDamaged } from '../redis/records/directory.ts';
import { redisKeys } from '../redis/records/keys.ts';
import reserveText from '../redis/records/reserve-entry-1.lua' with { type: 'text' };
import { asBytes, asCount, asList, asOptionalBytes, asText, isOk } from '../redis/reply.ts';
import commitText from './commit-endpoint-1.lua' with { type: 'text' };
import indexText from './index-endpoint-2.lua' with { type: 'text' };
import removeText from './remove-endpoint-1.lua' with { type: 'text' };
import stopText from './stop-endpoint-1.lua' with { type: 'text' };
import unindexText from './unindex-endpoint-2.lua' with { type: 'text' };

const reserve = script(reserveText);
const commit = script(commitText);
const stop = script(stopText);
const remove = script(removeText);
const index = script(indexText);
const unindex = script(unindexText);

/** How long an id stays reserved while an endpoint is created. */
const RESERVED_MS = 60_000;

/** An entry of the directory: one creation of one endpoint. */
export interface EndpointEntry {
  readonly kid: string;
  readonly kind: 'capture' | 'retrieve';
  /** Distinguishes two endpoints that had the same id one after the other. */
  readonly nonce: string;
  readonly id: string;
}

/** An endpoint as stored in Redis. */
export interface StoredEndpoint {
  readonly nonce: string;
  readonly aid: string;
  readonly policy: Buffer;
  /** Absent after the endpoint was stopped. */
  readonly wrap: Buffer | undefined;
  /** When it was stopped, ms since 1970. */
  readonly stoppedAt: number | undefined;
}

/** An endpoint to store; policy and wrap are encrypted. */
export interface NewEndpoint {
  readonly nonce: string;
  readonly aid: string;
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
}

/**
 * Endpoints, found by id alone, and the directory of each account. A creation reserves the id, adds a directory entry, then
 * commits. If it is interrupted, the reservation expires and the sweep removes the entry.
 */
export interface EndpointStore {
  read(id: string): Promise<StoredEndpoint | undefined>;
  /** False if the id is in use or reserved. */
  reserve(id: string, nonce: string): Promise<boolean>;
  /** False if the reservation has expired or was cancelled. */
  commit(id: string, endpoint: NewEndpoint): Promise<boolean>;
  /** Adds a directory entry, to be checked at `checkAt` (ms). */
  enter(aid: string, entry: EndpointEntry, checkAt: number, gen: number): Promise<void>;
  /** Changes the time of the next check of an entry that still exists. */
  postpone(aid: string, entry: EndpointEntry, checkAt: number): Promise<void>;
  /** Deletes the endpoint, which releases its id, and its directory entry. False if it did not exist. */
  remove(aid: string, entry: EndpointEntry): Promise<boolean>;
  /** All entries of an account, by the time of their next check. */
  entries(aid: string): Promise<readonly EndpointEntry[]>;
  /** The first entries whose check is due. */
  due(aid: string, now: number): Promise<readonly EndpointEntry[]>;
  /** Stops the endpoints that were created under an older generation of the key. */
  stopBefore(aid: string, kid: string, gen: number): Promise<void>;
  /** Deletes the endpoints of a key that were not stopped, or all of an account. */
  removeAll(aid: string, kid?: string): Promise<void>;
}

function textOf({ kid, kind, nonce, id }: EndpointEntry): string {
  return `${kid} ${kind} ${nonce} ${id}`;
}

function entryOf(member: string): EndpointEntry | undefined {
  const [kid = '', kind, nonce = '', id, ...rest] = member.split(' ');
  return (kind !== 'capture' && kind !== 'retrieve') || id === undefined || rest.length > 0
    ? undefined
    : { kid, kind, nonce, id };
}

function indexKeys(aid: string, { kid }: Pick<EndpointEntry, 'kid'>): string[] {
  return [redisKeys.endpointDirectory(aid), redisKeys.liveEndpoints(aid, kid)];
}

async function read(redis: RedisLink, id: string): Promise<StoredEndpoint | undefined> {
  const [nonce, aid, policy, wrap, stopped] = asList(
    await redis.command('HMGET', [redisKeys.endpoint(id), 'n', 'a', 'p', 'w', 'x']),
  );
  return aid === null || aid === undefined
    ? undefined
    : {
        nonce: asText(nonce),
        aid: asText(aid),
        policy: asBytes(policy),
        wrap: asOptionalBytes(wrap),
        stoppedAt: stopped === null ? undefined : asCount(stopped),
      };
}

async function removeEntry(redis: RedisLink, aid: string, entry: EndpointEntry): Promise<boolean> {
  const reply = await redis.run(remove, [redisKeys.endpoint(entry.id)], [entry.nonce]).catch(ignoreDamaged);
  const removed = reply !== undefined && isOk(reply);
  await redis.run(unindex, indexKeys(aid, entry), [textOf(entry)]);
  return removed;
}

/** The endpoints of one Redis. */
export function createEndpointStore(redis: RedisLink): EndpointStore {
  const directory = createDirectory(redis, { textOf, entryOf });
  return {
    read: (id) => read(redis, id),
    async reserve(id, nonce) {
      return isOk(await redis.run(reserve, [redisKeys.endpoint(id)], [nonce, RESERVED_MS]));
    },
    async commit(id, { nonce, aid, policy, wrap }) {
      return isOk(await redis.run(commit, [redisKeys.endpoint(id)], [nonce, aid, policy, wrap]));
    },
    async enter(aid, entry, checkAt, gen) {
      await redis.run(index, indexKeys(aid, entry), [textOf(entry), checkAt, gen]);
    },
    postpone: (aid, entry, checkAt) => directory.postpone(redisKeys.endpointDirectory(aid), entry, checkAt),
    remove: (aid, entry) => removeEntry(redis, aid, entry),
    entries: (aid) => directory.read(redisKeys.endpointDirectory(aid), [0, -1]),
    due: (aid, now) => directory.due(redisKeys.endpointDirectory(aid), now),
    stopBefore: (aid, kid, gen) =>
      directory.drain(
        redisKeys.liveEndpoints(aid, kid),
        ['-inf', `(${gen}`, 'BYSCORE', 'LIMIT', 0, DIRECTORY_STEP],
        ({ id, nonce }) => redis.run(stop, [redisKeys.endpoint(id)], [nonce]).catch(ignoreDamaged),
      ),
    async removeAll(aid, kid) {
      const key = kid === undefined ? redisKeys.endpointDirectory(aid) : redisKeys.liveEndpoints(aid, kid);
      await directory.drain(key, [0, DIRECTORY_STEP - 1], (entry) => removeEntry(redis, aid, entry));
    },
  };
}
