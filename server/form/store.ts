import { type RedisLink, script } from '../redis/client.ts';
import { DirectoryStore, FIRST_CHECK_MS } from '../redis/records/directory.ts';
import { redisKeys } from '../redis/records/keys.ts';
import type { DirectoryEntry } from '../redis/records/kind.ts';
import { formEntry } from '../redis/records/registry.ts';
import { asBytes, asList, asText, isOk } from '../redis/reply.ts';
import indexText from './index-form-1.lua' with { type: 'text' };
import replaceText from './replace-form-1.lua' with { type: 'text' };

const replace = script(replaceText);
const index = script(indexText);

const FORMS_MAX = 10_000;

export interface StoredForm {
  readonly nonce: string;
  readonly aid: string;
  readonly settings: Uint8Array;
}

export class FormStore extends DirectoryStore<DirectoryEntry> {
  constructor(redis: RedisLink) {
    super(redis, redisKeys.form, redisKeys.formDirectory, { textOf, entryOf: formEntry });
  }

  /** Returns a form; undefined if it does not exist or its id is only reserved. */
  async read(id: string): Promise<StoredForm | undefined> {
    const [nonce, aid, settings] = asList(
      await this.redis.command('HMGET', [redisKeys.form(id), 'n', 'a', 's']),
    );
    return aid === null || aid === undefined
      ? undefined
      : { nonce: asText(nonce), aid: asText(aid), settings: asBytes(settings) };
  }

  /** Adds an entry to the directory; returns false if that is full. */
  async enter(aid: string, entry: DirectoryEntry, now: number): Promise<boolean> {
    const args = [textOf(entry), now + FIRST_CHECK_MS, FORMS_MAX];
    return isOk(await this.redis.run(index, [redisKeys.formDirectory(aid)], args));
  }

  /** Turns a reservation into a form; returns false if the reservation has expired. */
  commit(id: string, { nonce, aid, settings }: StoredForm): Promise<boolean> {
    return this.commitFields(id, nonce, aid, 's', settings);
  }

  /** Replaces the settings of a form; returns false if it no longer exists. */
  async replace(id: string, { nonce, aid, settings }: StoredForm): Promise<boolean> {
    return isOk(await this.redis.run(replace, [redisKeys.form(id)], [nonce, aid, settings]));
  }

  /** Removes a form if it belongs to the account, and its entry. */
  override async remove(aid: string, entry: DirectoryEntry): Promise<boolean> {
    const isRemoved = await this.removeObject(aid, entry);
    await this.redis.write('ZREM', [redisKeys.formDirectory(aid), textOf(entry)]);
    return isRemoved;
  }
}

function textOf({ nonce, id }: DirectoryEntry): string {
  return `${nonce} ${id}`;
}
