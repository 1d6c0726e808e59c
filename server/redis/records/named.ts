import { type RedisLink, script } from '../client.ts';
import { asCount, asList, asOneOf, asOptionalBytes, asText } from '../reply.ts';
import createNamedText from './create-named-1.lua' with { type: 'text' };

const createNamed = script(createNamedText);

/** Encrypted records of one kind that each account names itself. */
export interface NamedStore {
  /** `full` if the account has reached its limit of such records. */
  create(aid: string, id: string, record: Uint8Array): Promise<'ok' | 'exists' | 'full'>;
  /** One record for each id, in the same order; undefined for missing ones. */
  read(aid: string, ids: readonly string[]): Promise<readonly (Buffer | undefined)[]>;
  /** All ids, in no order. */
  ids(aid: string): Promise<readonly string[]>;
  /** False if it did not exist. */
  remove(aid: string, id: string): Promise<boolean>;
}

/** The records that are in the hashes of these names, at most `max` of an account. */
export function createNamedStore(redis: RedisLink, nameOf: (aid: string) => string, max: number): NamedStore {
  return {
    async create(aid, id, record) {
      const reply = await redis.run(createNamed, [nameOf(aid)], [id, record, max]);
      return asOneOf(reply, ['ok', 'exists', 'full']);
    },
    async read(aid, ids) {
      if (ids.length === 0) {
        return [];
      }
      return asList(await redis.command('HMGET', [nameOf(aid), ...ids])).map(asOptionalBytes);
    },
    async ids(aid) {
      return asList(await redis.command('HKEYS', [nameOf(aid)])).map(asText);
    },
    async remove(aid, id) {
      return asCount(await redis.write('HDEL', [nameOf(aid), id])) === 1;
    },
  };
}
