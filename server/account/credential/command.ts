import type { Session } from '../../boot/open.ts';
import { CommandError, defineCommand, type Result, type Table, type Values } from '../../cli/command.ts';
import { VaultError } from '../../core/errors.ts';
import { SCOPES, type Scope } from '../../core/scopes.ts';
import type { Account } from '../../request/context.ts';
import { overlapOf } from '../overlap.ts';
import type { CredentialWithSecret } from './credentials.ts';
import type { Credential } from './schema.ts';

/** The option of every command that acts for an account. */
export const ACCOUNT = { account: { kind: 'text', value: 'NAME', help: 'the account' } } as const;

/** Rejects a command line without `--account`. */
export function checkAccount({ account }: Values<typeof ACCOUNT>): void {
  if (account === undefined) {
    throw new CommandError('Give the account with --account NAME.', 2);
  }
}

/** The account that a command acts for. */
export async function accountOf(
  { vault }: Session,
  { account = '' }: Values<typeof ACCOUNT>,
): Promise<Account> {
  const found = await vault.services.accounts.lookUp(account);
  if (found === undefined) {
    throw new CommandError('No account has this name.', 1);
  }
  return found;
}

/** Turns an error that API callers would get into one of the command. */
export async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof VaultError && error.status < 500 ? new CommandError(error.message, 1) : error;
  }
}

const LIMITS = {
  scope: { kind: 'list', value: 'SCOPE', help: 'what it may do, such as proxy:send; can be repeated' },
  key: { kind: 'list', value: 'USER', help: 'a vault key that it may use; can be repeated (all)' },
  ip: { kind: 'list', value: 'CIDR', help: 'addresses that it may be used from; can be repeated (any)' },
  host: { kind: 'list', value: 'HOST', help: 'a host that it may send data to; can be repeated (any)' },
  'expires-in': { kind: 'text', value: 'DURATION', help: 'its lifetime, such as P90D (unlimited)' },
  unmasked: { kind: 'switch', help: 'whether it sees numbers unmasked' },
} as const;

/** The scopes of `--scope`, also with commas between them. */
function scopesOf(values: readonly string[] = []): Scope[] {
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  const known = names.flatMap((name) => SCOPES.filter((scope) => scope === name));
  if (names.length === 0 || known.length < names.length) {
    throw new CommandError(`--scope must be one of ${SCOPES.join(', ')}.`, 2);
  }
  return known;
}

function tableOf(credentials: readonly Credential[]): Table {
  return {
    columns: ['Credential', 'Name', 'Scopes', 'Numbers', 'Last used', 'Expires'],
    rows: credentials.map(({ id, name, scopes, unmasked, last_used_at, expires_at }) => [
      ...[id, name, scopes.join(','), unmasked ? 'unmasked' : 'masked'],
      ...[last_used_at ?? 'never', expires_at ?? 'never'],
    ]),
    empty: 'The account has no credentials.',
  };
}

/** A credential with its new secret, which is printed this once. */
function resultOf(what: string, { credential, secret, change }: CredentialWithSecret): Result {
  const { id } = credential;
  const text = secret.expose();
  return {
    data: { ...credential, secret: text },
    shown: `Credential ${id} ${what}. Its secret, shown only once:\n${text}`,
    entry: { object: `credential/${id}`, change },
  };
}

const createCredential = defineCommand({
  words: ['credential', 'create'],
  argument: 'NAME',
  options: { ...ACCOUNT, ...LIMITS },
  summary: 'Creates an API credential of an account and prints its secret once.',
  audit: { action: 'credential.create', account: 'option' },
  opens: 'vault',
  check({ options }) {
    checkAccount(options);
    scopesOf(options.scope);
  },
  async run({ argument: name, options }, session) {
    const account = await accountOf(session, options);
    const { scope, key, ip, host, unmasked } = options;
    const expires_in = options['expires-in'];
    const wanted = {
      ...{ name, scopes: scopesOf(scope) },
      ...(key === undefined ? {} : { keys: [...key] }),
      ...(ip === undefined ? {} : { ips: [...ip] }),
      ...(host === undefined ? {} : { hosts: [...host] }),
      ...(unmasked === undefined ? {} : { unmasked }),
      ...(expires_in === undefined ? {} : { expires_in }),
    };
    const { credentials } = session.vault.services;
    return resultOf('was created', await told(() => credentials.create(account, wanted)));
  },
});

const listCredentials = defineCommand({
  words: ['credential', 'list'],
  options: ACCOUNT,
  summary: 'Lists the API credentials of an account, without secrets.',
  opens: 'vault',
  check: ({ options }) => checkAccount(options),
  async run({ options }, session) {
    const account = await accountOf(session, options);
    const found = await session.vault.services.credentials.list(account.aid);
    return { data: found, shown: tableOf(found) };
  },
});

const rollCredential = defineCommand({
  words: ['credential', 'roll'],
  argument: 'ID',
  options: {
    ...ACCOUNT,
    overlap: {
      kind: 'text',
      value: 'DURATION',
      help: 'how long the old secret lives on, at most 7 days (not at all)',
    },
  },
  summary: 'Gives an API credential a new secret and prints it once.',
  audit: { action: 'credential.roll', account: 'option' },
  opens: 'vault',
  check: ({ options }) => checkAccount(options),
  async run({ argument: id, options }, session) {
    const account = await accountOf(session, options);
    const { credentials } = session.vault.services;
    const rolled = await told(async () => credentials.roll(account, id, overlapOf(options.overlap)));
    return resultOf('has a new secret', rolled);
  },
});

const deleteCredential = defineCommand({
  words: ['credential', 'delete'],
  argument: 'ID',
  options: ACCOUNT,
  summary: 'Ends an API credential, on every server at once.',
  audit: { action: 'credential.delete', account: 'option' },
  opens: 'vault',
  check: ({ options }) => checkAccount(options),
  async run({ argument: id, options }, session) {
    const account = await accountOf(session, options);
    const removed = await session.vault.services.credentials.remove(account, id);
    if (removed === undefined) {
      throw new CommandError('The account has no credential of this id.', 1);
    }
    const entry = { object: `credential/${id}`, change: removed.change };
    return { data: { id, deleted: true }, shown: `Credential ${id} was deleted.`, entry };
  },
});

/** The commands `credential create`, `list`, `roll` and `delete`. */
export const credentialCommands = [createCredential, listCredentials, rollCredential, deleteCredential];
