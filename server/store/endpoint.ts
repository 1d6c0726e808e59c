import { readDirectory, unlessDamaged } from './directory.ts';
import commitText from './lua/endpoint/commit-endpoint-1.lua' with { type: 'text' };
import indexText from './lua/endpoint/index-endpoint-2.lua' with { type: 'text' };
import removeText from './lua/endpoint/remove-endpoint-1.lua' with { type: 'text' };
import reserveText from './lua/endpoint/reserve-endpoint-1.lua' with { type: 'text' };
import stopText from './lua/endpoint/stop-endpoint-1.lua' with { type: 'text' };
import unindexText from './lua/endpoint/unindex-endpoint-2.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const reserve = script(reserveText);
const commit = script(commitText);
const stop = script(stopText);
const remove = script(removeText);
const index = script(indexText);
const unindex = script(unindexText);

/** How long a creation may take between the reservation of its id and its end. */
const RESERVED_MS = 60_000;
const STEP = 500;

/** A line of the directory: one creation of one endpoint. */
export interface EndpointEntry {
  readonly kid: string;
  readonly kind: 'capture' | 'retrieve';
  /** Tells apart two endpoints that had the same id one after the other. */
  readonly nonce: string;
  readonly id: string;
}

/** An endpoint as it lies in Redis. */
export interface StoredEndpoint {
  readonly nonce: string;
  readonly aid: string;
  readonly policy: Buffer;
  /** Absent once the endpoint was stopped. */
  readonly wrap: Buffer | undefined;
  /** When it was stopped, ms. */
  readonly stoppedAt: number | undefined;
}

export interface NewEndpoint {
  readonly nonce: string;
  readonly aid: string;
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
}

/**
 * Endpoints, found by their id alone, and the directory of each account. An id is reserved first, then entered
 * in the directory, then committed: a creation that dies on the way leaves a reservation that runs out and an
 * entry without an endpoint, which the sweep takes out.
 */
export interface EndpointStore {
  read(id: string): Promise<StoredEndpoint | undefined>;
  /** False when the id is in use or reserved. */
  reserve(id: string, nonce: string): Promise<boolean>;
  /** False when the reservation has run out or was taken back. */
  commit(id: string, endpoint: NewEndpoint): Promise<boolean>;
  /** Enters a creation in the directory, to be looked at again at `lookAt` (ms). */
  enter(aid: string, entry: EndpointEntry, lookAt: number, gen: number): Promise<void>;
  /** Puts off the next look at an entry. */
  putOff(aid: string, entry: EndpointEntry, lookAt: number): Promise<void>;
  /** Deletes the endpoint, frees its id, and takes it out of the directory. */
  remove(aid: string, entry: EndpointEntry): Promise<boolean>;
  /** All entries of an account, in the order of when they should be looked at. */
  entries(aid: string): Promise<readonly EndpointEntry[]>;
  /** The first entries that should be looked at by now. */
  due(aid: string, now: number): Promise<readonly EndpointEntry[]>;
  /** Stops what was created under a generation of the key before this one. */
  stopBefore(aid: string, kid: string, gen: number): Promise<void>;
  /** Deletes the endpoints of a key that were not stopped, or all of an account. */
  removeAll(aid: string, kid?: string): Promise<void>;
}

const textOf = ({ kid, kind, nonce, id }: EndpointEntry): string => `${kid} ${kind} ${nonce} ${id}`;

/** Undefined for what is no entry of ours. */
function entryOf(member: string): EndpointEntry | undefined {
  const [kid = '', kind, nonce = '', id, ...rest] = member.split(' ');
  return (kind !== 'capture' && kind !== 'retrieve') || id === undefined || rest.length > 0
    ? undefined
    : { kid, kind, nonce, id };
}

export function createEndpointStore(redis: RedisLink): EndpointStore {
  const indexKeys = (aid: string, { kid }: Pick<EndpointEntry, 'kid'>): string[] => [
    redisKeys.endpointDirectory(aid),
    redisKeys.liveEndpoints(aid, kid),
  ];
  const range = (key: string, rest: readonly (string | number)[]): Promise<EndpointEntry[]> =>
    readDirectory(redis, key, rest, { textOf, entryOf });

  const removeEntry: EndpointStore['remove'] = async (aid, entry) => {
    const reply = await redis.run(remove, [redisKeys.endpoint(entry.id)], [entry.nonce]).catch(unlessDamaged);
    const removed = reply !== undefined && text(reply) === 'ok';
    await redis.run(unindex, indexKeys(aid, entry), [textOf(entry)]);
    return removed;
  };
  const entries: EndpointStore['entries'] = (aid) => range(redisKeys.endpointDirectory(aid), [0, -1]);

  return {
    async read(id) {
      const [nonce, aid, policy, wrap, stopped] = list(
        await redis.command('HMGET', [redisKeys.endpoint(id), 'n', 'a', 'p', 'w', 'x']),
      );
      return aid === null || aid === undefined
        ? undefined
        : {
            nonce: text(nonce),
            aid: text(aid),
            policy: bytes(policy),
            wrap: wrap === null ? undefined : bytes(wrap),
            stoppedAt: stopped === null ? undefined : count(stopped),
          };
    },
    async reserve(id, nonce) {
      return text(await redis.run(reserve, [redisKeys.endpoint(id)], [nonce, RESERVED_MS])) === 'ok';
    },
    async commit(id, { nonce, aid, policy, wrap }) {
      const args = [nonce, aid, policy, wrap];
      return text(await redis.run(commit, [redisKeys.endpoint(id)], args)) === 'ok';
    },
    async enter(aid, entry, lookAt, gen) {
      await redis.run(index, indexKeys(aid, entry), [textOf(entry), lookAt, gen]);
    },
    async putOff(aid, entry, lookAt) {
      await redis.write('ZADD', [redisKeys.endpointDirectory(aid), 'XX', lookAt, textOf(entry)]);
    },
    remove: removeEntry,
    entries,
    due: (aid, now) => range(redisKeys.endpointDirectory(aid), ['-inf', now, 'BYSCORE', 'LIMIT', 0, STEP]),
    async stopBefore(aid, kid, gen) {
      const live = redisKeys.liveEndpoints(aid, kid);
      for (;;) {
        const older = await range(live, ['-inf', `(${gen}`, 'BYSCORE', 'LIMIT', 0, STEP]);
        if (older.length === 0) {
          return;
        }
        await Promise.all(
          older.map(({ id, nonce }) =>
            redis.run(stop, [redisKeys.endpoint(id)], [nonce]).catch(unlessDamaged),
          ),
        );
        await redis.write('ZREM', [live, ...older.map(textOf)]);
      }
    },
    async removeAll(aid, kid) {
      const key = kid === undefined ? redisKeys.endpointDirectory(aid) : redisKeys.liveEndpoints(aid, kid);
      for (;;) {
        const own = await range(key, [0, STEP - 1]);
        if (own.length === 0) {
          return;
        }
        await Promise.all(own.map((entry) => removeEntry(aid, entry)));
        // Whatever the entries themselves say, this list must end.
        await redis.write('ZREM', [key, ...own.map(textOf)]);
      }
    },
  };
}
