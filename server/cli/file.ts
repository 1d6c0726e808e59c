import { type SecretBytes, secretBytes } from '../core/secret.ts';
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
  } catch (error) {
    throw unreadable(error);
  }
}

/** The error for the file of an argument, with the reason of the system: `ENOENT` for one that is not there. */
export function unreadable(error: unknown): CommandError {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return new CommandError(`FILE cannot be read${code}.`, 1);
}

export const PASSPHRASE_FILE = {
  'passphrase-file': {
    kind: 'text',
    value: 'FILE',
    help: 'the passphrase of the key, as the only line of a file (standard input, or a prompt)',
  },
} as const;

async function promptHidden(label: string): Promise<string> {
  const { stdin, stderr } = process;
  // Before the label, since typing may start right after it.
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stderr.write(label);
  let text = '';
  try {
    for await (const typed of stdin) {
      for (const character of String(typed)) {
        if (character === '\u0003') {
          throw new CommandError('Stopped.', 1);
        }
        if (character === '\r' || character === '\n' || character === '\u0004') {
          return text;
        }
        text = character === '\u007f' ? text.slice(0, -1) : text + character;
      }
    }
    return text;
  } finally {
    stdin.setRawMode(false);
    stderr.write('\n');
  }
}

/** Reads a passphrase from a file, standard input or a prompt, without a final line break. */
export async function readPassphrase(path: string | undefined, label = 'Passphrase: '): Promise<SecretBytes> {
  const standardInput = (): Promise<string> => (process.stdin.isTTY ? promptHidden(label) : Bun.stdin.text());
  const text = await (path === undefined ? standardInput() : readTextFile(path));
  const passphrase = text.replace(/\r?\n$/, '');
  if (passphrase === '' || passphrase.includes('\n')) {
    throw new CommandError('The passphrase must be one line that is not empty.', 1);
  }
  return secretBytes(passphrase);
}
