import { type RedisLink, script } from '../client.ts';
import { asCount, asList, asOneOf, asOptionalBytes, asText, isOk } from '../reply.ts';
import createNamedText from './create-named-1.lua' with { type: 'text' };
import replaceFieldText from './replace-field-1.lua' with { type: 'text' };

const createNamed = script(createNamedText);
const replaceField = script(replaceFieldText);

/** Records of one kind that an account can have, by default. */
export const RECORDS_MAX = 1_000;
/** Records that `list` reads at once. */
const LIST_STEP = 8;

export interface NamedRecord {
  readonly id: string;
  readonly record: Buffer;
}

/** Reads and removes encrypted records of one kind: one hash per account, from id to record. */
export class RecordHash {
  constructor(
    protected readonly redis: RedisLink,
    protected readonly hashOf: (aid: string) => string,
  ) {}

  async read(aid: string, id: string): Promise<Buffer | undefined> {
    return asOptionalBytes(await this.redis.command('HGET', [this.hashOf(aid), id]));
  }

  /** Returns the records of these ids, in the same order, without those that do not exist. */
  async readMany(aid: string, ids: readonly string[]): Promise<readonly NamedRecord[]> {
    if (ids.length === 0) {
      return [];
    }
    const records = asList(await this.redis.command('HMGET', [this.hashOf(aid), ...ids])).map(
      asOptionalBytes,
    );
    return ids.flatMap((id, i) => {
      const record = records[i];
      return record ? [{ id, record }] : [];
    });
  }

  /** Returns all records of an account in ascending order of id. */
  async readAll(aid: string): Promise<readonly NamedRecord[]> {
    return this.readMany(aid, await this.ids(aid));
  }

  /** Removes a record; returns false if it did not exist. */
  async remove(aid: string, id: string): Promise<boolean> {
    return asCount(await this.redis.write('HDEL', [this.hashOf(aid), id])) === 1;
  }

  /** Returns the ids of all records of an account, ascending. */
  async ids(aid: string): Promise<readonly string[]> {
    return asList(await this.redis.command('HKEYS', [this.hashOf(aid)]))
      .map(asText)
      .sort();
  }
}

/** Stores encrypted records of one kind. */
export class NamedStore extends RecordHash {
  constructor(
    redis: RedisLink,
    hashOf: (aid: string) => string,
    private readonly recordsMax = RECORDS_MAX,
  ) {
    super(redis, hashOf);
  }

  /** Adds a record; `full` if the account has reached its limit. */
  async create(aid: string, id: string, record: Uint8Array): Promise<'ok' | 'exists' | 'full'> {
    const reply = await this.redis.run(createNamed, [this.hashOf(aid)], [id, record, this.recordsMax]);
    return asOneOf(reply, ['ok', 'exists', 'full']);
  }

  /** Yields all records of an account in ascending order of id, a few at a time. */
  async *list(aid: string): AsyncGenerator<readonly NamedRecord[]> {
    const ids = await this.ids(aid);
    for (let at = 0; at < ids.length; at += LIST_STEP) {
      yield await this.readMany(aid, ids.slice(at, at + LIST_STEP));
    }
  }

  /** Replaces the record that was read; returns false if it has changed or was removed. */
  async replace(aid: string, id: string, read: Uint8Array, record: Uint8Array): Promise<boolean> {
    return isOk(await this.redis.run(replaceField, [this.hashOf(aid)], [id, read, record]));
  }
}
