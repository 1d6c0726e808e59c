import type { RecordStore } from '../maintenance/store/records.ts';
import type { RedisLink } from '../redis/client.ts';
import type { DirectoryEntry, RecordKind, Stored } from '../redis/records/kind.ts';
import { keyOf } from '../redis/records/name.ts';
import { scanNames } from '../redis/records/scan.ts';
import type { BackupRecord } from './record.ts';
import type { CopiedKey, CopyStore } from './store.ts';

/** Keys that are read concurrently. */
const STEP = 100;

/** What copying keys by their registry entries needs. */
export interface KindCopying {
  readonly redis: RedisLink;
  readonly recordStore: Pick<RecordStore, 'entries' | 'kinds'>;
  readonly copies: CopyStore;
  readonly add: (record: BackupRecord) => Promise<void>;
}

/** The fields of a hash by name; undefined for another type of key. */
export function fieldsOf({ kind, parts }: Pick<CopiedKey, 'kind' | 'parts'>): Stored | undefined {
  return kind === 'hash'
    ? new Map(parts.flatMap((part, at) => (at % 2 === 0 ? [[String(part), parts[at + 1] ?? part]] : [])))
    : undefined;
}

/** The kinds of the registry that `wanted` accepts. */
function kindsBy(
  { recordStore }: KindCopying,
  wanted: (kind: RecordKind) => boolean | undefined,
): readonly RecordKind[] {
  return Object.values(recordStore.kinds).filter(wanted);
}

/** A key as a restored vault must have it. */
function asRestored({ restored }: RecordKind, copied: CopiedKey): BackupRecord {
  const stored = fieldsOf(copied);
  return stored && restored
    ? {
        ...copied,
        parts: [...restored(stored)].flatMap(([name, value]) => [Buffer.from(name), value]),
      }
    : copied;
}

/** Copies those keys of a kind that exist and that `isWanted` accepts, in steps. */
async function copyKeys<Key extends { readonly name: string }>(
  { copies, add }: KindCopying,
  kind: RecordKind,
  keys: readonly Key[],
  isWanted: (copied: CopiedKey, key: Key) => boolean,
): Promise<void> {
  for (let at = 0; at < keys.length; at += STEP) {
    const step = keys.slice(at, at + STEP);
    const found = await Promise.all(
      step.map(async (key) => ({ key, copied: await copies.keys([key.name]) })),
    );
    for (const { key, copied } of found) {
      for (const one of copied.filter((copy) => isWanted(copy, key))) {
        await add(asRestored(kind, one));
      }
    }
  }
}

/**
 * Whether a key that is found by its id alone belongs to this entry. A reservation has no account yet; it expires.
 */
function isOfEntry({ name }: RecordKind, copied: CopiedKey, { nonce }: DirectoryEntry): boolean {
  const stored = name.scope === 'id' ? fieldsOf(copied) : undefined;
  return name.scope !== 'id' || (stored?.has('a') === true && stored.get('n')?.toString() === nonce);
}

/**
 * Copies the directories of an account, each before the keys that it names. A key that is created later is not in the
 * directory that was read; a deleted one leaves an entry that the sweep removes. So a copy never contains a key that
 * no directory names.
 */
export async function copyListed(copying: KindCopying, aid: string): Promise<void> {
  const { copies, add } = copying;
  for (const directory of kindsBy(copying, ({ backup }) => backup === 'directory')) {
    const [copied] = await copies.keys([keyOf(directory.name, aid, '')]);
    if (copied === undefined) {
      continue;
    }
    await add(copied);
    const members = copied.parts.filter((_, at) => at % 2 === 0).map(String);
    // Keys that this directory contains.
    const named = kindsBy(
      copying,
      ({ backup, listed }) => backup === 'listed' && listed?.directory === directory.name,
    );
    for (const kind of named) {
      const entries = members.flatMap((member) => kind.listed?.entryOf(member) ?? []);
      const keys = entries.map((entry) => ({ ...entry, name: keyOf(kind.name, aid, entry.id) }));
      // Several entries may lead to the same key.
      const unique = [...new Map(keys.map((key) => [`${key.nonce} ${key.name}`, key])).values()];
      await copyKeys(copying, kind, unique, (found, entry) => isOfEntry(kind, found, entry));
    }
  }
}

/** Copies expiring keys that no directory names. They are copied before everything that they refer to. */
export async function copyScanned(copying: KindCopying): Promise<void> {
  const scanned = kindsBy(copying, ({ backup, isUnlisted }) => backup === 'scanned' || isUnlisted);
  for (const kind of scanned) {
    for await (const names of scanNames(copying.redis, keyOf(kind.name, '*', '*'))) {
      const keys = names.map((name) => ({ name: String(name) }));
      await copyKeys(copying, kind, keys, (found) => found.kind === 'hash' && found.expiresAt > 0);
    }
  }
}

/** Copies the single keys of an account, or of the vault if `aid` is empty, and the keys `others`. */
export async function copyWhole(
  copying: KindCopying,
  aid: string,
  others: readonly string[] = [],
): Promise<void> {
  const scope = aid === '' ? 'vault' : 'account';
  const whole = kindsBy(copying, ({ name, backup }) => name.scope === scope && backup === 'whole');
  const names = [...whole.map((kind) => keyOf(kind.name, aid, '')), ...others];
  // The keys of the vault are in different slots of a Cluster.
  const pages = scope === 'vault' ? names.map((name) => [name]) : [names];
  for (const page of pages) {
    for (const key of await copying.copies.keys(page)) {
      await copying.add(key);
    }
  }
}
