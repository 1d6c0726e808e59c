import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../core/secret.ts';
import { readPrivateFile } from './files.ts';
import { ensurePrivateFolder, errorCode } from './folder.ts';
import { BadValue, ConfigError, type Parse, refuse } from './reader.ts';

const KEY_BYTES = 32;
const DEFAULT_ID = 'default';

/** The service master keys: the one that writes, and by id all that can be read. Each is 32 bytes. */
export interface MasterKeyRing {
  readonly writeId: string;
  readonly keys: ReadonlyMap<string, Uint8Array>;
}

const parseKey: Parse<Uint8Array> = (text) => {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== KEY_BYTES || bytes.toString('base64') !== text) {
    return refuse('must hold keys of exactly 32 bytes in base64 (openssl rand -base64 32)');
  }
  if (bytes.every((byte) => byte === bytes[0])) {
    return refuse('must hold random keys, not one byte repeated');
  }
  return Uint8Array.from(bytes);
};

const parseEntry: Parse<readonly [string, Uint8Array]> = (text) => {
  const [, id, key = ''] = /^([A-Za-z0-9_-]{1,32}):(.*)$/s.exec(text) ?? [];
  return id === undefined
    ? refuse('must hold id:key pairs, ids of 1 to 32 A-Z a-z 0-9 _ -')
    : [id, parseKey(key)];
};

/**
 * Reads a ring: one key in base64 (its id is `default`), or `id:key` pairs, comma-separated, of which the
 * first writes. Refuses keys of another length, repeated ids, and keys that cannot be random.
 */
export const parseMasterKeys: Parse<Secret<MasterKeyRing>> = (text) => {
  if (!/[:,]/.test(text)) {
    return new Secret({ writeId: DEFAULT_ID, keys: new Map([[DEFAULT_ID, parseKey(text)]]) });
  }
  const entries = text.split(',').map((part) => parseEntry(part.trim()));
  const keys = new Map(entries);
  if (keys.size < entries.length) {
    return refuse('must not hold the same id twice');
  }
  return new Secret({ writeId: entries[0]?.[0] ?? DEFAULT_ID, keys });
};

/** Reads `VAULT_MASTER_KEY_FILE`: a ring in a file that only its owner may read. */
export const parseMasterKeyFile: Parse<Secret<MasterKeyRing>> = (text) =>
  parseMasterKeys(readPrivateFile(text).trim());

const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
};

// The key is complete on disk before it gets its name, and a name that is taken is never replaced: of two
// servers that start at once, both use the file of the one that linked first.
const createKeyFile = (folder: string, path: string): void => {
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
};

const readKeyFile = (path: string): Secret<MasterKeyRing> | undefined => {
  try {
    return parseMasterKeyFile(path);
  } catch (error) {
    if (error instanceof BadValue && error.cause === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
};

/**
 * The master keys to work with: the configured ones, or in staging those of `master-key` in the data folder,
 * which is made on the first start (file mode 0600, folder mode 0700). Refuses production without a
 * configured key, and a key file that others may read.
 */
export const ensureMasterKey = (config: {
  readonly env: 'staging' | 'production';
  readonly dataDir: string;
  readonly masterKey: Secret<MasterKeyRing> | undefined;
}): Secret<MasterKeyRing> => {
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
    // A new key beside old data would open nothing, and could be taken for the right one.
    if (existsSync(join(config.dataDir, 'redis', 'appendonlydir'))) {
      refuse('is missing, but there is data that was sealed with it; put it back');
    }
    createKeyFile(config.dataDir, path);
    return parseMasterKeyFile(path);
  } catch (error) {
    const reason = error instanceof BadValue ? error.message : `cannot be written (${errorCode(error)})`;
    throw new ConfigError('master-key in VAULT_DATA_DIR', reason);
  }
};
