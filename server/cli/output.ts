import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../config/folder.ts';
import { CommandError, type Output } from './command.ts';

export interface OpenOutput extends Output {
  /** Removes an uncommitted file; does nothing after a commit. */
  readonly discard: () => Promise<void>;
}

/** Rejects with a message for the operator; the code of a system error contains no path. */
function fail(error: unknown): never {
  if (error instanceof CommandError) {
    throw error;
  }
  const code = errorCode(error);
  throw new CommandError(
    code === 'EEXIST' ? 'FILE already exists; it is never overwritten.' : `FILE cannot be written (${code}).`,
    1,
  );
}

/** Writes all bytes: one call may write only a part. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at)).bytesWritten;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Opens a new file of mode 0600. It is linked to its name when complete and synced, never over another file. */
export async function openFileOutput(given: string): Promise<OpenOutput> {
  const path = resolve(given);
  // A random name, so that two commands can write to the same folder.
  const part = `${path}.part-${randomBytes(6).toString('hex')}`;
  if (existsSync(path)) {
    fail(new CommandError('FILE already exists; it is never overwritten.', 1));
  }
  const file = await open(part, 'wx', 0o600).catch(fail);
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
    write: (piece) => writeAll(file, typeof piece === 'string' ? Buffer.from(piece) : piece).catch(fail),
    async commit() {
      try {
        await file.sync();
        await link(part, path);
        await syncFolder(path);
      } catch (error) {
        fail(error);
      } finally {
        await discard();
      }
    },
  };
}
