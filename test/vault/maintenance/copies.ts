import type Redis from 'ioredis';

/** Keys of a Redis as they once were, each in the form of DUMP. */
export type Copy = ReadonlyMap<string, Buffer>;

/** Copies every key whose name matches one of the patterns. */
export async function copyOf(raw: Redis, ...patterns: readonly string[]): Promise<Copy> {
  const copy = new Map<string, Buffer>();
  for (const pattern of patterns) {
    for (const name of await raw.keys(pattern)) {
      const dump = await raw.dumpBuffer(name);
      if (dump !== null) {
        copy.set(name, dump);
      }
    }
  }
  return copy;
}

/** Puts copies in the place of whatever is there now, in this Redis or in another one. */
export async function putBack(raw: Redis, ...copies: readonly Copy[]): Promise<void> {
  for (const copy of copies) {
    await Promise.all([...copy].map(([name, dump]) => raw.restore(name, 0, dump, 'REPLACE')));
  }
}
