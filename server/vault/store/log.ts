/** How entries are appended to the logs of items. */

import { type RedisLink, script } from '../../redis/client.ts';
import prelude from '../../redis/records/bucket-prelude.lua' with { type: 'text' };
import { asFenced, type Fenced } from '../../redis/records/fence.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { asList, asText, isOk } from '../../redis/reply.ts';
import appendLogText from './append-log-n.lua' with { type: 'text' };

const appendLog = script(prelude, appendLogText);

/** Log entries one behind the other, and where each of them ends. */
export interface PackedEntries {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

/** For each item, whether it still existed, under the log that its entry names, and its log has the entry. */
export type AppendOutcome = Fenced | { readonly kind: 'appended'; readonly present: readonly boolean[] };

/** Appends one entry to each item of a bucket, none where it is empty. */
export async function append(
  redis: RedisLink,
  bucket: Bucket,
  tokens: readonly string[],
  given: readonly Uint8Array[] | PackedEntries,
  gen: number | undefined,
): Promise<AppendOutcome> {
  const keys = [
    redisKeys.fence(bucket),
    redisKeys.changedLogs(bucket),
    ...tokens.map((token) => redisKeys.item(bucket, token)),
  ];
  const { bytes, ends } = 'ends' in given ? given : packEntries(given);
  const args = [gen ?? '', bytes, ...(tokens.length === 1 ? [] : [littleEndian(ends)])];
  const [word, flags] = asList(await redis.run(appendLog, keys, args));
  return isOk(word)
    ? { kind: 'appended', present: [...asText(flags)].map((flag) => flag === '1') }
    : asFenced(asText(word));
}

function packEntries(entries: readonly Uint8Array[]): PackedEntries {
  let end = 0;
  const ends = Uint32Array.from(entries, ({ length }) => {
    end += length;
    return end;
  });
  return { bytes: entries.length === 1 && entries[0] ? entries[0] : Buffer.concat(entries), ends };
}

function littleEndian(numbers: Uint32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * numbers.length));
  for (let i = 0; i < numbers.length; i++) {
    view.setUint32(4 * i, numbers[i] ?? 0, true);
  }
  return new Uint8Array(view.buffer);
}
