import { CommandError, defineCommand, type Table } from '../../cli/command.ts';
import {
  ACCOUNT,
  accountOf,
  checkAccount,
  contextOf,
  type OperatorNeeds,
  withCommandErrors,
} from '../../cli/operator.ts';
import { VaultError } from '../../core/errors.ts';
import { invitedOf, type Persons } from './persons.ts';
import type { Person } from './schema.ts';

interface Needs extends OperatorNeeds {
  readonly persons: Persons;
}

const OPERATOR = 'operator';

function tableOf(people: readonly Person[]): Table {
  return {
    columns: ['Person', 'Name', 'Role', 'Numbers', 'Signs in with', 'Last seen'],
    rows: people.map(({ id, name, role, unmasked, oidc, passkeys, last_seen_at }) => [
      ...[id, name, role, unmasked ? 'unmasked' : 'masked'],
      ...[oidc === true ? 'OpenID Connect' : `passkeys: ${passkeys.length}`, last_seen_at ?? 'never'],
    ]),
    empty: 'There are no people.',
  };
}

const listPeople = defineCommand({
  words: ['person', 'list'],
  options: ACCOUNT,
  summary: 'Lists the people of an account.',
  opens: 'vault',
  check: ({ options }) => checkAccount(options),
  async run({ options }, needs: Needs) {
    const { aid } = await accountOf(needs, options);
    const found = await needs.persons.list(aid);
    return { data: found, shown: tableOf(found) };
  },
});

const invitePerson = defineCommand({
  words: ['person', 'invite'],
  argument: 'ID',
  options: ACCOUNT,
  summary: 'Invites a person again, for a lost passkey, and prints the invitation once.',
  audit: { action: 'person.invite', account: 'option' },
  opens: 'vault',
  check: ({ options }) => checkAccount(options),
  async run({ argument: id, options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    const invited = await withCommandErrors(() => needs.persons.invite(ctx, ctx.account, id, OPERATOR));
    const { change } = invited;
    const shown = invitedOf(invited);
    const url = invited.invitation.expose();
    return {
      data: { ...shown, invitation: url },
      shown: `The invitation of ${id}, shown only once, is good until ${shown.expires_at}:\n${url}`,
      entry: { object: `person/${id}`, change },
    };
  },
});

const deletePerson = defineCommand({
  words: ['person', 'delete'],
  argument: 'ID',
  options: ACCOUNT,
  summary: 'Ends a person with its sessions, passkeys and credentials, on every server at once.',
  audit: { action: 'person.delete', account: 'option' },
  opens: 'vault',
  check: ({ options }) => checkAccount(options),
  async run({ argument: id, options }, needs: Needs) {
    const ctx = await contextOf(needs, options);
    try {
      await needs.persons.remove(ctx, ctx.account, id, OPERATOR);
    } catch (error) {
      throw error instanceof VaultError && error.code === 'person_not_found'
        ? new CommandError('There is no person of this id.', 1)
        : error;
    }
    const entry = { object: `person/${id}`, change: ctx.change };
    return { data: { id, deleted: true }, shown: `Person ${id} was deleted.`, entry };
  },
});

export const personCommands = [listPeople, invitePerson, deletePerson];
