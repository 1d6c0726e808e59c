import type { RedisLink } from '../../store/redis/client.ts';
import type { BackupRecord } from './record.ts';

/** Records that are on their way to Redis at once, and how many bytes they may have together. */
const FLIGHT_RECORDS = 256;
const FLIGHT_BYTES = 8 * 1_024 * 1_024;
/** Parts that one command takes: Redis answers others in between. */
const COMMAND_PARTS = 2_000;

type Argument = string | number | Uint8Array;

const swapPairs = (parts: readonly Uint8Array[]): Uint8Array[] =>
  parts.map((_, at) => parts[at ^ 1] ?? new Uint8Array(0));

/** The commands that write a record. Each can be run again and changes nothing then, but for a list's. */
export const commandsOf = ({
  kind,
  key,
  expiresAt,
  parts,
}: BackupRecord): (readonly [string, readonly Argument[]])[] => {
  const write = (name: string, values: readonly Uint8Array[]): (readonly [string, readonly Argument[]])[] =>
    Array.from({ length: Math.ceil(values.length / COMMAND_PARTS) }, (_, at) => [
      name,
      [key, ...values.slice(at * COMMAND_PARTS, (at + 1) * COMMAND_PARTS)],
    ]);
  const expiry = expiresAt === 0 ? [] : ([['PEXPIREAT', [key, expiresAt]]] as const);
  switch (kind) {
    case 'hash':
      return [...write('HSET', parts), ...expiry];
    case 'zset':
      return [...write('ZADD', swapPairs(parts)), ...expiry];
    case 'set':
      return [...write('SADD', parts), ...expiry];
    case 'list':
      // Lists come whole: an earlier try's is put away first.
      return [['DEL', [key]], ...write('RPUSH', parts), ...expiry];
    case 'string':
      return [['SET', [key, ...parts, ...(expiresAt === 0 ? [] : ['PXAT', expiresAt])]]];
    default:
      return [];
  }
};

/** Writes records to Redis, many at once. */
export interface RestoreWriter {
  readonly add: (record: BackupRecord) => Promise<void>;
  /** Resolves when all are written. */
  readonly finish: () => Promise<void>;
}

/** Opens the writing side of a restore. Rejects with what the first failed command threw. */
export function createRestoreWriter(redis: RedisLink): RestoreWriter {
  let flying: Promise<unknown>[] = [];
  let bytes = 0;
  const land = async (): Promise<void> => {
    const waiting = flying;
    flying = [];
    bytes = 0;
    await Promise.all(waiting);
  };
  const send = async (record: BackupRecord): Promise<void> => {
    for (const [name, args] of commandsOf(record)) {
      await redis.write(name, args);
    }
  };
  return {
    async add(record) {
      flying.push(send(record));
      bytes += record.parts.reduce((sum, part) => sum + part.length, 0);
      if (flying.length >= FLIGHT_RECORDS || bytes >= FLIGHT_BYTES) {
        await land();
      }
    },
    finish: land,
  };
}
