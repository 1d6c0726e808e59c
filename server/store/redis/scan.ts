/** Reads of large keys, and of all key names, in steps that hold Redis up for moments only. */
import { bytes, isRefusedCommand, list, type RedisLink, text } from './client.ts';

const FIELDS_STEP = 50;
const MEMBERS_STEP = 500;
const NAMES_STEP = 1_000;

const mastersOf = (redis: RedisLink) => redis.nodes().filter(({ isReplica }) => !isReplica);

async function* scan(
  call: (cursor: string) => Promise<unknown>,
): AsyncGenerator<readonly unknown[], void, void> {
  let cursor = '0';
  do {
    const [next, found] = list(await call(cursor));
    cursor = text(next);
    yield list(found);
  } while (cursor !== '0');
}

/** Fields of a hash with their values. What is there from the beginning to the end is given, perhaps twice. */
export async function* scanHash(
  redis: RedisLink,
  key: string,
): AsyncGenerator<readonly { readonly field: string; readonly value: Buffer }[], void, void> {
  for await (const flat of scan((cursor) => redis.command('HSCAN', [key, cursor, 'COUNT', FIELDS_STEP]))) {
    yield flat.flatMap((field, i) =>
      i % 2 === 0 ? [{ field: text(field), value: bytes(flat[i + 1]) }] : [],
    );
  }
}

/** Members of a set. */
export async function* scanSet(redis: RedisLink, key: string): AsyncGenerator<readonly string[], void, void> {
  for await (const found of scan((cursor) => redis.command('SSCAN', [key, cursor, 'COUNT', MEMBERS_STEP]))) {
    yield found.map(text);
  }
}

/**
 * All key names, on every master of a Cluster, that match a pattern. What is there from the beginning to the end is
 * given, perhaps twice. Throws where Redis forbids SCAN.
 */
export async function* scanNames(
  redis: RedisLink,
  pattern = '*',
): AsyncGenerator<readonly Buffer[], void, void> {
  for (const node of mastersOf(redis)) {
    for await (const found of scan((cursor) =>
      node.command('SCAN', [cursor, 'MATCH', pattern, 'COUNT', NAMES_STEP]),
    )) {
      if (found.length > 0) {
        yield found.map(bytes);
      }
    }
  }
}

/** Whether Redis lets us look for all key names. */
export async function canScan(redis: RedisLink): Promise<boolean> {
  try {
    await Promise.all(mastersOf(redis).map((node) => node.command('SCAN', ['0', 'COUNT', 1])));
    return true;
  } catch (error) {
    if (isRefusedCommand(error)) {
      return false;
    }
    throw error;
  }
}
