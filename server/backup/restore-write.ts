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

/** Returns the Redis commands that write a record. Running them again changes nothing. */
function commandsOf({ kind, key, expiresAt, parts }: BackupRecord): readonly Command[] {
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
      // ZADD expects each score before its member.
      return [
        ...write(
          'ZADD',
          parts.map((part, at) => parts[at ^ 1] ?? part),
        ),
        ...expiry,
      ];
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

async function write(redis: RedisLink, record: BackupRecord): Promise<void> {
  for (const [name, args] of commandsOf(record)) {
    await redis.write(name, args);
  }
}

/** Writes records to Redis, many at the same time. Rejects with the error of the first failed command. */
export class RestoreWriter {
  private inFlight: Promise<void>[] = [];
  private bytes = 0;

  constructor(private readonly redis: RedisLink) {}

  /** Resolves when another record can be added. */
  async add(record: BackupRecord): Promise<void> {
    const { kind, key, parts } = record;
    if (kind === 'again') {
      // Removes items that were copied again, as earlier records have written them.
      await this.finish();
      const [kid, ...pairs] = parts;
      await new BackupStore(this.redis).forget({ kid: String(kid), number: Number(key) }, pairs);
      return;
    }
    this.inFlight.push(write(this.redis, record));
    this.bytes += parts.reduce((sum, part) => sum + part.length, 0);
    if (this.inFlight.length >= IN_FLIGHT_MAX || this.bytes >= IN_FLIGHT_BYTES) {
      await this.finish();
    }
  }

  /** Resolves when all records are written. */
  async finish(): Promise<void> {
    const writes = this.inFlight;
    [this.inFlight, this.bytes] = [[], 0];
    await Promise.all(writes);
  }
}
