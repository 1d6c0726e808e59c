import { createPublicKey } from 'node:crypto';
import { userInfo } from 'node:os';
import { version } from '../../package.json';
import type { Accounts } from '../account/accounts.ts';
import type { RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { type Account, type AccountContext, actFor, createContext } from '../request/context.ts';
import { CommandError, type Values } from './command.ts';
import { readTextFile } from './file.ts';

export const ACCOUNT = { account: { kind: 'text', value: 'NAME', help: 'the account' } } as const;

/** The option that names a vault key; `user` is the name of earlier versions. */
export function keyOption(help: string) {
  return { kind: 'text', value: 'NAME', help, other: 'user' } as const;
}

/** The option that compares the key of checkpoints with the one that the operator has kept. */
export const SIGNING_KEY = {
  kind: 'text',
  value: 'FILE',
  help: 'the public key of checkpoints that was kept (vault audit key): exit code 1 for any other',
} as const;

/** The needs of commands that act for an account. */
export interface OperatorNeeds {
  readonly accounts: Accounts;
  readonly randomId: RandomId;
}

export function operatorAgent(): string {
  return `cardvault-cli/${version} (${userInfo().username})`;
}

export function checkAccount({ account }: Values<typeof ACCOUNT>): void {
  if (account === undefined) {
    throw new CommandError('Give the account with --account NAME.', 2);
  }
}

/** Returns what was found of an account. Throws an error for undefined. */
export function existing<Found>(found: Found | undefined): Found {
  if (found === undefined) {
    throw new CommandError('No account has this name.', 1);
  }
  return found;
}

/** Returns the account that a command acts for. */
export async function accountOf(
  { accounts }: { readonly accounts: Accounts },
  { account = '' }: Values<typeof ACCOUNT>,
): Promise<Account> {
  return existing(await accounts.lookUp(account));
}

export async function contextOf(
  needs: OperatorNeeds,
  options: Values<typeof ACCOUNT>,
): Promise<AccountContext> {
  const requestId = needs.randomId();
  const origin = { requestId, ip: 'local', userAgent: operatorAgent(), source: 'vault' } as const;
  return actFor(createContext(origin), await accountOf(needs, options));
}

/** Runs `work`; an error that callers of the API would see becomes one of the command. */
export async function withCommandErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof VaultError && error.status < 500 ? new CommandError(error.message, 1) : error;
  }
}

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

/** Rejects if checkpoints are signed by another key than the one in the file; does nothing without a file. */
export async function checkSigningKey(
  { crypto }: { readonly crypto: { readonly auditKey: () => Promise<string> } },
  path: string | undefined,
): Promise<void> {
  if (path !== undefined && !derOf(await readTextFile(path)).equals(derOf(await crypto.auditKey()))) {
    throw new CommandError(
      'The key that signs checkpoints is not the one in FILE: whoever has replaced it can have signed other logs. Stop the servers, and compare the root record with a backup.',
      1,
    );
  }
}
