import type { Health } from './deps.ts';
import type { BinCsvError } from './domain/bin-table.ts';
import type { Secret } from './secret.ts';
import type { AccountInfo, AccountSettings } from './services/account.ts';

/** What the command line can do to a vault. */
export interface Operator {
  /** Makes an account and its password, which can never be read again. `undefined` when the name is taken. */
  createAccount(
    name: string,
    settings: AccountSettings,
  ): Promise<{ readonly account: AccountInfo; readonly password: Secret<string> } | undefined>;
  listAccounts(): Promise<readonly AccountInfo[]>;
  /** Changes what is given. `undefined` when there is no such account. */
  setAccount(name: string, settings: AccountSettings): Promise<AccountInfo | undefined>;
  /** Gives an account a new password, shown now and never again; the old one stops at once. */
  renewPassword(name: string): Promise<Secret<string> | undefined>;
  /** `undefined` when there is no such account. */
  deleteAccount(name: string): Promise<AccountInfo | undefined>;
  /** Puts a BIN table in the place of the old one. */
  loadBins(
    csvText: string,
  ): Promise<{ readonly rows: number; readonly segments: number } | { readonly error: BinCsvError }>;
  health(): ReturnType<Health['ready']>;
}

/** A command that cannot be carried out; the message is one line for the operator. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  /** Exit code 2 is for a command line that was wrong, 1 for a right one that failed. */
  constructor(message: string, exitCode: 1 | 2) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** The values of the options, as far as they were given. */
export interface CommandOptions {
  readonly unmasked?: boolean;
  readonly paying?: boolean;
  readonly hosts?: readonly string[];
  readonly json: boolean;
  readonly yes: boolean;
}

export type OptionName = 'unmasked' | 'paying' | 'allow-host' | 'json' | 'yes';

/** One command: how it is called, what its help says, and what it does. Gives the text to print. */
export interface Command {
  readonly words: readonly string[];
  /** The name of its one argument, if it takes one. */
  readonly argument?: 'NAME' | 'FILE';
  readonly options: readonly OptionName[];
  readonly summary: string;
  /** Looks at the command line before the vault is opened, and throws where something is missing. */
  readonly check?: (argument: string, options: CommandOptions) => void;
  readonly run: (operator: Operator, argument: string, options: CommandOptions) => Promise<string>;
}

const NAME = /^[A-Za-z0-9._@-]{1,128}$/;

const checkName = (name: string): void => {
  if (!NAME.test(name)) {
    throw new CommandError('NAME must be 1 to 128 of A-Z a-z 0-9 . _ @ -', 2);
  }
};

const settingsOf = ({ unmasked, paying, hosts }: CommandOptions): AccountSettings => ({
  ...(unmasked === undefined ? {} : { unmasked }),
  ...(paying === undefined ? {} : { paying }),
  ...(hosts === undefined ? {} : { hosts }),
});

const shown = ({ name, unmasked, paying, hosts, created_at }: AccountInfo) => ({
  name,
  unmasked,
  paying,
  hosts,
  created_at,
});

const line = (account: AccountInfo): string =>
  [
    account.name,
    account.unmasked ? 'unmasked' : 'masked',
    account.paying ? 'paying' : 'not paying',
    account.hosts.length === 0 ? 'any host' : account.hosts.join(','),
    account.created_at,
  ].join('\t');

const json = (value: unknown): string => JSON.stringify(value, null, 2);

const existing = (account: AccountInfo | undefined): AccountInfo => {
  if (account === undefined) {
    throw new CommandError('There is no account of this name.', 1);
  }
  return account;
};

const readText = async (path: string): Promise<string> => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await Bun.file(path).bytes());
  } catch {
    throw new CommandError('FILE cannot be read, or is not UTF-8 text.', 1);
  }
};

const createAccount: Command = {
  words: ['account', 'create'],
  argument: 'NAME',
  options: ['unmasked', 'paying', 'allow-host', 'json'],
  summary: 'Makes an account and prints its password, once.',
  check: checkName,
  run: async (operator, name, options) => {
    const made = await operator.createAccount(name, settingsOf(options));
    if (made === undefined) {
      throw new CommandError('There is already an account of this name.', 1);
    }
    const password = made.password.expose();
    if (options.json) {
      return json({ ...shown(made.account), password });
    }
    return `Account ${made.account.name} was made. Its password, shown only now:\n${password}`;
  },
};

const listAccounts: Command = {
  words: ['account', 'list'],
  options: ['json'],
  summary: 'Lists the accounts: name, masking, paying, hosts it may send data to, time of making.',
  run: async (operator, _argument, options) => {
    const accounts = await operator.listAccounts();
    return options.json ? json(accounts.map(shown)) : accounts.map(line).join('\n') || 'There is no account.';
  },
};

const setAccount: Command = {
  words: ['account', 'set'],
  argument: 'NAME',
  options: ['unmasked', 'paying', 'allow-host', 'json'],
  summary: 'Changes the given settings of an account.',
  check: (name, options) => {
    checkName(name);
    if (Object.keys(settingsOf(options)).length === 0) {
      throw new CommandError('Nothing to set: give --unmasked, --paying or --allow-host.', 2);
    }
  },
  run: async (operator, name, options) => {
    const account = existing(await operator.setAccount(name, settingsOf(options)));
    return options.json ? json(shown(account)) : line(account);
  },
};

const renewPassword: Command = {
  words: ['account', 'password'],
  argument: 'NAME',
  options: ['json'],
  summary: 'Gives an account a new password and prints it, once. The old one stops at once.',
  check: checkName,
  run: async (operator, name, options) => {
    const made = await operator.renewPassword(name);
    if (made === undefined) {
      throw new CommandError('There is no account of this name.', 1);
    }
    const password = made.expose();
    return options.json
      ? json({ name, password })
      : `The new password of ${name}, shown only now:\n${password}`;
  },
};

const deleteAccount: Command = {
  words: ['account', 'delete'],
  argument: 'NAME',
  options: ['yes'],
  summary: 'Deletes an account with all its keys and everything stored under them.',
  check: (name, options) => {
    checkName(name);
    if (!options.yes) {
      throw new CommandError('Deleting cannot be undone: add --yes to do it.', 2);
    }
  },
  run: async (operator, name) => `Account ${existing(await operator.deleteAccount(name)).name} was deleted.`,
};

const loadBins: Command = {
  words: ['bin', 'load'],
  argument: 'FILE',
  options: [],
  summary:
    'Replaces the BIN table by a CSV file with the header bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level.',
  run: async (operator, path) => {
    const loaded = await operator.loadBins(await readText(path));
    if ('error' in loaded) {
      throw new CommandError(
        `Line ${loaded.error.line} of FILE was refused, and nothing was loaded: ${loaded.error.reason}`,
        1,
      );
    }
    return `Loaded ${loaded.rows} rows (${loaded.segments} ranges).`;
  },
};

const health: Command = {
  words: ['health'],
  options: [],
  summary:
    'Tells whether Redis and the master key are well, with exit code 0 if so. A running server answers GET /health/ready itself.',
  run: async (operator) => {
    const { ready, checks } = await operator.health();
    const states = Object.entries(checks).map(([name, state]) => `${name} ${state}`);
    const text = [ready ? 'ready' : 'not ready', ...states].join(', ');
    if (!ready) {
      throw new CommandError(text, 1);
    }
    return text;
  },
};

export const COMMANDS: readonly Command[] = [
  createAccount,
  listAccounts,
  setAccount,
  renewPassword,
  deleteAccount,
  loadBins,
  health,
];
