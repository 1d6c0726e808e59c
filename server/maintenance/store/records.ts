import { type RedisLink, script } from '../../redis/client.ts';
import type { DirectoryEntry, RecordKind, Seal, Sealed, Stored } from '../../redis/records/kind.ts';
import { keyOf } from '../../redis/records/name.ts';
import { RECORD_KINDS, type RecordKinds } from '../../redis/records/registry.ts';
import replaceFieldText from '../../redis/records/replace-field-1.lua' with { type: 'text' };
import replaceRecordText from '../../redis/records/replace-record-1.lua' with { type: 'text' };
import { canScan, scanByMember, scanByScore, scanHash, scanNames } from '../../redis/records/scan.ts';
import { asBytes, asList, asText, isOk } from '../../redis/reply.ts';

const replaceField = script(replaceFieldText);
const replaceRecord = script(replaceRecordText);

/** Members of a directory per page, and keys that are read concurrently. */
const MEMBERS_STEP = 1_000;
const READ_STEP = 64;

/** An encrypted record outside of items: where it is stored, and the associated data that it must decrypt with. */
export interface FoundRecord extends Seal {
  /** Its id among the records of its label and account. */
  readonly id: string;
  readonly key: string;
  /** Its field of the hash; '' if the key is a string. */
  readonly field: string;
  readonly record: Buffer;
}

/** A key and its value; `missing`: its directory entry has no key, `foreign`: it belongs to another account. */
export interface StoredKey {
  readonly id: string;
  readonly key: string;
  readonly stored: Stored;
  readonly found: 'own' | 'missing' | 'foreign';
}

/** Encrypted records of all kinds of the registry, except those of items. */
export class RecordStore {
  readonly kinds: RecordKinds = RECORD_KINDS;

  constructor(private readonly redis: RedisLink) {}

  /**
   * Returns the encrypted records of a kind of one account, or of the vault if `aid` is empty, in pages. A record that
   * exists throughout is returned at least once. Throws if a kind can only be found by its name and Redis forbids SCAN.
   */
  async *pages(kind: RecordKind, aid: string): AsyncGenerator<readonly FoundRecord[], void, void> {
    const { sealed } = kind;
    for await (const keys of this.keys(kind, aid)) {
      const own = keys.filter(({ found }) => found === 'own');
      yield own.flatMap((key) => (sealed ? recordsIn(sealed, aid, key) : []));
    }
  }

  /** Returns the entries of the account's directory of a kind, in pages; none for a kind without a directory. */
  async *entries({ listed }: RecordKind, aid: string): AsyncGenerator<readonly DirectoryEntry[], void, void> {
    if (listed === undefined) {
      return;
    }
    const scan = listed.order === 'member' ? scanByMember : scanByScore;
    for await (const members of scan(this.redis, listed.directory.make(aid, ''), MEMBERS_STEP)) {
      yield members.flatMap((member) => listed.entryOf(asText(member)) ?? []);
    }
  }

  /** Returns the keys of a kind with their values, in pages; also entries without a key. A hash of records comes in parts. */
  async *keys(kind: RecordKind, aid: string): AsyncGenerator<readonly StoredKey[], void, void> {
    const { name, sealed, listed } = kind;
    if (sealed === undefined) {
      return;
    }
    const keyFor = async (entry: DirectoryEntry, key: string): Promise<StoredKey> => {
      const stored = await this.readStored(sealed, key);
      return { id: entry.id, key, stored, found: listed ? foundAs(kind, entry, aid, stored) : 'own' };
    };
    if (listed !== undefined) {
      for await (const entries of this.entries(kind, aid)) {
        for (const some of inSteps(entries)) {
          yield await Promise.all(some.map((entry) => keyFor(entry, keyOf(name, aid, entry.id))));
        }
      }
    } else if (name.scope === 'id') {
      for await (const names of scanNames(this.redis, name.make('*'))) {
        const keys = names.map(asText);
        yield await Promise.all(keys.map((key) => keyFor({ id: name.read(key)?.id ?? '', nonce: '' }, key)));
      }
    } else if (sealed.kind === 'entries') {
      const key = keyOf(name, aid, '');
      for await (const page of scanHash(this.redis, key)) {
        const stored = new Map(page.map(({ field, value }) => [field, value]));
        yield [{ id: '', key, stored, found: 'own' }];
      }
    } else {
      yield [await keyFor({ id: '', nonce: '' }, keyOf(name, aid, ''))];
    }
  }

