import { readDirectory, unlessDamaged } from './directory.ts';
import commitText from './lua/endpoint/commit-form-1.lua' with { type: 'text' };
import indexText from './lua/endpoint/index-form-1.lua' with { type: 'text' };
import removeText from './lua/endpoint/remove-form-1.lua' with { type: 'text' };
import reserveText from './lua/endpoint/reserve-endpoint-1.lua' with { type: 'text' };
import { bytes, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

// An id is reserved as that of an endpoint is: the script knows nothing but the nonce.
const reserve = script(reserveText);
const remove = script(removeText);
const commit = script(commitText);
const index = script(indexText);

/** Forms of one account. */
const FORMS_MAX = 10_000;
/** How long a creation may take between the reservation of its id and its end. */
const RESERVED_MS = 60_000;
const STEP = 500;

/** A line of the directory: one creation of one form. */
export interface FormEntry {
  /** Tells apart two forms that had the same id one after the other. */
  readonly nonce: string;
  readonly id: string;
}

/** A form as it lies in Redis. */
export interface StoredForm {
  readonly nonce: string;
  readonly aid: string;
  readonly settings: Buffer;
}

export interface NewForm {
  readonly nonce: string;
  readonly aid: string;
  readonly settings: Uint8Array;
}

/**
 * Forms, found by their id alone, and the directory of each account. An id is reserved first, then entered in the
 * directory, then committed: a creation that dies on the way leaves a reservation that runs out and an entry
 * without a form, which the sweep takes out.
 */
export interface FormStore {
  read(id: string): Promise<StoredForm | undefined>;
  /** False when the id is in use or reserved. */
  reserve(id: string, nonce: string): Promise<boolean>;
  /** Enters a creation in the directory, to be looked at again at `lookAt` (ms); false when the directory is full. */
  enter(aid: string, entry: FormEntry, lookAt: number): Promise<boolean>;
  /** False when the reservation has run out. */
  commit(id: string, form: NewForm): Promise<boolean>;
  /** Puts off the next look at an entry. */
  putOff(aid: string, entry: FormEntry, lookAt: number): Promise<void>;
  /** Deletes the form if it is the account's, which frees its id, and takes it out of the account's directory. */
  remove(aid: string, entry: FormEntry): Promise<boolean>;
  /** All entries of an account, in the order of when they should be looked at. */
  entries(aid: string): Promise<readonly FormEntry[]>;
  /** The first entries that should be looked at by now. */
  due(aid: string, now: number): Promise<readonly FormEntry[]>;
  /** Deletes all forms of an account. */
  removeAll(aid: string): Promise<void>;
}

const textOf = ({ nonce, id }: FormEntry): string => `${nonce} ${id}`;

/** Undefined for what is no entry of ours. */
function entryOf(member: string): FormEntry | undefined {
  const [nonce = '', id, ...rest] = member.split(' ');
  return id === undefined || rest.length > 0 ? undefined : { nonce, id };
}

export function createFormStore(redis: RedisLink): FormStore {
  const range = (aid: string, rest: readonly (string | number)[]): Promise<FormEntry[]> =>
    readDirectory(redis, redisKeys.formDirectory(aid), rest, { textOf, entryOf });

  const removeEntry: FormStore['remove'] = async (aid, entry) => {
    const reply = await redis
      .run(remove, [redisKeys.form(entry.id)], [entry.nonce, aid])
      .catch(unlessDamaged);
    await redis.write('ZREM', [redisKeys.formDirectory(aid), textOf(entry)]);
    return reply !== undefined && text(reply) === 'ok';
  };

  return {
    async read(id) {
      const [nonce, aid, settings] = list(await redis.command('HMGET', [redisKeys.form(id), 'n', 'a', 's']));
      return aid === null || aid === undefined
        ? undefined
        : { nonce: text(nonce), aid: text(aid), settings: bytes(settings) };
    },
    async reserve(id, nonce) {
      return text(await redis.run(reserve, [redisKeys.form(id)], [nonce, RESERVED_MS])) === 'ok';
    },
    async enter(aid, entry, lookAt) {
      const args = [textOf(entry), lookAt, FORMS_MAX];
      return text(await redis.run(index, [redisKeys.formDirectory(aid)], args)) === 'ok';
    },
    async commit(id, { nonce, aid, settings }) {
      return text(await redis.run(commit, [redisKeys.form(id)], [nonce, aid, settings])) === 'ok';
    },
    async putOff(aid, entry, lookAt) {
      await redis.write('ZADD', [redisKeys.formDirectory(aid), 'XX', lookAt, textOf(entry)]);
    },
    remove: removeEntry,
    entries: (aid) => range(aid, [0, -1]),
    due: (aid, now) => range(aid, ['-inf', now, 'BYSCORE', 'LIMIT', 0, STEP]),
    async removeAll(aid) {
      for (;;) {
        const own = await range(aid, [0, STEP - 1]);
        if (own.length === 0) {
          return;
        }
        await Promise.all(own.map((entry) => removeEntry(aid, entry)));
      }
    },
  };
}
