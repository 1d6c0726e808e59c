/** Reads hashes and sorted sets, large ones and all key names in steps that block Redis only briefly. */

import { mastersOf, type RedisLink } from '../client.ts';
import { isForbiddenCommand } from '../errors.ts';
import { asBytes, asList, asPairs, asText, asTime } from '../reply.ts';
import { redisKeys } from './keys.ts';
import type { Bucket } from './name.ts';

/** Fields per step: values may be large. */
const FIELDS_STEP = 50;
const NAMES_STEP = 1_000;

/** The range and the steps of `scanDown`; both bounds are inclusive. */
interface ScanDown {
  readonly from?: string | number;
  readonly to?: string | number;
  readonly first: number;
  readonly max: number;
}

/** Follows the cursor of a SCAN command to its end. */
async function* scan(
  call: (cursor: string) => Promise<unknown>,
): AsyncGenerator<readonly unknown[], void, void> {
  let cursor = '0';
  do {
    const [next, found] = asList(await call(cursor));
    cursor = asText(next);
    yield asList(found);
  } while (cursor !== '0');
}

/** All fields of a small hash with their values, in ascending order of field. */
export async function readHash(
  redis: RedisLink,
  key: string,
): Promise<readonly { readonly field: string; readonly value: unknown }[]> {
  const fields = asList(await redis.command('HKEYS', [key]))
    .map(asText)
    .sort();
  if (fields.length === 0) {
    return [];
  }
  const values = asList(await redis.command('HMGET', [key, ...fields]));
  return fields.flatMap((field, i) => (values[i] === null ? [] : [{ field, value: values[i] }]));
}

/** Fields of a hash with their values. A field that exists throughout is returned at least once. */
export async function* scanHash(
  redis: RedisLink,
  key: string,
  step = FIELDS_STEP,
): AsyncGenerator<readonly { readonly field: string; readonly value: Buffer }[], void, void> {
  for await (const flat of scan((cursor) => redis.command('HSCAN', [key, cursor, 'COUNT', step]))) {
    yield asPairs(flat).map(([field, value]) => ({ field: asText(field), value: asBytes(value) }));
  }
}

/**
 * Members of a sorted set in the order of their scores, up to one score. A member whose score grows during the scan
 * is returned at its new position. Any number of members may have the same score.
 */
export async function* scanByScore(
  redis: RedisLink,
  key: string,
  step: number,
  upTo = '+inf',
  first = '-inf',
): AsyncGenerator<readonly string[], void, void> {
  let from = first;
  // Returned members with the score at which the scan continues.
  let given = new Set<string>();
  for (;;) {
    const limit = step + given.size;
    const args = [key, from, upTo, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'];
    const found = asPairs(await redis.command('ZRANGE', args)).map((pair) => pair.map(String));
    const fresh = found.flatMap(([member = '']) => (given.has(member) ? [] : [member]));
    if (fresh.length > 0) {
      yield fresh;
    }
    const last = found.at(-1)?.[1];
    if (found.length < limit || last === undefined) {
      return;
    }
    from = last;
    given = new Set(found.flatMap(([member = '', score]) => (score === last ? [member] : [])));
  }
}

/**
 * Members of a sorted set between two scores, the highest first, with their scores. The members of one score come together.
 * The first step has `first` members, each further one twice as many up to `max`.
 */
export async function* scanDown(
  redis: RedisLink,
  key: string,
  { from = '+inf', to = '-inf', first, max }: ScanDown,
): AsyncGenerator<readonly (readonly [member: Buffer, score: number])[], void, void> {
  const read = async (...range: readonly (string | number)[]) => {
    const reply = await redis.command('ZRANGE', [key, ...range, 'WITHSCORES']);
    return asPairs(reply).map(([member, score]) => [asBytes(member), asTime(score)] as const);
  };
  let start: string | number = from;
  for (let step = first; ; step = Math.min(2 * step, max)) {
    const found = await read(start, to, 'BYSCORE', 'REV', 'LIMIT', 0, step);
    const last = found.at(-1)?.[1];
    if (found.length < step || last === undefined) {
      yield found;
      return;
    }
    // The step may end within the members of its last score.
    const whole = await read(last, last, 'BYSCORE');
    yield [...found.filter(([, score]) => score > last), ...whole];
    start = `(${last}`;
  }
}

/** Members of a sorted set with equal scores, in the order of their bytes. */
export async function* scanByMember(
  redis: RedisLink,
  key: string,
  step: number,
): AsyncGenerator<readonly Buffer[], void, void> {
  let start: Buffer | string = '-';
  for (;;) {
    const args = [key, start, '+', 'BYLEX', 'LIMIT', 0, step];
    const members = asList(await redis.command('ZRANGE', args)).map(asBytes);
    if (members.length > 0) {
      yield members;
    }
    const last = members.at(-1);
    if (members.length < step || last === undefined) {
      return;
    }
    start = Buffer.concat([Buffer.from('('), last]);
  }
}

/** All key names that match a pattern, on every master, each at least once. Throws if Redis forbids SCAN. */
export async function* scanNames(
  redis: RedisLink,
  pattern = '*',
): AsyncGenerator<readonly Buffer[], void, void> {
  for (const node of mastersOf(redis)) {
    for await (const found of scan((cursor) =>
      node.command('SCAN', [cursor, 'MATCH', pattern, 'COUNT', NAMES_STEP]),
    )) {
      if (found.length > 0) {
        yield found.map(asBytes);
      }
    }
  }
}

/** True if Redis allows SCAN. */
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

/** The indexes whose members end with their token: by references, and by metadata. */
export type MemberIndex = 'references' | 'metadata';

/** The tokens of a bucket by time, then expired ones with a log. One that is written meanwhile may come twice. */
export async function* scanTokens(
  redis: RedisLink,
  bucket: Bucket,
  step: number,
): AsyncGenerator<readonly string[], void, void> {
  yield* scanByScore(redis, redisKeys.times(bucket), step);
  yield* scanByScore(redis, redisKeys.expiries(bucket), step, '(0');
}
