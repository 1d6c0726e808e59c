import { CommandError } from './command.ts';

/** The text of a file that the operator named as FILE. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await Bun.file(path).bytes());
  } catch {
    throw new CommandError('FILE cannot be read, or is not UTF-8 text.', 1);
  }
}
