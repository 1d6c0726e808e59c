import { type RedisLink, script } from '../../redis/client.ts';
import type { DirectoryEntry, RecordKind, Seal, Sealed, Stored } from '../../redis/records/kind.ts';
import { keyOf } from '../../redis/records/name.ts';
import { RECORD_KINDS, type RecordKinds } from '../../redis/records/registry.ts';
import replaceFieldText from '../../redis/records/replace-field-1.lua' with { type: 'text' };
import replaceRecordText from '../../redis/records/replace-record-1.lua' with { type: 'text' };
import { canScan, scanByMember, scanByScore, scanHash, scanNames } from '../../redis/records/scan.ts';
import { asBytes, asList, asText } from '../../redis/reply.ts';

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

/**
 * A key and its value. `missing`: the entry of its directory has no key; `foreign`: the key belongs to another
 * account.
 */
export interface StoredKey {
  readonly id: string;
  readonly key: string;
  readonly stored: Stored;
  readonly found: 'own' | 'missing' | 'foreign';
}

/** Encrypted records of all kinds of the registry, except those of items. */
export interface RecordStore {
  readonly kinds: RecordKinds;
  /**
   * The encrypted records of a kind of one account, or of the vault if `aid` is empty, in pages. A record that exists
   * throughout is returned at least once. Throws if a kind can only be found by its name and Redis forbids SCAN.
   */
  pages(kind: RecordKind, aid: string): AsyncGenerator<readonly FoundRecord[], void, void>;
  /** The entries of the account's directory of a kind, in pages; none for a kind without a directory. */
  entries(kind: RecordKind, aid: string): AsyncGenerator<readonly DirectoryEntry[], void, void>;
  /** The keys of a kind with encrypted records, in pages; includes missing keys of directory entries. */
  keys(kind: RecordKind, aid: string): AsyncGenerator<readonly StoredKey[], void, void>;
  /** The field names of a hash. */
  fields(key: string): Promise<ReadonlySet<string>>;
  /** The current record; undefined if it no longer exists. */
  read(found: FoundRecord): Promise<Buffer | undefined>;
  /** Replaces the record if it is still the one that was found; otherwise returns false. */
  replace(found: FoundRecord, record: Uint8Array): Promise<boolean>;
  /** Removes those keys of a deleted account that are copied as a whole; nothing refers to them. */
  removeWhole(aid: string): Promise<void>;
  /** Whether Redis allows SCAN, which finds keys without a directory. */
  canScan(): Promise<boolean>;
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

async function readStored(redis: RedisLink, sealed: Sealed, key: string): Promise<Stored> {
  const names = sealed.kind === 'fields' ? sealed.reads : [''];
  const values =
    sealed.kind === 'fields'
      ? asList(await redis.command('HMGET', [key, ...names]))
      : [await redis.command('GET', [key])];
  return new Map(
    names.flatMap((name, i) => (values[i] === null ? [] : [[name, asBytes(values[i])] as const])),
  );
}

/** Whether a key belongs to an entry. A key that is found by its id alone contains a nonce and an account. */
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

async function* entriesOf(
  redis: RedisLink,
  { listed }: RecordKind,
  aid: string,
): AsyncGenerator<readonly DirectoryEntry[], void, void> {
  if (listed === undefined) {
    return;
  }
  const scan = listed.order === 'member' ? scanByMember : scanByScore;
  for await (const members of scan(redis, listed.directory.make(aid, ''), MEMBERS_STEP)) {
    yield members.flatMap((member) => listed.entryOf(asText(member)) ?? []);
  }
}

/**
 * Keys of a kind with encrypted records, with their values. A hash of which each field is a record is returned in
 * parts.
 */
async function* keysOf(
  redis: RedisLink,
  kind: RecordKind,
  aid: string,
): AsyncGenerator<readonly StoredKey[], void, void> {
  const { name, sealed, listed } = kind;
  if (sealed === undefined) {
    return;
  }
  const keyFor = async (entry: DirectoryEntry, key: string): Promise<StoredKey> => {
    const stored = await readStored(redis, sealed, key);
    return { id: entry.id, key, stored, found: listed ? foundAs(kind, entry, aid, stored) : 'own' };
  };
  if (listed !== undefined) {
    for await (const entries of entriesOf(redis, kind, aid)) {
      for (const some of inSteps(entries)) {
        yield await Promise.all(some.map((entry) => keyFor(entry, keyOf(name, aid, entry.id))));
      }
    }
  } else if (name.scope === 'id') {
    for await (const names of scanNames(redis, name.make('*'))) {
      const keys = names.map(asText);
      yield await Promise.all(keys.map((key) => keyFor({ id: name.read(key)?.id ?? '', nonce: '' }, key)));
    }
  } else if (sealed.kind === 'entries') {
    const key = keyOf(name, aid, '');
    for await (const page of scanHash(redis, key)) {
      const stored = new Map(page.map(({ field, value }) => [field, value]));
      yield [{ id: '', key, stored, found: 'own' }];
    }
  } else {
    yield [await keyFor({ id: '', nonce: '' }, keyOf(name, aid, ''))];
  }
}

async function* pagesOf(
  redis: RedisLink,
  kind: RecordKind,
  aid: string,
): AsyncGenerator<readonly FoundRecord[], void, void> {
  for await (const keys of keysOf(redis, kind, aid)) {
    const own = keys.filter(({ found }) => found === 'own');
    yield own.flatMap((key) => (kind.sealed ? recordsIn(kind.sealed, aid, key) : []));
  }
}

async function readRecord(redis: RedisLink, { key, field }: FoundRecord): Promise<Buffer | undefined> {
  const record = await (field === '' ? redis.command('GET', [key]) : redis.command('HGET', [key, field]));
  return record === null ? undefined : asBytes(record);
}

async function replace(redis: RedisLink, found: FoundRecord, record: Uint8Array): Promise<boolean> {
  const { key, field, record: read } = found;
  const reply = await (field === ''
    ? redis.run(replaceRecord, [key], [read, record])
    : redis.run(replaceField, [key], [field, read, record]));
  return asText(reply) === 'ok';
}

async function removeWhole(redis: RedisLink, kinds: RecordKinds, aid: string): Promise<void> {
  const all: readonly RecordKind[] = Object.values(kinds);
  const keys = all.flatMap(({ name, backup }) =>
    name.scope === 'account' && backup === 'whole' ? [name.make(aid, '')] : [],
  );
  await redis.write('UNLINK', keys);
}

/** The records of the kinds of a registry, by default of all kinds. */
export function createRecordStore(redis: RedisLink, kinds: RecordKinds = RECORD_KINDS): RecordStore {
  return {
    kinds,
    pages: (kind, aid) => pagesOf(redis, kind, aid),
    entries: (kind, aid) => entriesOf(redis, kind, aid),
    keys: (kind, aid) => keysOf(redis, kind, aid),
    fields: async (key) => new Set(asList(await redis.command('HKEYS', [key])).map(asText)),
    read: (found) => readRecord(redis, found),
    replace: (found, record) => replace(redis, found, record),
    removeWhole: (aid) => removeWhole(redis, kinds, aid),
    canScan: () => canScan(redis),
  };
}
