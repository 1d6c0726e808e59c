import { isIP } from 'node:net';
import type { Session } from '../../boot/open.ts';
import type { Secret } from '../../core/secret.ts';
import type { AccountSettings } from '../../services/account/account.ts';
import type { AccountInfo } from '../../services/account/record.ts';
import { type Call, CommandError, defineCommand, type Table, type Values } from './command.ts';

const NAME = /^[A-Za-z0-9._@-]{1,128}$/;

const SETTINGS = {
  unmasked: { kind: 'switch', help: 'whether the account sees numbers unmasked' },
  paying: { kind: 'switch', help: 'whether the account is paying' },
  'allow-host': {
    kind: 'list',
    value: 'HOST',
    help: 'a host that the account may send data to; repeat for more, "any" for all',
  },
} as const;

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const checkName = ({ argument }: Pick<Call, 'argument'>): void => {
  if (!NAME.test(argument)) {
    throw new CommandError('NAME must be 1 to 128 characters from A-Z a-z 0-9 . _ @ -', 2);
  }
};

const isHost = (text: string): boolean =>
  isIP(text) !== 0 || /^(?:\*\.)?(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*$/.test(text);

const hostsOf = (values: readonly string[]): readonly string[] => {
  const hosts = values.flatMap((value) => value.split(',')).map((host) => host.trim().toLowerCase());
  if (hosts.length === 1 && hosts[0] === 'any') {
    return [];
  }
  if (!hosts.every(isHost) || hosts.includes('any')) {
    throw new CommandError(
      '--allow-host must be a host name, *. and a host name, or an address, without scheme, port or path.',
      2,
    );
  }
  return [...new Set(hosts)];
};

const settingsOf = ({ unmasked, paying, 'allow-host': hosts }: Values<typeof SETTINGS>): AccountSettings => ({
  ...(unmasked === undefined ? {} : { unmasked }),
  ...(paying === undefined ? {} : { paying }),
  ...(hosts === undefined ? {} : { hosts: hostsOf(hosts) }),
});

const dataOf = ({ name, unmasked, paying, hosts, created_at }: AccountInfo) => ({
  name,
  unmasked,
  paying,
  hosts,
  created_at,
});

const tableOf = (accounts: readonly AccountInfo[]): Table => ({
  columns: ['Account', 'Numbers', 'Paying', 'Hosts', 'Made'],
  rows: accounts.map(({ name, unmasked, paying, hosts, created_at }) => [
    name,
    unmasked ? 'unmasked' : 'masked',
    paying ? 'yes' : 'no',
    hosts.length === 0 ? 'any' : hosts.join(','),
    created_at,
  ]),
  empty: 'There is no account.',
});

const existing = <Found>(found: Found | undefined): Found => {
  if (found === undefined) {
    throw new CommandError('There is no account of this name.', 1);
  }
  return found;
};

const createAccount = defineCommand({
  words: ['account', 'create'],
  argument: 'NAME',
  options: SETTINGS,
  summary: 'Makes an account and prints its password, once.',
  audit: { action: 'account.create', account: true },
  opens: 'vault',
  check(call) {
    checkName(call);
    settingsOf(call.options);
  },
  async run({ argument, options }, { vault }) {
    const made = await vault.services.accounts.makePassword();
    const account = await vault.services.accounts.create(argument, made.map(encode), settingsOf(options));
    if (account === undefined) {
      throw new CommandError('There is already an account of this name.', 1);
    }
    const password = made.expose();
    return {
      data: { ...dataOf(account), password },
      shown: `Account ${account.name} was made. Its password, shown only now:\n${password}`,
    };
  },
});

const listAccounts = defineCommand({
  words: ['account', 'list'],
  options: {},
  summary: 'Lists the accounts: name, masking, paying, hosts it may send data to, time of making.',
  opens: 'vault',
  async run(_call, { vault }) {
    const accounts = await vault.services.accounts.list();
    return { data: accounts.map(dataOf), shown: tableOf(accounts) };
  },
});

const setAccount = defineCommand({
  words: ['account', 'set'],
  argument: 'NAME',
  options: SETTINGS,
  summary: 'Changes the given settings of an account.',
  audit: { action: 'account.change', account: true },
  opens: 'vault',
  check(call) {
    checkName(call);
    if (Object.keys(settingsOf(call.options)).length === 0) {
      throw new CommandError('Nothing to set: give --unmasked, --paying or --allow-host.', 2);
    }
  },
  async run({ argument, options }, { vault }) {
    const account = existing(await vault.services.accounts.set(argument, settingsOf(options)));
    return { data: dataOf(account), shown: tableOf([account]) };
  },
});

const renew = async (vault: Session['vault'], name: string): Promise<Secret<string>> => {
  const password = await vault.services.accounts.makePassword();
  return existing(
    (await vault.services.accounts.setPassword(name, password.map(encode))) ? password : undefined,
  );
};

const renewPassword = defineCommand({
  words: ['account', 'password'],
  argument: 'NAME',
  options: {},
  summary: 'Gives an account a new password and prints it, once. The old one stops at once.',
  audit: { action: 'password.change', account: true },
  opens: 'vault',
  check: checkName,
  async run({ argument: name }, { vault }) {
    const password = (await renew(vault, name)).expose();
    return { data: { name, password }, shown: `The new password of ${name}, shown only now:\n${password}` };
  },
});

const deleteAccount = defineCommand({
  words: ['account', 'delete'],
  argument: 'NAME',
  options: { yes: { kind: 'flag', help: 'does it without asking' } },
  summary: 'Deletes an account with all its keys and everything stored under them.',
  audit: { action: 'account.delete', account: true },
  opens: 'vault',
  check(call) {
    checkName(call);
    if (call.options.yes !== true) {
      throw new CommandError('Deleting cannot be undone: add --yes to do it.', 2);
    }
  },
  async run({ argument }, { vault }) {
    const { name } = existing(await vault.removeAccount(argument));
    return { data: { name, deleted: true }, shown: `Account ${name} was deleted.` };
  },
});

/** Everything about accounts. */
export const accountCommands = [createAccount, listAccounts, setAccount, renewPassword, deleteAccount];