  async fields(key: string): Promise<ReadonlySet<string>> {
    return new Set(asList(await this.redis.command('HKEYS', [key])).map(asText));
  }

  /** Returns the current record; undefined if it no longer exists. */
  async read({ key, field }: FoundRecord): Promise<Buffer | undefined> {
    const record = await (field === ''
      ? this.redis.command('GET', [key])
      : this.redis.command('HGET', [key, field]));
    return record === null ? undefined : asBytes(record);
  }

  /** Replaces the record if it is still the one that was found; otherwise returns false. */
  async replace({ key, field, record: read }: FoundRecord, record: Uint8Array): Promise<boolean> {
    return isOk(
      await (field === ''
        ? this.redis.run(replaceRecord, [key], [read, record])
        : this.redis.run(replaceField, [key], [field, read, record])),
    );
  }

  /** Removes those keys of a deleted account that are copied as a whole; nothing refers to them. */
  async removeWhole(aid: string): Promise<void> {
    const all: readonly RecordKind[] = Object.values(this.kinds);
    const keys = all.flatMap(({ name, backup }) =>
      name.scope === 'account' && backup === 'whole' ? [name.make(aid, '')] : [],
    );
    await this.redis.write('UNLINK', keys);
  }

  /** Returns whether Redis allows SCAN, which finds keys without a directory. */
  canScan(): Promise<boolean> {
    return canScan(this.redis);
  }

  private async readStored(sealed: Sealed, key: string): Promise<Stored> {
    const names = sealed.kind === 'fields' ? sealed.reads : [''];
    const values =
      sealed.kind === 'fields'
        ? asList(await this.redis.command('HMGET', [key, ...names]))
        : [await this.redis.command('GET', [key])];
    return new Map(
      names.flatMap((name, i) => (values[i] === null ? [] : [[name, asBytes(values[i])] as const])),
    );
  }
}

function* inSteps<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += READ_STEP) {
    yield items.slice(at, at + READ_STEP);
  }
}

function sealsOf(
  sealed: Sealed,
  aid: string,
  id: string,
  stored: Stored,
): readonly (Seal & { readonly field: string })[] {
  switch (sealed.kind) {
    case 'value':
      return [{ field: '', ...sealed.seal({ aid, id }) }];
    case 'fields':
      return sealed.seals({ aid, id }, stored);
    default:
      return [...stored.keys()].flatMap((field) => {
        const seal = sealed.seal({ aid, id: field });
        return seal ? [{ field, ...seal }] : [];
      });
  }
}

function recordsIn(sealed: Sealed, aid: string, { id, key, stored }: StoredKey): FoundRecord[] {
  return sealsOf(sealed, aid, id, stored).flatMap((seal) => {
    const record = stored.get(seal.field);
    return record ? [{ ...seal, id: seal.place.path[0] ?? '', key, record }] : [];
  });
}

/** The relation of a key to an entry. A key that is found by its id alone contains a nonce and an account. */
function foundAs(
  { name }: RecordKind,
  { nonce }: DirectoryEntry,
  aid: string,
  stored: Stored,
): StoredKey['found'] {
  const owner = name.scope === 'id' ? stored.get('a')?.toString() : aid;
  const isThere = name.scope === 'id' ? stored.get('n')?.toString() === nonce : stored.size > 0;
  return owner === undefined || !isThere ? 'missing' : owner === aid ? 'own' : 'foreign';
}
