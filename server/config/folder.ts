import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { ConfigError } from './reader.ts';

const FOLDER_MODE = 0o700;

/**
 * Ensures that a folder exists and only this user has access (mode 0700). Throws a `ConfigError`, with the name of
 * the setting, for a folder of another user, a folder that others can write to (such as /tmp), and a symbolic link if
 * `followLink` is false.
 */
export function ensurePrivateFolder(
  path: string,
  options: { readonly setting: string; readonly followLink?: boolean },
): void {
  try {
    mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
    const stat = lstatSync(options.followLink === false ? path : `${path}/`);
    if (!stat.isDirectory()) {
      throw new ConfigError(options.setting, 'is not a folder');
    }
    if (stat.uid !== process.getuid?.()) {
      throw new ConfigError(options.setting, 'is a folder of another user');
    }
    if ((stat.mode & 0o022) !== 0) {
      throw new ConfigError(options.setting, 'is a folder that other users can write to');
    }
    if ((stat.mode & 0o077) !== 0) {
      chmodSync(path, FOLDER_MODE);
    }
  } catch (error) {
    if (error instanceof ConfigError) {
      throw error;
    }
    throw new ConfigError(options.setting, `cannot be used as a folder (${errorCode(error)})`);
  }
}

/** The code of a system error (`ENOENT`), which contains no path. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'unknown error';
}
