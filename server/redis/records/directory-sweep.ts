import { pause } from '../../core/concurrency.ts';

/** The first check of a new entry: by then its creation has ended, one way or the other. */
export const FIRST_CHECK_MS = 120_000;
/** A time that never comes, ms since 1970. */
export const NEVER_MS = 8_000_000_000_000_000;
const TAKE_BACK_MS = 250;

/** The directory of an account, and the objects that its entries name. */
interface DirectoryStore<Entry> {
  postpone(aid: string, entry: Entry, checkAt: number): Promise<void>;
  remove(aid: string, entry: Entry): Promise<boolean>;
  due(aid: string, now: number): Promise<readonly Entry[]>;
}

/** Removes an entry whose creation has failed. A caller of a Redis that does not answer has waited enough. */
export async function takeBack<Entry>(
  store: Pick<DirectoryStore<Entry>, 'remove'>,
  aid: string,
  entry: Entry,
): Promise<void> {
  // What cannot be removed now expires automatically, and the sweep removes the entry.
  await Promise.race([store.remove(aid, entry).catch(() => false), pause(TAKE_BACK_MS)]);
}

/** Removes an entry with its object; false when it did not exist. An interrupted removal is left to the sweep. */
export async function removeEntry<Entry>(
  store: Pick<DirectoryStore<Entry>, 'postpone' | 'remove'>,
  aid: string,
  entry: Entry,
  now: number,
): Promise<boolean> {
  // A full Redis rejects this and takes the removal all the same.
  await store.postpone(aid, entry, now).catch(() => undefined);
  return store.remove(aid, entry);
}

/** Checks the due entries of an account until there are none; `check` postpones or removes each. */
export async function sweepEntries<Entry>(
  store: Pick<DirectoryStore<Entry>, 'due'>,
  aid: string,
  now: () => number,
  check: (entry: Entry) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const entries = await store.due(aid, now());
    if (entries.length === 0) {
      return;
    }
    for (const entry of entries) {
      await check(entry);
    }
  }
}
