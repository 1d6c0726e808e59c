import { createPublicKey } from 'node:crypto';
import type { Session } from '../boot/open.ts';
import { CommandError } from './command.ts';
import { readTextFile } from './file.ts';

/** The option that compares the key of checkpoints with the one that the operator has kept. */
export const SIGNING_KEY = {
  kind: 'text',
  value: 'FILE',
  help: 'the public key of checkpoints that was kept (vault audit key): exit code 1 for any other',
} as const;

function derOf(pem: string): Buffer {
  try {
    return createPublicKey(pem).export({ format: 'der', type: 'spki' });
  } catch {
    throw new CommandError(
      '--signing-key must be a file with a public key in PEM, as vault audit key prints it.',
      2,
    );
  }
}

/** Rejects when checkpoints are signed by another key than the one in the file; does nothing without a file. */
export async function checkSigningKey({ vault }: Session, path: string | undefined): Promise<void> {
  if (path !== undefined && !derOf(await readTextFile(path)).equals(derOf(await vault.crypto.auditKey()))) {
    throw new CommandError(
      'The key that signs checkpoints is not the one in FILE: whoever has replaced it can have signed other logs. Stop the servers, and compare the root record with a backup.',
      1,
    );
  }
}
