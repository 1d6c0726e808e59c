import { CommandError, defineCommand, type Result, type Table, type Values } from '../../cli/command.ts';
import { ACCOUNT, accountOf, withCommandErrors } from '../../cli/operator.ts';
import { OPERATOR_SCOPE, SCOPES, type Scope } from '../../core/scopes.ts';
import type { Account } from '../../request/context.ts';
import type { Accounts } from '../accounts.ts';
import { overlapOf } from '../passwords.ts';
import type { Credentials, CredentialWithSecret } from './credentials.ts';
import { OPERATOR } from './records.ts';
import type { Credential } from './schema.ts';

interface Needs {
  readonly accounts: Accounts;
  readonly credentials: Credentials;
}

/** The owner of credentials: one of both. */
const OWNER = {
  ...ACCOUNT,
  operator: { kind: 'flag', help: 'the operator, whose credentials manage accounts, in place of an account' },
} as const;

const LIMITS = {
  scope: { kind: 'list', value: 'SCOPE', help: 'what it may do, such as proxy:send; can be repeated' },
  key: { kind: 'list', value: 'USER', help: 'a vault key that it may use; can be repeated (all)' },
  ip: { kind: 'list', value: 'CIDR', help: 'addresses that it may be used from; can be repeated (any)' },
  host: { kind: 'list', value: 'HOST', help: 'a host that it may send data to; can be repeated (any)' },
  'expires-in': { kind: 'text', value: 'DURATION', help: 'its lifetime, such as P90D (unlimited)' },
  unmasked: { kind: 'switch', help: 'whether it sees numbers unmasked' },
} as const;

function checkOwner({ account, operator }: Values<typeof OWNER>): void {
  if ((account === undefined) === (operator === undefined)) {
    throw new CommandError('Give the account with --account NAME, or --operator.', 2);
  }
}

async function ownerOf({ accounts }: Needs, options: Values<typeof OWNER>): Promise<Account> {
  return options.operator === true ? OPERATOR : accountOf({ accounts }, options);
}

/** Rejects limits that have no meaning for a credential of the operator. */
function checkLimits({ operator, scope, key, host, unmasked }: Values<typeof OWNER & typeof LIMITS>): void {
  if (operator === true && (scope ?? key ?? host ?? unmasked) !== undefined) {
    throw new CommandError(
      `--operator gives the scope ${OPERATOR_SCOPE} alone: omit --scope, --key, --host and --unmasked.`,
      2,
    );
  }
}

/** The scopes of `--scope`, also with commas between them. */
function scopesOf({ operator, scope: values = [] }: Values<typeof OWNER & typeof LIMITS>): Scope[] {
  if (operator === true) {
    return [OPERATOR_SCOPE];
  }
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
    empty: 'There are no credentials.',
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
  options: { ...OWNER, ...LIMITS },
  summary: 'Creates an API credential of an account, or of the operator, and prints its secret once.',
  audit: { action: 'credential.create', account: 'option' },
  opens: 'vault',
  check({ options }) {
    checkOwner(options);
    checkLimits(options);
    scopesOf(options);
  },
  async run({ argument: name, options }, needs: Needs) {
    const account = await ownerOf(needs, options);
    const { key, ip, host, unmasked } = options;
    const expires_in = options['expires-in'];
    const wanted = {
      ...{ name, scopes: scopesOf(options) },
      ...(key === undefined ? {} : { keys: [...key] }),
      ...(ip === undefined ? {} : { ips: [...ip] }),
      ...(host === undefined ? {} : { hosts: [...host] }),
      ...(unmasked === undefined ? {} : { unmasked }),
      ...(expires_in === undefined ? {} : { expires_in }),
    };
    return resultOf('was created', await withCommandErrors(() => needs.credentials.create(account, wanted)));
  },
});

const listCredentials = defineCommand({
  words: ['credential', 'list'],
  options: OWNER,
  summary: 'Lists the API credentials of an account, or of the operator, without secrets.',
  opens: 'vault',
  check: ({ options }) => checkOwner(options),
  async run({ options }, needs: Needs) {
    const { aid } = await ownerOf(needs, options);
    const found = await needs.credentials.list(aid);
    return { data: found, shown: tableOf(found) };
  },
});

const rollCredential = defineCommand({
  words: ['credential', 'roll'],
  argument: 'ID',
  options: {
    ...OWNER,
    overlap: {
      kind: 'text',
      value: 'DURATION',
      help: 'how long the old secret lives on, at most 7 days (not at all)',
    },
  },
  summary: 'Gives an API credential a new secret and prints it once.',
  audit: { action: 'credential.roll', account: 'option' },
  opens: 'vault',
  check: ({ options }) => checkOwner(options),
  async run({ argument: id, options }, needs: Needs) {
    const account = await ownerOf(needs, options);
    const rolled = await withCommandErrors(async () =>
      needs.credentials.roll(account, id, overlapOf(options.overlap)),
    );
    return resultOf('has a new secret', rolled);
  },
});

const deleteCredential = defineCommand({
  words: ['credential', 'delete'],
  argument: 'ID',
  options: OWNER,
  summary: 'Ends an API credential, on every server at once.',
  audit: { action: 'credential.delete', account: 'option' },
  opens: 'vault',
  check: ({ options }) => checkOwner(options),
  async run({ argument: id, options }, needs: Needs) {
    const account = await ownerOf(needs, options);
    const removed = await needs.credentials.remove(account, id);
    if (removed === undefined) {
      throw new CommandError('There is no credential of this id.', 1);
    }
    const entry = { object: `credential/${id}`, change: removed.change };
    return { data: { id, deleted: true }, shown: `Credential ${id} was deleted.`, entry };
  },
});

export const credentialCommands = [createCredential, listCredentials, rollCredential, deleteCredential];
