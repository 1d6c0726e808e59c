import type { RecordStore } from '../maintenance/store/records.ts';
import type { DirectoryEntry, RecordKind, Stored } from '../redis/records/kind.ts';
import { keyOf } from '../redis/records/name.ts';
import { type BackupRecord, recordOf } from './record.ts';
import type { BackupStore, CopiedKey } from './store.ts';

/** Keys that are read concurrently. */
const STEP = 100;
/** The target size of a record. A longer hash becomes several records, which a restore merges. */
const RECORD_BYTES = 256 * 1_024;

/** The destination of one copy, and its counts. */
export class CopySink {
  items = 0;
  /** Records that cannot be decrypted; they are copied unchanged. */
  damaged = 0;

  constructor(
    readonly add: (record: BackupRecord) => Promise<void>,
    private readonly seen: (items: number) => void,
  ) {}

  /** Adds a hash, as several records if it is long. `parts` are fields and values in turn. */
  async addHash(key: string, parts: readonly Uint8Array[]): Promise<void> {
    let from = 0;
    let size = 0;
    for (let at = 0; at < parts.length; at += 2) {
      size += (parts[at]?.length ?? 0) + (parts[at + 1]?.length ?? 0);
      if (size > RECORD_BYTES || at + 2 >= parts.length) {
        await this.add(recordOf('hash', key, parts.slice(from, at + 2)));
        from = at + 2;
        size = 0;
      }
    }
  }

  countItems(items: number): void {
    this.items += items;
    this.seen(this.items);
  }

  countDamaged(): void {
    this.damaged += 1;
  }
}

/** Copies keys by their registry entries. */
export class KindCopy {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly backupStore: BackupStore,
    private readonly sink: CopySink,
  ) {}

  /**
   * Copies the directories of an account, each before the keys that it names. A key that is created later is not in the
   * directory that was read; a deleted one leaves an entry that the sweep removes. So a copy never contains a key that
   * no directory names.
   */
  async copyListed(aid: string): Promise<void> {
    for (const directory of this.kinds(({ backup }) => backup === 'directory')) {
      const [copied] = await this.backupStore.keys([keyOf(directory.name, aid, '')]);
      if (copied === undefined) {
        continue;
      }
      await this.sink.add(copied);
      const members = copied.parts.filter((_, at) => at % 2 === 0).map(String);
      // Keys that this directory contains.
      const named = this.kinds(
        ({ backup, listed }) => backup === 'listed' && listed?.directory === directory.name,
      );
      for (const kind of named) {
        const entries = members.flatMap((member) => kind.listed?.entryOf(member) ?? []);
        const keys = entries.map((entry) => ({ ...entry, name: keyOf(kind.name, aid, entry.id) }));
        // Several entries may lead to the same key.
        const unique = [...new Map(keys.map((key) => [`${key.nonce} ${key.name}`, key])).values()];
        await this.copyKeys(kind, unique, (found, entry) => isOfEntry(kind, found, entry));
      }
    }
  }

  /** Copies expiring keys that no directory names. They are copied before everything that they refer to. */
  async copyScanned(): Promise<void> {
    for (const kind of this.kinds(({ backup, isUnlisted }) => backup === 'scanned' || isUnlisted)) {
      for await (const names of this.backupStore.names(keyOf(kind.name, '*', '*'))) {
        const keys = names.map((name) => ({ name: String(name) }));
        await this.copyKeys(kind, keys, (found) => found.kind === 'hash' && found.expiresAt > 0);
      }
    }
  }

  /** Copies the single keys of an account, or of the vault if `aid` is empty, and the keys `others`. */
  async copyWhole(aid: string, others: readonly string[] = []): Promise<void> {
    const scope = aid === '' ? 'vault' : 'account';
    const whole = this.kinds(({ name, backup }) => name.scope === scope && backup === 'whole');
    const names = [...whole.map((kind) => keyOf(kind.name, aid, '')), ...others];
    // The keys of the vault are in different slots of a Cluster.
    const pages = scope === 'vault' ? names.map((name) => [name]) : [names];
    for (const page of pages) {
      for (const key of await this.backupStore.keys(page)) {
        await this.sink.add(key);
      }
    }
  }

  /** Copies those keys of a kind that exist and that `isWanted` accepts, in steps. */
  private async copyKeys<Key extends { readonly name: string }>(
    kind: RecordKind,
    keys: readonly Key[],
    isWanted: (copied: CopiedKey, key: Key) => boolean,
  ): Promise<void> {
    for (let at = 0; at < keys.length; at += STEP) {
      const step = keys.slice(at, at + STEP);
      const found = await Promise.all(
        step.map(async (key) => ({ key, copied: await this.backupStore.keys([key.name]) })),
      );
      for (const { key, copied } of found) {
        for (const one of copied.filter((copy) => isWanted(copy, key))) {
          await this.sink.add(asRestored(kind, one));
        }
      }
    }
  }

  private kinds(isWanted: (kind: RecordKind) => boolean | undefined): readonly RecordKind[] {
    return Object.values(this.recordStore.kinds).filter(isWanted);
  }
}

/** The fields of a hash by name; undefined for another type of key. */
export function fieldsOf({ kind, parts }: Pick<CopiedKey, 'kind' | 'parts'>): Stored | undefined {
  return kind === 'hash'
    ? new Map(parts.flatMap((part, at) => (at % 2 === 0 ? [[String(part), parts[at + 1] ?? part]] : [])))
    : undefined;
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

/**
 * Whether a key that is found by its id alone belongs to this entry. A reservation has no account yet; it expires.
 */
function isOfEntry({ name }: RecordKind, copied: CopiedKey, { nonce }: DirectoryEntry): boolean {
  const stored = name.scope === 'id' ? fieldsOf(copied) : undefined;
  return name.scope !== 'id' || (stored?.has('a') === true && stored.get('n')?.toString() === nonce);
}
