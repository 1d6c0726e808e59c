import renewItemsText from '../lua/maintenance/renew-items-n.lua' with { type: 'text' };
import surveyItemsText from '../lua/maintenance/survey-items-n.lua' with { type: 'text' };
import { type RedisLink, script } from '../redis/client.ts';
import { type Bucket, redisKeys } from '../redis/keys.ts';
import { bytes, count, list, text } from '../redis/reply.ts';

const surveyItems = script(surveyItemsText);
const renewItems = script(renewItemsText);

const TOKENS_STEP = 128;
const LOG_ENTRIES_MAX = 64;
/** Bytes of one survey, past which it stops. */
const SURVEY_BYTES = 524_288;

/** A record of an item that was sealed again: the number of its token, its field, what was read, and what it becomes. */
export interface ItemRenewal {
  readonly item: number;
  readonly name: string;
  /** The last 16 bytes that were read. */
  readonly tag: Uint8Array;
  readonly record: Uint8Array;
}

/** Items a page at a time, with all that belongs to them. */
export interface SurveyStore {
  /** Tokens of a bucket in the order of the time index, in pages that one survey takes. */
  tokens(bucket: Bucket): AsyncGenerator<readonly string[], void, void>;
  /** All that Redis has of the first of these items, in one moment; `items` tells how many there are in the blob. */
  survey(
    bucket: Bucket,
    tokens: readonly string[],
  ): Promise<{ readonly blob: Buffer; readonly items: number }>;
  /** Puts renewed records in the place of those that were read, where they are still there; tells how many. */
  renew(bucket: Bucket, tokens: readonly string[], renewals: readonly ItemRenewal[]): Promise<number>;
}

interface Scored {
  readonly token: string;
  readonly score: string;
}

function toScored(reply: unknown): Scored[] {
  const parts = list(reply).flat().map(text);
  return parts.flatMap((token, i) => (i % 2 === 0 ? [{ token, score: parts[i + 1] ?? '' }] : []));
}

export function createSurveyStore(redis: RedisLink): SurveyStore {
  return {
    async *tokens(bucket) {
      const key = redisKeys.times(bucket);
      let from = '-inf';
      // Tokens that were given out and have the score to go on from: somebody may have put many at one.
      let given = new Set<string>();
      for (;;) {
        const limit = TOKENS_STEP + given.size;
        const args = [key, from, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'];
        const page = toScored(await redis.command('ZRANGE', args));
        const fresh = page.filter(({ token }) => !given.has(token)).map(({ token }) => token);
        if (fresh.length > 0) {
          yield fresh;
        }
        const last = page.at(-1);
        if (page.length < limit || last === undefined) {
          return;
        }
        from = last.score;
        given = new Set(page.filter(({ score }) => score === from).map(({ token }) => token));
      }
    },
    async survey(bucket, tokens) {
      const keys = [
        redisKeys.times(bucket),
        redisKeys.identities(bucket),
        ...tokens.map((token) => redisKeys.item(bucket, token)),
        ...tokens.map((token) => redisKeys.sad(bucket, token)),
      ];
      const args = [LOG_ENTRIES_MAX, SURVEY_BYTES, ...tokens];
      const [blob, items] = list(await redis.run(surveyItems, keys, args));
      return { blob: bytes(blob), items: count(items) };
    },
    async renew(bucket, tokens, renewals) {
      const used = [...new Set(renewals.map(({ item }) => item))];
      const keys = used.map((item) => redisKeys.item(bucket, tokens[item] ?? ''));
      const args = renewals.flatMap(({ item, name, tag, record }) => [
        used.indexOf(item) + 1,
        name,
        tag,
        record,
      ]);
      return count(await redis.run(renewItems, keys, args));
    },
  };
}
