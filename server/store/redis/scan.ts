/** Reads large keys, and all key names, in steps that block Redis only briefly. */
import { isForbiddenCommand, type RedisLink } from './client.ts';
import { bytes, list, pairs, text } from './reply.ts';

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

/** Fields of a hash with their values. A field that exists throughout is returned at least once. */
export async function* scanHash(
  redis: RedisLink,
  key: string,
): AsyncGenerator<readonly { readonly field: string; readonly value: Buffer }[], void, void> {
  for await (const flat of scan((cursor) => redis.command('HSCAN', [key, cursor, 'COUNT', FIELDS_STEP]))) {
    yield pairs(flat).map(([field, value]) => ({ field: text(field), value: bytes(value) }));
  }
}

/** Members of a set. */
export async function* scanSet(redis: RedisLink, key: string): AsyncGenerator<readonly string[], void, void> {
  for await (const found of scan((cursor) => redis.command('SSCAN', [key, cursor, 'COUNT', MEMBERS_STEP]))) {
    yield found.map(text);
  }
}

/**
 * All key names that match a pattern, on every master of a Cluster. A key that exists throughout is returned at least once.
 * Throws if Redis forbids SCAN.
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

/** Whether Redis allows SCAN. */
export async function canScan(redis: RedisLink): Promise<boolean> {
  try {
    await Promise.all(mastersOf(redis).map((node) => node.command('SCAN', ['0', 'COUNT', 1])));
    return true;
  } catch (error) {
    if (isForbiddenCommand(error)) {
      return false;
    }
    throw error;
  }
}
