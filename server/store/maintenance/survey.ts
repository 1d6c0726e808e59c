import replaceItemsText from '../lua/maintenance/replace-items-n.lua' with { type: 'text' };
import surveyItemsText from '../lua/maintenance/survey-items-n.lua' with { type: 'text' };
import type { Bucket } from '../records/name.ts';
import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/keys.ts';
import { bytes, count, list } from '../redis/reply.ts';
import { scanByScore } from '../redis/scan.ts';

const surveyItems = script(surveyItemsText);
const replaceItems = script(replaceItemsText);

const TOKENS_STEP = 128;
const LOG_ENTRIES_MAX = 64;
/** Bytes of one survey, past which it stops. */
const SURVEY_BYTES = 524_288;

/** A re-encrypted record of an item: the number of its token, its field, what was read, and what it becomes. */
export interface ItemReplacement {
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
  /** Puts records in the place of those that were read, where these are still there; tells how many. */
  replace(bucket: Bucket, tokens: readonly string[], records: readonly ItemReplacement[]): Promise<number>;
}

export function createSurveyStore(redis: RedisLink): SurveyStore {
  return {
    tokens: (bucket) => scanByScore(redis, redisKeys.times(bucket), TOKENS_STEP),
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
    async replace(bucket, tokens, records) {
      const used = [...new Set(records.map(({ item }) => item))];
      const keys = used.map((item) => redisKeys.item(bucket, tokens[item] ?? ''));
      const args = records.flatMap(({ item, name, tag, record }) => [
        used.indexOf(item) + 1,
        name,
        tag,
        record,
      ]);
      return count(await redis.run(replaceItems, keys, args));
    },
  };
}
