import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import type { Config } from './config.ts';
import { checkOwnFolder, ensurePrivateFolder, errorCode, hasRedisFiles } from './folder.ts';
import { runMasterKeyCommand } from './master-key-command.ts';
import { BadValue, ConfigError, rejectValue } from './reader.ts';
import { KEY_BYTES, type MasterKeyRing, parseMasterKeyFile } from './ring.ts';

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

/** The ring of the settings; undefined if it is the one of the data folder. */
async function configuredRing(config: Config): Promise<Secret<MasterKeyRing> | undefined> {
  if (config.masterKey !== undefined) {
    return config.masterKey;
  }
  if (config.masterKeyCommand !== undefined) {
    return runMasterKeyCommand(config.masterKeyCommand);
  }
  if (config.env === 'production') {
    throw new ConfigError('VAULT_MASTER_KEY', 'is required in production');
  }
  return undefined;
}

/** The ring of the file `master-key` in the data folder, or of `create`. Throws a `ConfigError`. */
function folderRing<Missing>(
  { dataDir }: Config,
  create: (path: string) => Secret<MasterKeyRing> | Missing,
): Secret<MasterKeyRing> | Missing {
  const path = join(dataDir, 'master-key');
  try {
    const existing = readKeyFile(path);
    // A new key could not decrypt the existing data, and could be mistaken for the right key.
    if (existing === undefined && hasRedisFiles(dataDir)) {
      rejectValue('is missing, but the folder contains data that is encrypted with it; restore the file');
    }
    return existing ?? create(path);
  } catch (error) {
    const reason = error instanceof BadValue ? error.message : `cannot be written (${errorCode(error)})`;
    throw new ConfigError('master-key in VAULT_DATA_DIR', reason);
  }
}

/**
 * The configured master keys, which a command may have to print first, or in staging those of the file `master-key` in the
 * data folder, which the first start creates (file mode 0600, folder mode 0700). Rejects with a `ConfigError` in production
 * without a configured key, when the command prints none, and for a key file that other users can read.
 */
export async function ensureMasterKey(config: Config): Promise<Secret<MasterKeyRing>> {
  const configured = await configuredRing(config);
  if (configured !== undefined) {
    return configured;
  }
  ensurePrivateFolder(config.dataDir, { setting: 'VAULT_DATA_DIR' });
  return folderRing(config, (path) => {
    createKeyFile(config.dataDir, path);
    return parseMasterKeyFile(path);
  });
}

/** Like `ensureMasterKey`, and creates nothing: rejects with a `StartError` if there is no master key. */
export async function existingMasterKey(config: Config): Promise<Secret<MasterKeyRing>> {
  const configured = await configuredRing(config);
  if (configured !== undefined) {
    return configured;
  }
  if (existsSync(config.dataDir)) {
    checkOwnFolder(config.dataDir, { setting: 'VAULT_DATA_DIR' });
  }
  const ring = folderRing(config, () => undefined);
  if (ring === undefined) {
    throw new StartError(
      'There is no master key here. Set VAULT_MASTER_KEY, or VAULT_DATA_DIR to a folder with the master-key file of the vault. Only a server makes a new vault.',
    );
  }
  return ring;
}
