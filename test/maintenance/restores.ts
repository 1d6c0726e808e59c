/** A vault whose backups are restored into a second Redis. */
import { afterAll, beforeAll, expect } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandJson } from '../helpers/command.ts';
import { startTestRedis, type TestRedis } from '../helpers/redis.ts';
import { restoreInto } from '../helpers/restore.ts';
import { openTestVault, type TestVault, type VaultSettings } from '../helpers/vault.ts';

const MS_MAX = 60_000;

/** A key without a repeated byte, which the settings refuse; each number gives another one. */
export function masterKeyOf(number = 37): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => (at * number + 11) % 256);
}

/** What `vault backup` tells. */
export interface Made {
  readonly file: string;
  readonly made_at: string;
  readonly items: number;
  readonly keys: number;
  readonly damaged: number;
}

/** The Redis of a vault and an empty one, both with files, for the test file that calls this. */
export function useRestores() {
  let files = 0;
  let settings: VaultSettings = {};
  const used = {
    folder: '',
    source: {} as TestRedis,
    empty: {} as TestRedis,
    vault: {} as TestVault,
  };
  const restore = (file: string) => restoreInto(used.empty.target, file, used.vault);
  const openCopy = () => openTestVault({ ...settings, redis: used.empty, join: true });
  const newFile = (): string => {
    files += 1;
    return join(used.folder, `copy-${files}.backup`);
  };
  const methods = {
    /** Opens what is in the second Redis. */
    openCopy,
    restore,
    /** A path that no other file has. */
    newFile,
    /** Opens the vault, which is closed at the end. */
    async open(wanted: VaultSettings): Promise<TestVault> {
      settings = wanted;
      used.vault = await openTestVault({ ...settings, redis: used.source });
      return used.vault;
    },
    backup: (from = used.vault): Promise<Made> => commandJson<Made>(from, 'backup', newFile()),
    /** Empties the second Redis, restores into it, and opens the vault there. */
    async restored(file: string, work: (copy: TestVault) => Promise<void>): Promise<void> {
      await used.empty.flush();
      expect(await restore(file)).toMatchObject({ code: 0, err: '' });
      const copy = await openCopy();
      try {
        await work(copy);
      } finally {
        await copy.close();
      }
    },
  };
  beforeAll(async () => {
    used.folder = mkdtempSync(join(tmpdir(), 'cv-restores-'));
    [used.source, used.empty] = await Promise.all([
      startTestRedis({ durable: true }),
      startTestRedis({ durable: true }),
    ]);
  }, MS_MAX);
  afterAll(async () => {
    await used.vault.close();
    await Promise.all([used.source.stop(), used.empty.stop()]);
    rmSync(used.folder, { recursive: true, force: true });
  }, MS_MAX);
  return Object.assign(used, methods);
}
