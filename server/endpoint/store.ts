import { type RedisLink, script } from '../redis/client.ts';
import { DIRECTORY_STEP, DirectoryStore, FIRST_CHECK_MS, ignoreDamaged } from '../redis/records/directory.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { endpointEntry } from '../redis/records/registry.ts';
import { scanByScore } from '../redis/records/scan.ts';
import { asBytes, asCount, asList, asOneOf, asOptionalBytes, asText, isOk } from '../redis/reply.ts';
import createSealingKeyText from './create-sealing-key-1.lua' with { type: 'text' };
import endUseText from './end-use-1.lua' with { type: 'text' };
import giveBackUseText from './give-back-use-1.lua' with { type: 'text' };
import indexText from './index-endpoint-3.lua' with { type: 'text' };
import noteEndText from './note-end-2.lua' with { type: 'text' };
import replaceText from './replace-endpoint-1.lua' with { type: 'text' };
import stopText from './stop-endpoint-1.lua' with { type: 'text' };
import takeUseText from './take-use-1.lua' with { type: 'text' };
import toldUsedUpText from './told-used-up-1.lua' with { type: 'text' };
import unindexText from './unindex-endpoint-3.lua' with { type: 'text' };

const stop = script(stopText);
const replace = script(replaceText);
const index = script(indexText);
const unindex = script(unindexText);
const noteEnd = script(noteEndText);
const takeUse = script(takeUseText);
const endUse = script(endUseText);
const giveBackUse = script(giveBackUseText);
const toldUsedUp = script(toldUsedUpText);
const createSealingKey = script(createSealingKeyText);

const ENDS_KEYS = {
  capture: redisKeys.captureEnds,
  retrieve: redisKeys.retrieveEnds,
  inbound: redisKeys.inboundEnds,
};

/** Endpoints that `ends` reads at once. */
const ENDS_STEP = 64;

/** An entry of the directory: one creation of one endpoint. */
export interface EndpointEntry {
  readonly kid: string;
  readonly kind: 'capture' | 'retrieve' | 'inbound';
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
  /** How often it was used; only where uses are limited. */
  readonly uses: number;
  /** The idempotent requests of the last of them, see `take-use`. */
  readonly seeds: string;
  /** Those of them that had their effect; `told` once the event of the last one was announced. */
  readonly usesDone: number | 'told';
  /** When the last use was begun, ms since 1970. */
  readonly lastUseAt: number;
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
    const [nonce, aid, policy, wrap, stopped, uses, seeds, done, last] = asList(
      await this.redis.command('HMGET', [
        redisKeys.endpoint(id),
        'n',
        'a',
        'p',
        'w',
        'x',
        'u',
        's',
        'd',
        't',
      ]),
    );
    return aid === null || aid === undefined
      ? undefined
      : {
          nonce: asText(nonce),
          aid: asText(aid),
          policy: asBytes(policy),
          wrap: asOptionalBytes(wrap),
          stoppedAt: stopped === null ? undefined : asCount(stopped),
          uses: uses === null ? 0 : asCount(uses),
          seeds: seeds === null ? '' : asText(seeds),
          usesDone: done === null ? 0 : asText(done) === 'told' ? 'told' : asCount(done),
          lastUseAt: last === null ? 0 : asCount(last),
        };
  }

  /**
   * Counts a use before its effect. `last` if no more are left, `again` if a request with this seed has taken it before, `used_up` if
   * none was left, `gone` if the endpoint is another one or none.
   */
  async takeUse(id: string, nonce: string, usesMax: number, nowMs: number, seed = '') {
    const reply = await this.redis.run(takeUse, [redisKeys.endpoint(id)], [nonce, usesMax, nowMs, seed]);
    return asOneOf(reply, ['ok', 'last', 'again', 'used_up', 'gone']);
  }

  /** Counts a use that had its effect; true for exactly one, by which all of them had theirs. */
  async endUse(id: string, nonce: string, usesMax: number): Promise<boolean> {
    const reply = await this.redis.run(endUse, [redisKeys.endpoint(id)], [nonce, usesMax]);
    return asText(reply) === 'used_up';
  }

  /** Notes that the event of a used-up endpoint was announced. */
  async noteUsedUp(id: string, nonce: string): Promise<void> {
    await this.redis.run(toldUsedUp, [redisKeys.endpoint(id)], [nonce]);
  }

  /** Subtracts a use that had no effect, unless a repeat of the request has it too. */
  async giveBackUse(id: string, nonce: string, seed = ''): Promise<void> {
    await this.redis.run(giveBackUse, [redisKeys.endpoint(id)], [nonce, seed]);
  }

  /** Adds an entry to the directory, to the endpoints of its key, and with the `end` of a long-lived one to those by their end. */
  async enter(
    aid: string,
    entry: EndpointEntry,
    now: number,
    gen: number,
    end?: number | undefined,
  ): Promise<void> {
    const args = [textOf(entry), now + FIRST_CHECK_MS, gen, end ?? ''];
    await this.redis.run(index, indexKeys(aid, entry), args);
  }

  /** Adds a long-lived endpoint to those by their end, unless it was removed. */
  async noteEnd(aid: string, entry: EndpointEntry, end: number): Promise<void> {
    const keys = [redisKeys.endpointDirectory(aid), endsKey(aid, entry.kind)];
    await this.redis.run(noteEnd, keys, [textOf(entry), end]);
  }

  /** Yields the long-lived endpoints of a kind that end in a period, the first one first. Times are ms since 1970. */
  async *ends(
    aid: string,
    kind: EndpointEntry['kind'],
    from: number,
    upTo: number,
  ): AsyncGenerator<readonly EndpointEntry[]> {
    const key = endsKey(aid, kind);
    const last = Number.isFinite(upTo) ? String(upTo) : '+inf';
    for await (const members of scanByScore(this.redis, key, ENDS_STEP, last, String(from))) {
      yield members.flatMap((member) => endpointEntry(member) ?? []);
    }
  }

  /** Counts the long-lived endpoints of a kind that end after `from`, and not after `upTo`. */
  async countEnds(aid: string, kind: EndpointEntry['kind'], from: number, upTo: number): Promise<number> {
    return asCount(await this.redis.command('ZCOUNT', [endsKey(aid, kind), `(${from}`, upTo]));
  }

  /** Turns a reservation into an endpoint. False if it has expired or was cancelled. */
  commit(id: string, { nonce, aid, policy, wrap }: NewEndpoint): Promise<boolean> {
    return this.commitFields(id, nonce, aid, 'p', policy, 'w', wrap);
  }

  /** Puts an endpoint in the place of the one with this nonce; false if that is gone. */
  async replace(id: string, before: string, { nonce, aid, policy, wrap }: NewEndpoint): Promise<boolean> {
    const args = [before, nonce, aid, policy, wrap];
    return isOk(await this.redis.run(replace, [redisKeys.endpoint(id)], args));
  }

  /** Stops one endpoint, as a change of its key would. */
  async stop(aid: string, entry: EndpointEntry): Promise<void> {
    await this.redis.run(stop, [redisKeys.endpoint(entry.id)], [entry.nonce]).catch(ignoreDamaged);
    await this.redis.write('ZREM', [endsKey(aid, entry.kind), textOf(entry)]);
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
      (entry) => this.stop(aid, entry),
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

function indexKeys(aid: string, { kid, kind }: EndpointEntry): string[] {
  return [redisKeys.endpointDirectory(aid), redisKeys.liveEndpoints(aid, kid), endsKey(aid, kind)];
}

function endsKey(aid: string, kind: EndpointEntry['kind']): string {
  return ENDS_KEYS[kind](aid);
}
