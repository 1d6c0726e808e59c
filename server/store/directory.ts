import { VaultError } from '../core/errors.ts';
import { bytes, list, type RedisLink, text } from './redis/client.ts';

/** How the lines of a directory are written and read; undefined for what is no line of ours. */
export interface DirectoryLines<Entry> {
  readonly textOf: (entry: Entry) => string;
  readonly entryOf: (member: string) => Entry | undefined;
}

/**
 * A part of a directory, by the arguments of ZRANGE behind its key. A directory is not sealed: what is no entry was
 * put there by somebody else, and goes.
 */
export async function readDirectory<Entry>(
  redis: RedisLink,
  key: string,
  rest: readonly (string | number)[],
  { textOf, entryOf }: DirectoryLines<Entry>,
): Promise<Entry[]> {
  const members = list(await redis.command('ZRANGE', [key, ...rest])).map(bytes);
  // Bytes that are no text would come back as other bytes, and never be removed.
  const entries = members.map((member) => {
    const entry = entryOf(text(member));
    return entry && Buffer.from(textOf(entry)).equals(member) ? entry : undefined;
  });
  const strange = members.filter((_, i) => !entries[i]);
  if (strange.length > 0) {
    await redis.write('ZREM', [key, ...strange]);
  }
  return entries.filter((entry) => entry !== undefined);
}

/** A record of another type was put there by somebody else: it must not hold up those beside it. */
export function unlessDamaged(error: unknown): undefined {
  if (!(error instanceof VaultError) || error.code !== 'integrity_failed') {
    throw error;
  }
}
