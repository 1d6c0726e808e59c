import { CommandError, defineCommand, type Table, type Values } from '../cli/command.ts';
import { existing } from '../cli/operator.ts';
import { encodeSecret } from '../core/secret.ts';
import { isCredentialId } from '../domain/account.ts';
import { parseRate, RATE_EXPECTED } from '../domain/rate.ts';
import { isHostPattern } from '../domain/text/network.ts';
import type { Accounts } from './accounts.ts';
import type { AccountInfo } from './records.ts';

interface Needs {
  readonly accounts: Accounts;
}

/** The jobs of accounts, which wait while these are suspended. */
interface JobNeeds {
  readonly jobs: { readonly goOn: (aid: string) => Promise<void> };
}

/** A name for HTTP Basic authentication, as in VAULT_BOOTSTRAP_USER. */
const NAME = /^[A-Za-z0-9._@-]{1,128}$/;

/** The options of `account create` and `account set`; absent ones keep their values. */
const SETTINGS = {
  unmasked: { kind: 'switch', help: 'whether the account sees numbers unmasked' },
  paying: { kind: 'switch', help: 'whether the account is paying' },
  'allow-host': {
    kind: 'list',
    value: 'HOST',
    help: 'a host that the account may send data to; can be repeated; "any" allows all',
  },
  rate: {
    kind: 'text',
    value: 'RATE',
    help: 'its requests in a period, such as 600/m; "none" ends the limit',
  },
} as const;

function checkName({ argument }: { readonly argument: string }): void {
  if (!NAME.test(argument)) {
    throw new CommandError('NAME must be 1 to 128 characters from A-Z a-z 0-9 . _ @ -', 2);
  }
  if (isCredentialId(argument)) {
    throw new CommandError('NAME must not have the form of the id of a credential.', 2);
  }
}

/** The hosts of `--allow-host`; an empty list allows all. */
function hostsOf(values: readonly string[]): readonly string[] {
  const hosts = values.flatMap((value) => value.split(',')).map((host) => host.trim().toLowerCase());
  if (hosts.length === 1 && hosts[0] === 'any') {
    return [];
  }
  if (!hosts.every(isHostPattern) || hosts.includes('any')) {
    throw new CommandError(
      '--allow-host must be a host name, a wildcard such as *.example.com, or an address, without scheme, port or path.',
      2,
    );
  }
  return [...new Set(hosts)];
}

