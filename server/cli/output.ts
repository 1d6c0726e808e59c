import { randomBytes } from 'node:crypto';
import { type FileHandle, link, open, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../config/folder.ts';
import { CommandError, type Output } from './commands/command.ts';

/** An output that can be given up. */
export interface OpenOutput extends Output {
  /** Removes what was written so far; does nothing behind a commit. */
  readonly discard: () => Promise<void>;
}

const refuse = (error: unknown): never => {
  if (error instanceof CommandError) {
    throw error;
  }
  const code = errorCode(error);
  throw new CommandError(
    code === 'EEXIST'
      ? 'FILE is already there; it is never written over.'
      : `FILE cannot be written (${code}).`,
    1,
  );
};

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const writeAll = async (file: FileHandle, bytes: Uint8Array): Promise<void> => {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at)).bytesWritten;
  }
};

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/**
 * Opens a new file of mode 0600. It is written under a name of its own beside the wanted one, synced, and only then
 * linked to that, which fails when there is a file by now: nothing is ever written over, and whoever sees the name
 * sees the whole file.
 */
export const openFileOutput = async (given: string): Promise<OpenOutput> => {
  const path = resolve(given);
  const part = `${path}.part-${randomBytes(6).toString('hex')}`;
  if (await isThere(path)) {
    refuse(new CommandError('FILE is already there; it is never written over.', 1));
  }
  const file = await open(part, 'wx', 0o600).catch(refuse);
  let isOver = false;
  const discard = async (): Promise<void> => {
    if (!isOver) {
      isOver = true;
      await file.close().catch(() => undefined);
      await rm(part, { force: true });
    }
  };
  return {
    discard,
    write: (piece) => writeAll(file, typeof piece === 'string' ? Buffer.from(piece) : piece).catch(refuse),
    async commit() {
      try {
        await file.sync();
        await link(part, path);
        await syncFolder(path);
      } catch (error) {
        refuse(error);
      } finally {
        await discard();
      }
    },
  };
};
