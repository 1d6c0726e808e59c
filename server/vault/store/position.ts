import { VaultError } from '../../core/errors.ts';
import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { MemberIndex } from '../../redis/records/scan.ts';
import { asBytes, asList, asPairs, asText, asTime } from '../../redis/reply.ts';

const LEX_STEP = 1_000;

/** A token and its position in time order. */
export interface Position {
  readonly token: string;
  readonly storedAt: number;
}

/** Positions of the time index, by a range of `ZRANGE`. */
export async function readPositions(
  redis: RedisLink,
  bucket: Bucket,
  range: readonly (string | number)[],
): Promise<Position[]> {
  const command = ['ZRANGE', redisKeys.times(bucket), ...range, 'WITHSCORES'];
  const replies = (await redis.readLists([command], Number.POSITIVE_INFINITY)) ?? Buffer.alloc(0);
  // A line for the list, then two for each token, its length and itself, and two for its score.
  const lines = replies.toString('latin1').split('\r\n');
  const positions: Position[] = [];
  for (let i = 2; i + 2 < lines.length; i += 4) {
    positions.push({ token: lines[i] ?? '', storedAt: asTime(Number(lines[i + 2])) });
  }
  return positions;
}

/** The upper bound of a range of members that start with `prefix`. */
function lexEnd(prefix: Uint8Array): Buffer {
  const next = Buffer.from(prefix);
  for (let i = next.length - 1; i >= 0; i--) {
    const byte = (next[i] ?? 0) + 1;
    if (byte <= 0xff) {
      next[i] = byte;
      return Buffer.concat([Buffer.from('('), next.subarray(0, i + 1)]);
    }
  }
  return Buffer.from('+');
}

/** A member of the reference index ends with its token and the length of the token in two bytes. */
function tokenOfMember(member: Buffer): string {
  const end = member.length - 2;
  const start = end < 0 ? -1 : end - member.readUInt16BE(end);
  if (start < 0) {
    throw new VaultError('integrity_failed');
  }
  return member.toString('utf8', start, end);
}

/** The positions of those of the tokens that the time index has. */
async function positionsOf(redis: RedisLink, bucket: Bucket, tokens: readonly string[]): Promise<Position[]> {
  const scores = asList(await redis.command('ZMSCORE', [redisKeys.times(bucket), ...tokens]));
  return tokens.flatMap((token, i) => (scores[i] === null ? [] : [{ token, storedAt: asTime(scores[i]) }]));
}

/** Positions of the tokens that expire before a time, unordered, in chunks; some twice. */
export async function* positionsByExpiry(
  redis: RedisLink,
  bucket: Bucket,
  before: number,
): AsyncGenerator<readonly Position[]> {
  // By time, and by place only within one: the sweep takes away from the front meanwhile.
  for (let from = '0', at = 0; ; ) {
    const range = [redisKeys.expiries(bucket), from, `(${before}`, 'BYSCORE', 'LIMIT', at, LEX_STEP];
    const due = asPairs(await redis.command('ZRANGE', [...range, 'WITHSCORES']));
    if (due.length > 0) {
      const tokens = due.map(([token]) => asText(token));
      yield await positionsOf(redis, bucket, tokens);
    }
    const [first, last] = [due[0], due.at(-1)].map((pair) => asText(pair?.[1] ?? ''));
    if (due.length < LEX_STEP || last === undefined) {
      return;
    }
    at = last === first ? LEX_STEP + (last === from ? at : 0) : 0;
    from = last;
  }
}

/** Positions of the tokens whose member of an index starts with `prefix`, unordered, in chunks. */
export async function* positionsByMember(
  redis: RedisLink,
  bucket: Bucket,
  index: MemberIndex,
  prefix: Uint8Array,
): AsyncGenerator<readonly Position[]> {
  const key = redisKeys[index](bucket);
  const end = lexEnd(prefix);
  let start = Buffer.concat([Buffer.from('['), prefix]);
  for (;;) {
    const members = asList(
      await redis.command('ZRANGE', [key, start, end, 'BYLEX', 'LIMIT', 0, LEX_STEP]),
    ).map(asBytes);
    if (members.length > 0) {
      yield await positionsOf(redis, bucket, members.map(tokenOfMember));
    }
    const last = members.at(-1);
    if (members.length < LEX_STEP || last === undefined) {
      return;
    }
    start = Buffer.concat([Buffer.from('('), last]);
  }
}
