import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../core/secret.ts';
import { readPrivateFile } from './files.ts';
import { ensurePrivateFolder, errorCode } from './folder.ts';
import { BadValue, ConfigError, type Parse, rejectValue } from './reader.ts';

/** AES-256. */
const KEY_BYTES = 32;
/** The id of a single key that was configured without an id. */
const DEFAULT_ID = 'default';

/** The master keys by id, 32 bytes each; `writeId` is the id of the one that encrypts new records. */
export interface MasterKeyRing {
  readonly writeId: string;
  readonly keys: ReadonlyMap<string, Uint8Array>;
}

/** One key in canonical base64. */
const parseKey: Parse<Uint8Array> = (text) => {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== KEY_BYTES || bytes.toString('base64') !== text) {
    return rejectValue('must contain keys of exactly 32 bytes in base64 (openssl rand -base64 32)');
  }
  if (bytes.every((byte) => byte === bytes[0])) {
    return rejectValue('must contain random keys, not one repeated byte');
  }
  return Uint8Array.from(bytes);
};

/** One `id:key` pair. */
const parseEntry: Parse<readonly [string, Uint8Array]> = (text) => {
  const [, id, key = ''] = /^([A-Za-z0-9_-]{1,32}):(.*)$/s.exec(text) ?? [];
  return id === undefined
    ? rejectValue('must contain id:key pairs, with ids of 1 to 32 characters from A-Z a-z 0-9 _ -')
    : [id, parseKey(key)];
};

/**
 * Parses a ring: one key in base64 (with the id `default`), or comma-separated `id:key` pairs, of which the first encrypts.
 * Rejects keys of another length, duplicate ids, and keys of one repeated byte.
 */
export const parseMasterKeys: Parse<Secret<MasterKeyRing>> = (text) => {
  if (!/[:,]/.test(text)) {
    return new Secret({ writeId: DEFAULT_ID, keys: new Map([[DEFAULT_ID, parseKey(text)]]) });
  }
  const entries = text.split(',').map((part) => parseEntry(part.trim()));
  const keys = new Map(entries);
  if (keys.size < entries.length) {
    return rejectValue('must not contain the same id twice');
  }
  return new Secret({ writeId: entries[0]?.[0] ?? DEFAULT_ID, keys });
};

/** Reads a ring from a file that other users cannot read. */
export const parseMasterKeyFile: Parse<Secret<MasterKeyRing>> = (text) =>
  parseMasterKeys(readPrivateFile(text).trim());

/** Syncs a directory entry to disk (fsync(2) of a file does not). */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

// The key is synced to disk before it is linked to its name, and an existing file is never replaced: two servers that
// start at the same time both use the file that was linked first.
function createKeyFile(folder: string, path: string): void {
  const draft = join(folder, `master-key.${randomBytes(8).toString('hex')}`);
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeFileSync(descriptor, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
    fsyncSync(descriptor);
    linkSync(draft, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') {
      throw error;
    }
  } finally {
    closeSync(descriptor);
    unlinkSync(draft);
  }
  syncFolder(folder);
}

/** The ring of an existing key file; undefined if there is none. */
function readKeyFile(path: string): Secret<MasterKeyRing> | undefined {
  try {
    return parseMasterKeyFile(path);
  } catch (error) {
    if (error instanceof BadValue && error.cause === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

/**
 * The configured master keys, or in staging those of the file `master-key` in the data folder, which the first start creates
 * (file mode 0600, folder mode 0700). Throws `ConfigError` in production without a configured key, and for a key file that
 * other users can read.
 */
export function ensureMasterKey(config: {
  readonly env: 'staging' | 'production';
  readonly dataDir: string;
  readonly masterKey: Secret<MasterKeyRing> | undefined;
}): Secret<MasterKeyRing> {
  if (config.masterKey !== undefined) {
    return config.masterKey;
  }
  if (config.env === 'production') {
    throw new ConfigError('VAULT_MASTER_KEY', 'is required in production');
  }
  ensurePrivateFolder(config.dataDir, { setting: 'VAULT_DATA_DIR' });
  const path = join(config.dataDir, 'master-key');
  try {
    const existing = readKeyFile(path);
    if (existing !== undefined) {
      return existing;
    }
    // A new key could not decrypt the existing data, and could be mistaken for the right key.
    if (existsSync(join(config.dataDir, 'redis', 'appendonlydir'))) {
      rejectValue('is missing, but the folder contains data that is encrypted with it; restore the file');
    }
    createKeyFile(config.dataDir, path);
    return parseMasterKeyFile(path);
  } catch (error) {
    const reason = error instanceof BadValue ? error.message : `cannot be written (${errorCode(error)})`;
    throw new ConfigError('master-key in VAULT_DATA_DIR', reason);
  }
}
