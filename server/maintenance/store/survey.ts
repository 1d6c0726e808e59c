import { type RedisLink, script } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { scanTokens } from '../../redis/records/scan.ts';
import { asBytes, asCount, asList } from '../../redis/reply.ts';
import replaceItemsText from './replace-items-n.lua' with { type: 'text' };
import surveyItemsText from './survey-items-n.lua' with { type: 'text' };

const surveyItems = script(surveyItemsText);
const replaceItems = script(replaceItemsText);

/** Items of one survey, and log entries of each, at most. */
const TOKENS_STEP = 128;
const LOG_ENTRIES_MAX = 64;
/** The size in bytes after which a survey stops. */
const SURVEY_BYTES = 524_288;

/** A re-encrypted record of an item: the index of its token, the field, and the record that it replaces. */
export interface ItemReplacement {
  readonly item: number;
  readonly name: string;
  /** The last 16 bytes of the record that was read, which identify its version. */
  readonly tag: Uint8Array;
  readonly record: Uint8Array;
}

/** Reads complete items, in pages, for verification and re-encryption. */
export class SurveyStore {
  constructor(private readonly redis: RedisLink) {}

  /** Returns tokens of a bucket, in pages of one survey, see `scanTokens`. */
  tokens(bucket: Bucket): AsyncGenerator<readonly string[], void, void> {
    return scanTokens(this.redis, bucket, TOKENS_STEP);
  }

  /** Reads the first of these items with all their data, as of one moment: their number and a blob (survey-items-n.lua). */
  async survey(
    bucket: Bucket,
    tokens: readonly string[],
  ): Promise<{ readonly blob: Buffer; readonly items: number }> {
    const keys = [
      redisKeys.times(bucket),
      redisKeys.identities(bucket),
      ...tokens.map((token) => redisKeys.item(bucket, token)),
      ...tokens.map((token) => redisKeys.sad(bucket, token)),
    ];
    const args = [LOG_ENTRIES_MAX, SURVEY_BYTES, ...tokens];
    const [blob, items] = asList(await this.redis.runUnreplicated(surveyItems, keys, args));
    return { blob: asBytes(blob), items: asCount(items) };
  }

  /** Replaces those records that are still the ones that were read; returns their number. */
  async replace(
    bucket: Bucket,
    tokens: readonly string[],
    records: readonly ItemReplacement[],
  ): Promise<number> {
    const used = [...new Set(records.map(({ item }) => item))];
    const keys = used.map((item) => redisKeys.item(bucket, tokens[item] ?? ''));
    const args = records.flatMap(({ item, name, tag, record }) => [
      used.indexOf(item) + 1,
      name,
      tag,
      record,
    ]);
    return asCount(await this.redis.run(replaceItems, keys, args));
  }
}
