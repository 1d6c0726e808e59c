import { chmodSync, existsSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './reader.ts';

const FOLDER_MODE = 0o700;

interface FolderOptions {
  /** The name of the setting, for errors. */
  readonly setting: string;
  /** False rejects a symbolic link. */
  readonly followLink?: boolean;
}

/**
 * Checks that a folder belongs to this user, and that no others can write to it; returns its mode. Throws a `ConfigError`, with
 * the name of the setting, for any other folder (such as /tmp), and for one that is missing.
 */
export function checkOwnFolder(path: string, { setting, followLink }: FolderOptions): number {
  try {
    const stat = lstatSync(followLink === false ? path : `${path}/`);
    if (!stat.isDirectory()) {
      throw new ConfigError(setting, 'is not a folder');
    }
    if (stat.uid !== process.getuid?.()) {
      throw new ConfigError(setting, 'is a folder of another user');
    }
    if ((stat.mode & 0o022) !== 0) {
      throw new ConfigError(setting, 'is a folder that other users can write to');
    }
    return stat.mode;
  } catch (error) {
    throw unusable(error, setting);
  }
}

/** Ensures that a folder exists and only this user has access (mode 0700). Throws a `ConfigError` as `checkOwnFolder` does. */
export function ensurePrivateFolder(path: string, options: FolderOptions): void {
  try {
    mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
    if ((checkOwnFolder(path, options) & 0o077) !== 0) {
      chmodSync(path, FOLDER_MODE);
    }
  } catch (error) {
    throw unusable(error, options.setting);
  }
}

function unusable(error: unknown, setting: string): ConfigError {
  return error instanceof ConfigError
    ? error
    : new ConfigError(setting, `cannot be used as a folder (${errorCode(error)})`);
}

/** True if the embedded Redis of a data folder has written its files. */
export function hasRedisFiles(dataDir: string): boolean {
  return existsSync(join(dataDir, 'redis', 'appendonlydir'));
}

/** The code of a system error (`ENOENT`), which contains no path. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'unknown error';
}
