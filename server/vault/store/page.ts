/** Reads the items of a page with plain commands, whose replies a thread takes as they come. */

import type { RedisLink } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import type { Position } from './position.ts';

/** The most bytes of a page. */
const PAGE_BYTES_MAX = 4 * 1_024 * 1_024;
/** Items of a page that are read at once: what Redis sends in vain of items that are too large. */
const SLICE_ITEMS = 128;

/** Where an item is. */
export type Place = Pick<Position, 'token'> & { readonly bucket: number };

/** What is read of each item, as `ItemStore.readMany` says. */
export type PagePart = 'full' | 'meta' | 'log';

/** The replies of Redis for a page, as `ItemStore.readMany` gives them. */
export async function readMany(
  redis: RedisLink,
  kid: string,
  places: readonly Place[],
  part: PagePart,
): Promise<Uint8Array | undefined> {
  const slices: Uint8Array[] = [];
  let bytesLeft = PAGE_BYTES_MAX;
  for (let at = 0; at < places.length; at += SLICE_ITEMS) {
    const slice = await redis.readLists(
      readCommands(kid, places.slice(at, at + SLICE_ITEMS), part),
      bytesLeft,
    );
    if (slice === undefined) {
      return undefined;
    }
    bytesLeft -= slice.length;
    slices.push(slice);
  }
  const [first = new Uint8Array(0), ...others] = slices;
  return others.length === 0 ? first : Buffer.concat(slices);
}

function readCommands(kid: string, places: readonly Place[], part: PagePart): readonly (readonly string[])[] {
  const commands: (readonly string[])[] = [];
  for (const { token, bucket: number } of places) {
    const bucket = { kid, number };
    if (part === 'full') {
      commands.push(['HMGET', redisKeys.item(bucket, token), 'c', 'm', 'n']);
      commands.push(['MGET', redisKeys.sad(bucket, token)]);
    } else {
      const fields = part === 'log' ? ['m', '1'] : ['m'];
      commands.push(['HMGET', redisKeys.item(bucket, token), ...fields]);
    }
  }
  return commands;
}
