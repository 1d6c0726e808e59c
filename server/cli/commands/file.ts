import type { SecretBytes } from '../../core/secret.ts';
import { secretBytes } from '../../http/plugins/passphrase.ts';
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

/** The option that names the file of a passphrase. */
export const PASSPHRASE_FILE = {
  'passphrase-file': {
    kind: 'text',
    value: 'FILE',
    help: 'the passphrase of the key, as the only line of a file (standard input)',
  },
} as const;

/** The passphrase of a file, or of standard input; a line break at its end is not part of it. */
export async function readPassphrase(path: string | undefined): Promise<SecretBytes> {
  if (path === undefined && process.stdin.isTTY) {
    throw new CommandError('Give --passphrase-file FILE, or the passphrase as standard input.', 2);
  }
  const text = path === undefined ? await Bun.stdin.text() : await readTextFile(path);
  const passphrase = text.replace(/\r?\n$/, '');
  if (passphrase === '' || passphrase.includes('\n')) {
    throw new CommandError('The passphrase must be one line that is not empty.', 1);
  }
  return secretBytes(passphrase);
}
