import { type RedisLink, script } from '../redis/client.ts';
import { createDirectory, DIRECTORY_STEP, ignoreDamaged } from '../redis/records/directory.ts';
import { redisKeys } from '../redis/records/keys.ts';
import reserveText from '../redis/records/reserve-entry-1.lua' with { type: 'text' };
import { asBytes, asList, asText, isOk } from '../redis/reply.ts';
import commitText from './commit-form-1.lua' with { type: 'text' };
import indexText from './index-form-1.lua' with { type: 'text' };
import removeText from './remove-form-1.lua' with { type: 'text' };
import replaceText from './replace-form-1.lua' with { type: 'text' };

// The same script as for endpoints: it only knows the nonce.
const reserve = script(reserveText);
const remove = script(removeText);
const commit = script(commitText);
const replace = script(replaceText);
const index = script(indexText);

/** The most forms of one account. */
const FORMS_MAX = 10_000;
/** How long an id stays reserved while a form is created. */
const RESERVED_MS = 60_000;

/** An entry of the directory: one creation of one form. */
export interface FormEntry {
  /** Distinguishes two forms that had the same id one after the other. */
  readonly nonce: string;
  readonly id: string;
}

/** A form as stored in Redis. */
export interface StoredForm {
  readonly nonce: string;
  readonly aid: string;
  readonly settings: Buffer;
}

/** A form to store; its settings are encrypted. */
export interface NewForm {
  readonly nonce: string;
  readonly aid: string;
  readonly settings: Uint8Array;
}

/**
 * Forms, found by id alone, and the directory of each account. A creation reserves the id, adds a directory entry, then
 * commits. If it is interrupted, the reservation expires and the sweep removes the entry.
 */
export interface FormStore {
  read(id: string): Promise<StoredForm | undefined>;
  /** False if the id is in use or reserved. */
  reserve(id: string, nonce: string): Promise<boolean>;
  /** Adds a directory entry, to be checked at `checkAt` (ms); false if the directory is full. */
  enter(aid: string, entry: FormEntry, checkAt: number): Promise<boolean>;
  /** False if the reservation has expired. */
  commit(id: string, form: NewForm): Promise<boolean>;
  /** Replaces the settings of a form; false if it is not there any more. */
  replace(id: string, form: NewForm): Promise<boolean>;
  /** Changes the time of the next check of an entry that still exists. */
  postpone(aid: string, entry: FormEntry, checkAt: number): Promise<void>;
  /** Deletes the form if it belongs to the account, which releases its id, and its directory entry. */
  remove(aid: string, entry: FormEntry): Promise<boolean>;
  /** All entries of an account, by the time of their next check. */
  entries(aid: string): Promise<readonly FormEntry[]>;
  /** The first entries whose check is due. */
  due(aid: string, now: number): Promise<readonly FormEntry[]>;
  /** Deletes all forms of an account. */
  removeAll(aid: string): Promise<void>;
}

function textOf({ nonce, id }: FormEntry): string {
  return `${nonce} ${id}`;
}

function entryOf(member: string): FormEntry | undefined {
  const [nonce = '', id, ...rest] = member.split(' ');
  return id === undefined || rest.length > 0 ? undefined : { nonce, id };
}

async function removeEntry(redis: RedisLink, aid: string, entry: FormEntry): Promise<boolean> {
  const reply = await redis.run(remove, [redisKeys.form(entry.id)], [entry.nonce, aid]).catch(ignoreDamaged);
  await redis.write('ZREM', [redisKeys.formDirectory(aid), textOf(entry)]);
  return reply !== undefined && isOk(reply);
}

/** The forms of one Redis. */
export function createFormStore(redis: RedisLink): FormStore {
  const directory = createDirectory(redis, { textOf, entryOf });
  return {
    async read(id) {
      const [nonce, aid, settings] = asList(
        await redis.command('HMGET', [redisKeys.form(id), 'n', 'a', 's']),
      );
      return aid === null || aid === undefined
        ? undefined
        : { nonce: asText(nonce), aid: asText(aid), settings: asBytes(settings) };
    },
    async reserve(id, nonce) {
      return isOk(await redis.run(reserve, [redisKeys.form(id)], [nonce, RESERVED_MS]));
    },
    async enter(aid, entry, checkAt) {
      const args = [textOf(entry), checkAt, FORMS_MAX];
      return isOk(await redis.run(index, [redisKeys.formDirectory(aid)], args));
    },
    async commit(id, { nonce, aid, settings }) {
      return isOk(await redis.run(commit, [redisKeys.form(id)], [nonce, aid, settings]));
    },
    async replace(id, { nonce, aid, settings }) {
      return isOk(await redis.run(replace, [redisKeys.form(id)], [nonce, aid, settings]));
    },
    postpone: (aid, entry, checkAt) => directory.postpone(redisKeys.formDirectory(aid), entry, checkAt),
    remove: (aid, entry) => removeEntry(redis, aid, entry),
    entries: (aid) => directory.read(redisKeys.formDirectory(aid), [0, -1]),
    due: (aid, now) => directory.due(redisKeys.formDirectory(aid), now),
    removeAll: (aid) =>
      directory.drain(redisKeys.formDirectory(aid), [0, DIRECTORY_STEP - 1], (entry) =>
        removeEntry(redis, aid, entry),
      ),
  };
}
