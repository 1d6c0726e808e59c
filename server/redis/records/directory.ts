import type { Clock } from '../../core/clock.ts';
import { pause } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import { type RedisLink, script } from '../client.ts';
import { asBytes, asList, asText, isOk } from '../reply.ts';
import commitText from './commit-entry-1.lua' with { type: 'text' };
import type { DirectoryEntry } from './kind.ts';
import removeText from './remove-entry-1.lua' with { type: 'text' };
import reserveText from './reserve-entry-1.lua' with { type: 'text' };

const reserve = script(reserveText);
const commit = script(commitText);
const remove = script(removeText);

/** The first check of a new entry: by then its creation has ended, one way or the other. */
export const FIRST_CHECK_MS = 120_000;
export const DIRECTORY_STEP = 500;
/** The time that an id stays reserved while its object is created. */
const RESERVED_MS = 60_000;
/** The longest wait for the removal of an entry whose creation has failed. */
const TAKE_BACK_MS = 250;
/** A time that never comes, ms since 1970. */
const NEVER_MS = 8_000_000_000_000_000;

/** The notation of the entries of a directory as members of a sorted set. */
interface DirectoryFormat<Entry> {
  readonly textOf: (entry: Entry) => string;
  readonly entryOf: (member: string) => Entry | undefined;
}

/** A part of a sorted set, by the arguments of ZRANGE after its key. */
type Range = readonly (string | number)[];

/**
 * Stores objects that are found by id alone, and a directory of each account: a sorted set of entries, by the time of their
 * next check in ms. A creation reserves the id, adds an entry, then commits. If it is interrupted, the reservation expires and
 * the sweep removes the entry.
 */
export abstract class DirectoryStore<Entry extends DirectoryEntry> {
  constructor(
    protected readonly redis: RedisLink,
    protected readonly objectOf: (id: string) => string,
    protected readonly directoryOf: (aid: string) => string,
    protected readonly format: DirectoryFormat<Entry>,
  ) {}

  /** Removes an object, which releases its id, and its entry; returns false if the object did not exist. */
  abstract remove(aid: string, entry: Entry): Promise<boolean>;

  /** Reserves an id; returns false if it is in use or reserved. */
  async reserve(id: string, nonce: string): Promise<boolean> {
    return isOk(await this.redis.run(reserve, [this.objectOf(id)], [nonce, RESERVED_MS]));
  }

  /** Turns a reservation into an object with these fields; returns false if it has expired or was cancelled. */
  protected async commitFields(
    id: string,
    nonce: string,
    aid: string,
    ...fields: readonly (string | Uint8Array)[]
  ): Promise<boolean> {
    return isOk(await this.redis.run(commit, [this.objectOf(id)], [nonce, aid, ...fields]));
  }

  /** Removes an object of an account without its entry; returns false if it did not exist or is damaged. */
  protected async removeObject(aid: string, { id, nonce }: Entry): Promise<boolean> {
    const reply = await this.redis.run(remove, [this.objectOf(id)], [nonce, aid]).catch(ignoreDamaged);
    return reply !== undefined && isOk(reply);
  }

  /** Removes the object and the entry of a creation that has failed. Resolves soon even if Redis does not answer. */
  async takeBack(aid: string, entry: Entry): Promise<void> {
    // An object that cannot be removed now expires automatically, and the sweep removes the entry.
    await Promise.race([this.remove(aid, entry).catch(() => false), pause(TAKE_BACK_MS)]);
  }

  /** Removes like `remove`, and leaves an interrupted removal to the sweep. */
  async removeNow(aid: string, entry: Entry, now: number): Promise<boolean> {
    // A full Redis rejects this and accepts the removal all the same.
    await this.postpone(aid, entry, now).catch(() => undefined);
    return this.remove(aid, entry);
  }

  removeAll(aid: string): Promise<void> {
    return this.drain(this.directoryOf(aid), [0, DIRECTORY_STEP - 1], (entry) => this.remove(aid, entry));
  }

  /** Returns all entries of an account, by the time of their next check. */
  entries(aid: string): Promise<readonly Entry[]> {
    return this.readRange(this.directoryOf(aid), [0, -1]);
  }

  /** Calls `check` with each entry whose check is due, until there are none; it postpones, settles or removes the entry. */
  async sweep(aid: string, now: Clock, check: (entry: Entry) => Promise<unknown>): Promise<void> {
    for (;;) {
      const range = ['-inf', now(), 'BYSCORE', 'LIMIT', 0, DIRECTORY_STEP];
      const entries = await this.readRange(this.directoryOf(aid), range);
      if (entries.length === 0) {
        return;
      }
      for (const entry of entries) {
        await check(entry);
      }
    }
  }

  /** Changes the time of the next check of an entry that still exists. */
  async postpone(aid: string, entry: Entry, checkAt: number): Promise<void> {
    await this.redis.write('ZADD', [this.directoryOf(aid), 'XX', checkAt, this.format.textOf(entry)]);
  }

  /** Marks an entry as one that needs no further check. */
  settle(aid: string, entry: Entry): Promise<void> {
    return this.postpone(aid, entry, NEVER_MS);
  }

  /** Calls `act` with the entries of a range in chunks and removes them, until the range is empty. */
  protected async drain(key: string, range: Range, act: (entry: Entry) => Promise<unknown>): Promise<void> {
    for (;;) {
      const entries = await this.readRange(key, range);
      if (entries.length === 0) {
        return;
      }
      await Promise.all(entries.map(act));
      await this.redis.write('ZREM', [key, ...entries.map(this.format.textOf)]);
    }
  }

  /** Reads entries. Directories are not encrypted: a member that is not an entry was not written by this server, and is removed. */
  private async readRange(key: string, range: Range): Promise<readonly Entry[]> {
    const members = asList(await this.redis.command('ZRANGE', [key, ...range])).map(asBytes);
    // Invalid UTF-8 decodes to other bytes, which could never be removed.
    const entries = members.map((member) => {
      const entry = this.format.entryOf(asText(member));
      return entry && Buffer.from(this.format.textOf(entry)).equals(member) ? entry : undefined;
    });
    const foreign = members.filter((_, i) => !entries[i]);
    if (foreign.length > 0) {
      await this.redis.write('ZREM', [key, ...foreign]);
    }
    return entries.filter((entry) => entry !== undefined);
  }
}

/** Ignores `integrity_failed`, so that one damaged record does not block the others; for `catch`. */
export function ignoreDamaged(error: unknown): undefined {
  if (!(error instanceof VaultError) || error.code !== 'integrity_failed') {
    throw error;
  }
}
