import { CommandError } from './command.ts';

/** Reads the argument FILE as text. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await Bun.file(path).bytes());
  } catch {
    throw new CommandError('FILE cannot be read, or is not UTF-8 text.', 1);
  }
}

/** Reads the argument FILE, at most `bytesMax` bytes. */
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
