import { type RedisLink, script } from '../redis/client.ts';
import { DIRECTORY_STEP, DirectoryStore, FIRST_CHECK_MS, ignoreDamaged } from '../redis/records/directory.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { endpointEntry } from '../redis/records/registry.ts';
import { asBytes, asCount, asList, asOptionalBytes, asText } from '../redis/reply.ts';
import createSealingKeyText from './create-sealing-key-1.lua' with { type: 'text' };
import indexText from './index-endpoint-2.lua' with { type: 'text' };
import stopText from './stop-endpoint-1.lua' with { type: 'text' };
import unindexText from './unindex-endpoint-2.lua' with { type: 'text' };

const stop = script(stopText);
const index = script(indexText);
const unindex = script(unindexText);
const createSealingKey = script(createSealingKeyText);

/** An entry of the directory: one creation of one endpoint. */
export interface EndpointEntry {
  readonly kid: string;
  readonly kind: 'capture' | 'retrieve';
  /** Distinguishes two endpoints that had the same id one after the other. */
  readonly nonce: string;
  readonly id: string;
}

export interface StoredEndpoint {
  readonly nonce: string;
  readonly aid: string;
  readonly policy: Buffer;
  /** Absent after the endpoint was stopped. */
  readonly wrap: Buffer | undefined;
  /** The time of the stop, ms since 1970. */
  readonly stoppedAt: number | undefined;
}

/** An endpoint to store; policy and wrap are encrypted. */
export interface NewEndpoint {
  readonly nonce: string;
  readonly aid: string;
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
}

/** Stores endpoints, and those of each key by the generation that they were created under. */
export class EndpointStore extends DirectoryStore<EndpointEntry> {
  constructor(redis: RedisLink) {
    super(redis, redisKeys.endpoint, redisKeys.endpointDirectory, { textOf, entryOf: endpointEntry });
  }

  /** Returns an endpoint; undefined if it does not exist or its id is only reserved. */
  async read(id: string): Promise<StoredEndpoint | undefined> {
    const [nonce, aid, policy, wrap, stopped] = asList(
      await this.redis.command('HMGET', [redisKeys.endpoint(id), 'n', 'a', 'p', 'w', 'x']),
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

  /** Adds an entry to the directory, and to the endpoints of its key. */
  async enter(aid: string, entry: EndpointEntry, now: number, gen: number): Promise<void> {
    await this.redis.run(index, indexKeys(aid, entry), [textOf(entry), now + FIRST_CHECK_MS, gen]);
  }

  /** Turns a reservation into an endpoint. False if it has expired or was cancelled. */
  commit(id: string, { nonce, aid, policy, wrap }: NewEndpoint): Promise<boolean> {
    return this.commitFields(id, nonce, aid, 'p', policy, 'w', wrap);
  }

  override async remove(aid: string, entry: EndpointEntry): Promise<boolean> {
    const isRemoved = await this.removeObject(aid, entry);
    await this.redis.run(unindex, indexKeys(aid, entry), [textOf(entry)]);
    return isRemoved;
  }

  /** Stops the endpoints that were created under an older generation of the key. */
  stopBefore(aid: string, kid: string, gen: number): Promise<void> {
    return this.drain(
      redisKeys.liveEndpoints(aid, kid),
      ['-inf', `(${gen}`, 'BYSCORE', 'LIMIT', 0, DIRECTORY_STEP],
      ({ id, nonce }) => this.redis.run(stop, [redisKeys.endpoint(id)], [nonce]).catch(ignoreDamaged),
    );
  }

  /** Deletes the endpoints of a key that were not stopped. */
  removeOfKey(aid: string, kid: string): Promise<void> {
    const key = redisKeys.liveEndpoints(aid, kid);
    return this.drain(key, [0, DIRECTORY_STEP - 1], (entry) => this.remove(aid, entry));
  }
}

/** Stores the sealing keys of the vault, one for each day. */
export class SealingStore {
  constructor(private readonly redis: RedisLink) {}

  /** Returns the record of a day; undefined if there is none. */
  async read(day: number): Promise<Buffer | undefined> {
    return asOptionalBytes(await this.redis.command('HGET', [redisKeys.sealingKeys, String(day)]));
  }

  /** Stores the record of a day unless there is one; returns it. Removes those before `oldest`; all expire after `keptMs`. */
  async create(day: number, record: Uint8Array, oldest: number, keptMs: number): Promise<Buffer> {
    const args = [String(day), record, oldest, keptMs];
    return asBytes(await this.redis.run(createSealingKey, [redisKeys.sealingKeys], args));
  }
}

function textOf({ kid, kind, nonce, id }: EndpointEntry): string {
  return `${kid} ${kind} ${nonce} ${id}`;
}

function indexKeys(aid: string, { kid }: EndpointEntry): string[] {
  return [redisKeys.endpointDirectory(aid), redisKeys.liveEndpoints(aid, kid)];
}
