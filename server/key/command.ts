import { CommandError, defineCommand, type Result, type Values } from '../cli/command.ts';
import { PASSPHRASE_FILE, readPassphrase, readTextFile } from '../cli/file.ts';
import {
  ACCOUNT,
  checkAccount,
  contextOf,
  keyOption,
  type OperatorNeeds,
  withCommandErrors,
} from '../cli/operator.ts';
import { VaultError } from '../core/errors.ts';
import { decodeSecret, secretBytes } from '../core/secret.ts';
import { compileJsonBody } from '../schema/json-body.ts';
import type { Recoveries } from './recoveries.ts';
import { CreateRecoveryBody, RecoverBody, type Recovery } from './schema.ts';

interface Needs extends OperatorNeeds {
  readonly recoveries: Recoveries;
}

const KEY = { ...ACCOUNT, key: keyOption('the vault key') } as const;

const readMake = compileJsonBody(CreateRecoveryBody, { refuseUnknown: true, parameters: [] });
const readRecover = compileJsonBody(RecoverBody, { refuseUnknown: true, parameters: [] });

/** Validates a body as the API does. Its error becomes one of the command line. */
function checked<T>(read: (body: Uint8Array) => unknown, body: object, exitCode: 1 | 2): T {
  try {
    // Compiled from the schema of the type.
    return read(Buffer.from(JSON.stringify(body))) as T;
  } catch (error) {
    throw error instanceof VaultError ? new CommandError(error.message, exitCode) : error;
  }
}

function checkKey(options: Values<typeof KEY>): void {
  checkAccount(options);
  if (options.key === undefined) {
    throw new CommandError('Give the vault key with --key NAME.', 2);
  }
}

function objectOf({ key }: Readonly<Record<string, unknown>>): string {
  return `key/${key}`;
}

function resultOf(recovery: Recovery, heading: string): Result {
  const table = {
    heading,
    columns: ['Share', 'Recipient'],
    rows: recovery.shares.map(({ recipient }, i) => [String(i + 1), recipient]),
  };
  return { data: recovery, shown: [table, ...recovery.shares.map(({ share }) => share.trimEnd())] };
}

const MAKE = {
  ...KEY,
  recipient: {
    kind: 'list',
    value: 'RECIPIENT',
    help: 'an age recipient (age1…) who gets a share; repeated, 2 to 16 times',
  },
  threshold: { kind: 'number', value: 'N', help: 'how many shares open the key', minimum: 2, maximum: 16 },
  ...PASSPHRASE_FILE,
} as const;

/** Makes the body of the options, with a placeholder for the passphrase. */
function makeBody({ key, recipient, threshold }: Values<typeof MAKE>): CreateRecoveryBody {
  return checked(readMake, { user: key, recipients: recipient, threshold, passphrase: 'x' }, 2);
}

const makeCommand = defineCommand({
  words: ['recovery', 'make'],
  options: MAKE,
  summary: 'Makes a recovery of a vault key, in place of one that it has, and prints the shares.',
  audit: { action: 'key.recovery.create', account: 'option', object: objectOf },
  opens: 'vault',
  check({ options }) {
    checkKey(options);
    makeBody(options);
  },
  async run({ options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const passphrase = await readPassphrase(options['passphrase-file']);
    const made = await withCommandErrors(() =>
      needs.recoveries.create(ctx, { ...makeBody(options), passphrase }),
    );
    const { threshold, shares } = made;
    return resultOf(made, `Any ${threshold} of these ${shares.length} shares open the key.`);
  },
});

const statusCommand = defineCommand({
  words: ['recovery', 'status'],
  options: KEY,
  summary: 'Prints the recovery of a vault key: its encrypted shares, and how many of them open it.',
  opens: 'vault',
  check: ({ options }) => checkKey(options),
  async run({ options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const found = await withCommandErrors(() => needs.recoveries.read(ctx, { user: options.key ?? '' }));
    return resultOf(found, `Any ${found.threshold} of these ${found.shares.length} shares open the key.`);
  },
});

const RECOVER = {
  ...KEY,
  share: {
    kind: 'list',
    value: 'FILE',
    help: 'a file with what age -d gave for a share; repeated (standard input, a share a line)',
  },
  'new-passphrase-file': {
    kind: 'text',
    value: 'FILE',
    help: 'the new passphrase, as the only line of a file (standard input or a prompt, where shares are in files)',
  },
} as const;

async function sharesOf(files: readonly string[] | undefined): Promise<readonly string[]> {
  const texts = files === undefined ? [await Bun.stdin.text()] : await Promise.all(files.map(readTextFile));
  return texts
    .flatMap((text) => text.split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

const recoverCommand = defineCommand({
  words: ['recovery', 'recover'],
  options: RECOVER,
  summary: 'Opens a vault key with decrypted shares and puts it under a new passphrase.',
  audit: { action: 'key.recover', account: 'option', object: objectOf },
  opens: 'vault',
  check({ options }) {
    checkKey(options);
    if (options.share === undefined && options['new-passphrase-file'] === undefined) {
      throw new CommandError(
        'Give --share FILE or --new-passphrase-file FILE: standard input is one of them.',
        2,
      );
    }
  },
  async run({ options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const shares = await sharesOf(options.share);
    const to = await readPassphrase(options['new-passphrase-file'], 'New passphrase: ');
    const body = { user: options.key, shares, new_passphrase: decodeSecret(to).expose() };
    const { user } = checked<RecoverBody>(readRecover, body, 1);
    const given = { user, shares: shares.map(secretBytes), new_passphrase: to };
    await withCommandErrors(() => needs.recoveries.recoverKey(ctx, given));
    return {
      data: { user, recovered: true },
      shown: `Key ${user} has its new passphrase. Its endpoints have stopped.`,
    };
  },
});

export const recoveryCommands = [makeCommand, statusCommand, recoverCommand];
