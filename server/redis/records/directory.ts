import { VaultError } from '../../core/errors.ts';
import type { RedisLink } from '../client.ts';
import { asBytes, asList, asText } from '../reply.ts';

/** How the entries of a directory are written as members of a sorted set. */
export interface DirectoryFormat<Entry> {
  readonly textOf: (entry: Entry) => string;
  /** Undefined for a member that is not an entry. */
  readonly entryOf: (member: string) => Entry | undefined;
}

/** Sorted sets of entries. In a directory of an account the score is the time of the next check, in ms. */
export interface Directory<Entry> {
  /** A part of a sorted set, by the arguments of ZRANGE after its key. */
  read(key: string, range: readonly (string | number)[]): Promise<readonly Entry[]>;
  /** The first entries whose check is due. */
  due(key: string, now: number): Promise<readonly Entry[]>;
  /** Changes the time of the next check of an entry that still exists. */
  postpone(key: string, entry: Entry, checkAt: number): Promise<void>;
  /** Calls `act` with the entries in chunks and removes them, until the range is empty. */
  drain(
    key: string,
    range: readonly (string | number)[],
    act: (entry: Entry) => Promise<unknown>,
  ): Promise<void>;
}

/** The largest number of entries in one chunk. */
export const DIRECTORY_STEP = 500;

/** Directories are not encrypted. A member that is not an entry was not written by this server, and is removed. */
export function createDirectory<Entry>(
  redis: RedisLink,
  { textOf, entryOf }: DirectoryFormat<Entry>,
): Directory<Entry> {
  const read: Directory<Entry>['read'] = async (key, range) => {
    const members = asList(await redis.command('ZRANGE', [key, ...range])).map(asBytes);
    // Invalid UTF-8 decodes to other bytes, which could never be removed.
    const entries = members.map((member) => {
      const entry = entryOf(asText(member));
      return entry && Buffer.from(textOf(entry)).equals(member) ? entry : undefined;
    });
    const foreign = members.filter((_, i) => !entries[i]);
    if (foreign.length > 0) {
      await redis.write('ZREM', [key, ...foreign]);
    }
    return entries.filter((entry) => entry !== undefined);
  };
  return {
    read,
    due: (key, now) => read(key, ['-inf', now, 'BYSCORE', 'LIMIT', 0, DIRECTORY_STEP]),
    async postpone(key, entry, checkAt) {
      await redis.write('ZADD', [key, 'XX', checkAt, textOf(entry)]);
    },
    async drain(key, range, act) {
      for (;;) {
        const entries = await read(key, range);
        if (entries.length === 0) {
          return;
        }
        await Promise.all(entries.map(act));
        await redis.write('ZREM', [key, ...entries.map(textOf)]);
      }
    },
  };
}

/** For `catch`: ignores `integrity_failed`, so that one damaged record does not block the others. */
export function ignoreDamaged(error: unknown): undefined {
  if (!(error instanceof VaultError) || error.code !== 'integrity_failed') {
    throw error;
  }
}