/** The rate of `--rate`; null for none. */
function rateOf(value: string): string | null {
  if (value !== 'none' && parseRate(value) === undefined) {
    throw new CommandError(`--rate ${RATE_EXPECTED.replaceAll('`', '')}, or none.`, 2);
  }
  return value === 'none' ? null : value;
}

function settingsOf({ unmasked, paying, rate, 'allow-host': hosts }: Values<typeof SETTINGS>) {
  const given = { unmasked, paying, hosts: hosts && hostsOf(hosts) };
  return { ...given, rate: rate === undefined ? undefined : rateOf(rate) };
}

/** An account as JSON, without internal ids. */
function dataOf({ aid: _, revision: __, ...shown }: AccountInfo) {
  return shown;
}

/** Accounts as a table; the columns match those of the help text. */
function tableOf(accounts: readonly AccountInfo[]): Table {
  return {
    columns: ['Account', 'Numbers', 'Paying', 'Hosts', 'Rate', 'Suspended', 'Created'],
    rows: accounts.map(({ name, unmasked, paying, hosts, rate, suspended, created_at }) => [
      name,
      unmasked ? 'unmasked' : 'masked',
      paying ? 'yes' : 'no',
      hosts.length === 0 ? 'any' : hosts.join(','),
      rate ?? 'none',
      suspended ? 'yes' : 'no',
      created_at,
    ]),
    empty: 'There are no accounts.',
  };
}

/** `vault account create NAME`. The generated password is printed once and not stored in plain text (PCI DSS 8.3.2). */
const createAccount = defineCommand({
  words: ['account', 'create'],
  argument: 'NAME',
  options: SETTINGS,
  summary: 'Creates an account and prints its password once.',
  audit: { action: 'account.create', account: true },
  opens: 'vault',
  check(call) {
    checkName(call);
    settingsOf(call.options);
  },
  async run({ argument, options }, { accounts }: Needs) {
    const generated = await accounts.makePassword();
    const settings = settingsOf(options);
    const account = await accounts.create(argument, encodeSecret(generated), settings, 'generated');
    if (account === undefined) {
      throw new CommandError('An account with this name already exists.', 1);
    }
    const password = generated.expose();
    return {
      data: { ...dataOf(account), password },
      shown: `Account ${account.name} was created. Its password, shown only once:\n${password}`,
    };
  },
});

const listAccounts = defineCommand({
  words: ['account', 'list'],
  options: {},
  summary:
    'Lists the accounts: name, masking, paying, hosts that they may send data to, rate, suspension, time of creation.',
  opens: 'vault',
  async run(_call, { accounts }: Needs) {
    const found = await accounts.list();
    return { data: found.map(dataOf), shown: tableOf(found) };
  },
});

const CHANGES = {
  ...SETTINGS,
  suspended: { kind: 'switch', help: 'whether its requests are refused, and its jobs wait' },
  'accept-older': {
    kind: 'flag',
    help: 'accepts a record that is older than the security log says, with all its settings and its password',
  },
} as const;

const setAccount = defineCommand({
  words: ['account', 'set'],
  argument: 'NAME',
  options: CHANGES,
  summary: 'Changes the given settings of an account.',
  audit: { action: 'account.change', account: true },
  opens: 'vault',
  check(call) {
    checkName(call);
    if (Object.keys(call.options).length === 0) {
      const message = 'Nothing to change: give --unmasked, --paying, --allow-host, --rate or --suspended.';
      throw new CommandError(message, 2);
    }
    settingsOf(call.options);
  },
  async run({ argument, options }, { accounts, jobs }: Needs & JobNeeds) {
    const { suspended } = options;
    const settings = { ...settingsOf(options), suspended };
    const account = existing(await accounts.set(argument, settings, options['accept-older']));
    if (suspended === false) {
      await jobs.goOn(account.aid);
    }
    return { data: dataOf(account), shown: tableOf([account]) };
  },
});

const setPassword = defineCommand({
  words: ['account', 'password'],
  argument: 'NAME',
  options: {},
  summary:
    'Replaces the password of an account and prints the new one once. The old one becomes invalid immediately.',
  audit: { action: 'password.change', account: true },
  opens: 'vault',
  check: checkName,
  async run({ argument: name }, { accounts }: Needs) {
    const generated = await accounts.makePassword();
    existing(await accounts.setPassword(name, encodeSecret(generated), 'generated'));
    const password = generated.expose();
    return { data: { name, password }, shown: `The new password of ${name}, shown only once:\n${password}` };
  },
});

/** The deletion of an account with all its keys and data; undefined if no account has the name. */
interface DeleteNeeds {
  readonly removeAccount: (name: string) => Promise<AccountInfo | undefined>;
}

/** `vault account delete NAME --yes`. An interrupted deletion is completed by a later sweep. */
const deleteAccount = defineCommand({
  words: ['account', 'delete'],
  argument: 'NAME',
  options: { yes: { kind: 'flag', help: 'confirms the deletion' } },
  summary: 'Deletes an account with all its keys and all data of them.',
  audit: { action: 'account.delete', account: true },
  opens: 'vault',
  check(call) {
    checkName(call);
    if (call.options.yes !== true) {
      throw new CommandError('A deletion cannot be undone: add --yes to confirm it.', 2);
    }
  },
  async run({ argument }, { removeAccount }: DeleteNeeds) {
    const { name } = existing(await removeAccount(argument));
    return { data: { name, deleted: true }, shown: `Account ${name} was deleted.` };
  },
});

export const accountCommands = [createAccount, listAccounts, setAccount, setPassword, deleteAccount];
