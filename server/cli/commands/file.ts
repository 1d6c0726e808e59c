import { CommandError } from './command.ts';

/** Reads the file of an argument as UTF-8. Rejects malformed text. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await Bun.file(path).bytes());
  } catch {
    throw new CommandError('FILE cannot be read, or is not UTF-8 text.', 1);
  }
}

/** Reads the file of an argument. Rejects a file of more than `bytesMax` bytes. */
export async function readBinaryFile(path: string, bytesMax: number): Promise<Uint8Array> {
  const file = Bun.file(path);
  if (file.size > bytesMax) {
    throw new CommandError(`FILE is larger than ${bytesMax} bytes.`, 1);
  }
  try {
    return await file.bytes();
  } catch {
    throw new CommandError('FILE cannot be read.', 1);
  }
}
