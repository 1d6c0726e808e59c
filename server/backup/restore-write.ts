import type { RedisLink } from '../redis/client.ts';
import type { BackupRecord } from './record.ts';
import { BackupStore } from './store.ts';

/** The most records in flight, and the most bytes that they have together. */
const IN_FLIGHT_MAX = 256;
const IN_FLIGHT_BYTES = 8 * 1_024 * 1_024;
/** The most parts of one command, so that Redis is never blocked for long. */
const COMMAND_PARTS = 2_000;

/** The name and arguments of a Redis command. */
type Command = readonly [string, readonly (string | number | Uint8Array)[]];

/** Exchanges members and scores, as ZADD expects them. */
function swapPairs(parts: readonly Uint8Array[]): Uint8Array[] {
  return parts.map((_, at) => parts[at ^ 1] ?? new Uint8Array(0));
}

/** The Redis commands that write a record. Running them again changes nothing. */
export function commandsOf({ kind, key, expiresAt, parts }: BackupRecord): readonly Command[] {
  const write = (name: string, values: readonly Uint8Array[] = parts): Command[] =>
    Array.from({ length: Math.ceil(values.length / COMMAND_PARTS) }, (_, at) => [
      name,
      [key, ...values.slice(at * COMMAND_PARTS, (at + 1) * COMMAND_PARTS)],
    ]);
  // The absolute time of expiry, so that a restored key expires when the original one would have.
  const expiry: readonly Command[] = expiresAt === 0 ? [] : [['PEXPIREAT', [key, expiresAt]]];
  switch (kind) {
    case 'hash':
      return [...write('HSET'), ...expiry];
    case 'zset':
      return [...write('ZADD', swapPairs(parts)), ...expiry];
    case 'set':
      return [...write('SADD'), ...expiry];
    case 'list':
      // A list is one record; the elements of an earlier attempt are removed first.
      return [['DEL', [key]], ...write('RPUSH'), ...expiry];
    case 'string':
      return [['SET', [key, ...parts, ...(expiresAt === 0 ? [] : ['PXAT', expiresAt])]]];
    default:
      return [];
  }
}

/** Writes records to Redis, many at the same time. */
export interface RestoreWriter {
  /** Resolves when another record can be added. */
  readonly add: (record: BackupRecord) => Promise<void>;
  /** Resolves when all records are written. */
  readonly finish: () => Promise<void>;
}

/** Removes items that were copied again, as earlier records have written them. */
async function forget(redis: RedisLink, { key, parts }: BackupRecord): Promise<void> {
  const [kid, ...pairs] = parts;
  const items = pairs.flatMap((part, at) =>
    at % 2 === 0 ? [{ token: String(part), member: pairs[at + 1] ?? new Uint8Array(0) }] : [],
  );
  await new BackupStore(redis).forget({ kid: String(kid), number: Number(key) }, items);
}

async function write(redis: RedisLink, record: BackupRecord): Promise<void> {
  for (const [name, args] of commandsOf(record)) {
    await redis.write(name, args);
  }
}

/** Creates the writer of a restore. Rejects with the error of the first failed command. */
export function createRestoreWriter(redis: RedisLink): RestoreWriter {
  let inFlight: Promise<void>[] = [];
  let bytes = 0;
  const finish = async (): Promise<void> => {
    const writes = inFlight;
    [inFlight, bytes] = [[], 0];
    await Promise.all(writes);
  };
  return {
    async add(record) {
      if (record.kind === 'again') {
        await finish();
        return forget(redis, record);
      }
      inFlight.push(write(redis, record));
      bytes += record.parts.reduce((sum, part) => sum + part.length, 0);
      await (inFlight.length >= IN_FLIGHT_MAX || bytes >= IN_FLIGHT_BYTES ? finish() : undefined);
    },
    finish,
  };
}
