import copyItemsText from '../lua/maintenance/copy-items-n.lua' with { type: 'text' };
import copyKeysText from '../lua/maintenance/copy-keys-n.lua' with { type: 'text' };
import { type RedisLink, script } from '../redis/client.ts';
import { type Bucket, redisKeys } from '../redis/keys.ts';
import { bytes, count, list, text } from '../redis/reply.ts';

const copyItems = script(copyItemsText);
const copyKeys = script(copyKeysText);

const PAGE_ITEMS = 64;
const PAGE_BYTES = 512 * 1_024;
const PAGE_TOKENS = 4_096;
const PAGE_FIELDS = 1_000;

/** A Redis key with everything in it; `expiresAt` in ms since 1970, 0 = never. */
export interface CopiedKey {
  readonly kind: 'hash' | 'zset' | 'set' | 'string' | 'list';
  readonly key: string;
  readonly expiresAt: number;
  /** Fields and values, members and scores, members, or the value. */
  readonly parts: readonly Buffer[];
}

/** An item with all that belongs to it, as it was at one moment. */
export interface CopiedItem {
  readonly token: string;
  readonly storedAt: string;
  /** Empty: the item has none. */
  readonly sad: Buffer;
  readonly sadExpiresAt: number;
  /** Fields and values of the item's hash. */
  readonly parts: readonly Buffer[];
}

/** Reads what a backup holds, without changing anything. */
export interface CopyStore {
  /** Whole keys of one slot, as they are at one moment; those that are not there are left out. */
  readonly keys: (names: readonly string[]) => Promise<readonly CopiedKey[]>;
  /** Every item that a bucket held when this was called and still holds when it is read. */
  readonly items: (bucket: Bucket) => AsyncGenerator<readonly CopiedItem[]>;
  /** Fields and values of a hash, some at a time; what is there throughout comes at least once. */
  readonly fields: (key: string) => AsyncGenerator<readonly Buffer[]>;
  /** Members and scores of a sorted set that does not change, some at a time. */
  readonly members: (key: string) => AsyncGenerator<readonly Buffer[]>;
}

const KINDS = ['hash', 'zset', 'set', 'string', 'list'] as const;

const keyOf = (key: string, reply: unknown): CopiedKey[] => {
  const [type, expiry, parts] = list(reply);
  const kind = KINDS.find((known) => known === text(type));
  return kind === undefined
    ? []
    : // RESP3 nests each member with its score; RESP2 gives one flat list.
      [{ kind, key, expiresAt: Math.max(0, count(expiry)), parts: list(parts).flat().map(asBytes) }];
};

const asBytes = (part: unknown): Buffer =>
  typeof part === 'number' ? Buffer.from(String(part)) : bytes(part);

const itemOf = (token: string, reply: unknown): CopiedItem[] => {
  const [storedAt, sad, expiry, ...parts] = list(reply);
  return storedAt === undefined
    ? []
    : [
        {
          token,
          storedAt: asBytes(storedAt).toString(),
          sad: bytes(sad),
          sadExpiresAt: Math.max(0, count(expiry)),
          parts: parts.map(bytes),
        },
      ];
};

/** Opens the reading side of a backup. */
export function createCopyStore(redis: RedisLink): CopyStore {
  const range = async (key: string, args: readonly (string | number)[]): Promise<readonly Buffer[]> =>
    list(await redis.command('ZRANGE', [key, ...args]))
      .flat()
      .map(asBytes);

  /** Tokens of a bucket. One that is written meanwhile moves to the end, and is met there. */
  async function* tokens(key: string): AsyncGenerator<readonly string[]> {
    const [, newest] = await range(key, [-1, -1, 'WITHSCORES']);
    if (newest === undefined) {
      return;
    }
    let from = '-inf';
    for (;;) {
      const limit = ['BYSCORE', 'LIMIT', 0, PAGE_TOKENS, 'WITHSCORES'] as const;
      const page = await range(key, [from, newest.toString(), ...limit]);
      yield page.filter((_, at) => at % 2 === 0).map(text);
      const last = page.at(-1);
      if (last === undefined || page.length < 2 * PAGE_TOKENS) {
        break;
      }
      from = `(${last}`;
    }
    // One look at what has come behind: whatever the walk has missed moved there before this.
    yield (await range(key, [`(${newest}`, '+inf', 'BYSCORE'])).map(text);
  }

  const readItems = async (
    bucket: Bucket,
    wanted: readonly string[],
  ): Promise<readonly (readonly CopiedItem[])[]> => {
    const keys = [
      redisKeys.times(bucket),
      ...wanted.map((token) => redisKeys.item(bucket, token)),
      ...wanted.map((token) => redisKeys.sad(bucket, token)),
    ];
    const replies = list(await redis.run(copyItems, keys, [PAGE_BYTES, ...wanted]));
    return replies.map((reply, at) => itemOf(wanted[at] ?? '', reply));
  };

  return {
    async keys(names) {
      const replies = list(await redis.run(copyKeys, names, []));
      return replies.flatMap((reply, at) => keyOf(names[at] ?? '', reply));
    },
    async *items(bucket) {
      for await (const found of tokens(redisKeys.times(bucket))) {
        for (let at = 0; at < found.length; ) {
          const page = await readItems(bucket, found.slice(at, at + PAGE_ITEMS));
          at += page.length;
          yield page.flat();
        }
      }
    },
    async *fields(key) {
      let cursor = '0';
      do {
        const [next, parts] = list(await redis.command('HSCAN', [key, cursor, 'COUNT', PAGE_FIELDS]));
        cursor = text(next);
        yield list(parts).map(bytes);
      } while (cursor !== '0');
    },
    async *members(key) {
      for (let at = 0; ; at += PAGE_FIELDS) {
        const page = await range(key, [at, at + PAGE_FIELDS - 1, 'WITHSCORES']);
        yield page;
        if (page.length < 2 * PAGE_FIELDS) {
          return;
        }
      }
    },
  };
}
