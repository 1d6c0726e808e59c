import type Redis from 'ioredis';
import type { Answer } from '../helpers/clients.ts';
import { changesOf } from '../helpers/tampering.ts';

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

export const REFUSED = '500 integrity_failed';

/** How a request ended, a reply that broke off included. */
export function outcomeOf(reply: Promise<Answer>): Promise<string> {
  return reply.then(({ outcome }) => outcome).catch(() => 'broke off');
}

/** Puts a record in its place in every changed form, and gives the forms with which a request was not refused. */
export async function acceptedChanges(
  original: Buffer,
  put: (bytes: Buffer) => Promise<unknown>,
  ask: () => Promise<Answer>,
  step?: number,
): Promise<readonly string[]> {
  const accepted: string[] = [];
  for (const [change, bytes] of changesOf(original, step)) {
    await put(bytes);
    const { outcome } = await ask();
    if (outcome !== REFUSED) {
      accepted.push(`${change}: ${outcome}`);
    }
  }
  await put(original);
  return accepted;
}
