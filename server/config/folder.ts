import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { ConfigError } from './reader.ts';

const FOLDER_MODE = 0o700;

/**
 * Makes sure that a folder exists and that nobody but this user gets into it (mode 0700). An existing folder
 * of ours is closed to others; one that belongs to another user, that others may write to (such as /tmp), or
 * that is a symbolic link where `followLink` is false, is refused with an error that names the setting.
 */
export const ensurePrivateFolder = (
  path: string,
  options: { readonly setting: string; readonly followLink?: boolean },
): void => {
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
      throw new ConfigError(options.setting, 'is a folder that other users may write to');
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
};

/** The system's name of a file error (`ENOENT`), which says why without repeating a path. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';
