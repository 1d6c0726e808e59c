import { VaultError } from '../../core/errors.ts';
import { ROLES, SCOPES_OF_ROLE } from '../../core/roles.ts';
import { objectOf } from '../../http/audit.ts';
import { defineRoute } from '../../http/route.ts';
import { mayKnowKeys } from '../../request/permission.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import { Message } from '../../schema/common.ts';
import { type InvitedPerson as Invited, invitedOf, type Persons } from './persons.ts';
import {
  InvitedPerson,
  PasskeyPath,
  Person,
  PersonInput,
  PersonList,
  PersonPath,
  RoleList,
} from './schema.ts';

interface Needs {
  readonly persons: Persons;
}

const COMMON = { noun: 'person', auth: 'basic', scope: 'person:write', meter: [] } as const;

function shown(invited: Invited) {
  return { ...invitedOf(invited), invitation: invited.invitation.expose() };
}

const createPerson = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/person',
  operationId: 'createPerson',
  summary: 'Invite a person',
  description:
    'Adds a person who signs in at the console with a passkey, and shows an invitation once: a URL that is good once, for 24 hours. Nobody makes, changes, invites or deletes a person who may do more than himself, and only owners and the password of the account do so with owners.',
  body: { kind: 'json', schema: PersonInput, bytesMax: BODY_BYTES.short },
  response: InvitedPerson,
  errors: ['persons_full', 'people_unavailable'],
  audit: { action: 'person.create', object: () => 'person' },
  handle: async ({ ctx, body }, services: Needs) => {
    const invited = await services.persons.create(ctx.account, body);
    ctx.change = invited.change;
    return { json: shown(invited), object: objectOf('person', invited.known.name.id) };
  },
});

const listPeople = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/person',
  operationId: 'listPeople',
  summary: 'List people',
  description:
    'Lists the people of the account, with their passkeys and when they were there last. Who is limited to vault keys sees nobody who is limited to others.',
  response: PersonList,
  errors: [],
  handle: async ({ ctx: { account } }, services: Needs) => ({
    json: (await services.persons.list(account.aid)).filter(({ keys }) => mayKnowKeys(account, keys)),
  }),
});

const listRoles = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/person/role',
  operationId: 'listRoles',
  summary: 'List roles',
  description:
    'Lists the roles that people can have, with the scopes of each. They are the same in every account.',
  response: RoleList,
  errors: [],
  handle: async () => ({ json: ROLES.map((role) => ({ role, scopes: [...SCOPES_OF_ROLE[role]] })) }),
});

const readPerson = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/person/{id}',
  operationId: 'readPerson',
  summary: 'Read a person',
  description: 'Returns one person, with its passkeys and when it was there last.',
  params: PersonPath,
  response: Person,
  errors: ['person_not_found'],
  handle: async ({ ctx: { account }, params }, services: Needs) => {
    const person = await services.persons.read(account.aid, params.id);
    if (!mayKnowKeys(account, person.keys)) {
      throw new VaultError('person_not_found');
    }
    return { json: person };
  },
});

const changePerson = defineRoute({
  ...COMMON,
  method: 'PUT',
  path: '/v1/person/{id}',
  operationId: 'changePerson',
  summary: 'Change a person',
  description:
    'Replaces name, role, keys and `unmasked`; what is left out is gone. Other rights end the sessions of the person, on every server at once, and the credentials that it has made and that exceed it now. Another name alone ends nothing.',
  params: PersonPath,
  body: { kind: 'json', schema: PersonInput, bytesMax: BODY_BYTES.short },
  response: Person,
  errors: ['person_not_found', 'person_of_provider'],
  audit: { action: 'person.change', object: ({ params }) => objectOf('person', params.id) },
  handle: async ({ ctx, params, body }, services: Needs) => ({
    json: await services.persons.change(ctx, ctx.account, params.id, body),
  }),
});

const removePerson = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/person/{id}',
  operationId: 'deletePerson',
  summary: 'Delete a person',
  description:
    'Ends a person, on every server at once, with its sessions, its invitation, its passkeys and the credentials that it has made. A person of an identity provider comes back when it signs in and its claims fit; its `keys` stay.',
  params: PersonPath,
  response: Message,
  errors: ['person_not_found'],
  audit: { action: 'person.delete', object: ({ params }) => objectOf('person', params.id) },
  handle: async ({ ctx, params }, services: Needs) => {
    await services.persons.remove(ctx, ctx.account, params.id);
    return { json: { message: 'The person was deleted.' } };
  },
});

const invitePerson = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/person/{id}/invite',
  operationId: 'invitePerson',
  summary: 'Invite a person again',
  description:
    'Shows a new invitation once, for somebody who has lost a passkey or got none; the invitation before ends. It adds a passkey and removes none.',
  params: PersonPath,
  response: InvitedPerson,
  errors: ['person_not_found', 'person_of_provider', 'people_unavailable'],
  audit: { action: 'person.invite', object: ({ params }) => objectOf('person', params.id) },
  handle: async ({ ctx, params }, services: Needs) => ({
    json: shown(await services.persons.invite(ctx, ctx.account, params.id)),
  }),
});

const removePasskey = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/person/{id}/passkey/{passkey_id}',
  operationId: 'deletePasskey',
  summary: 'Remove a passkey of a person',
  description: 'Removes a passkey, such as that of a lost device, and ends all sessions of its person.',
  params: PasskeyPath,
  response: Message,
  errors: ['person_not_found', 'passkey_not_found'],
  audit: { action: 'person.passkey.delete', object: ({ params }) => objectOf('person', params.id) },
  handle: async ({ ctx, params }, services: Needs) => {
    await services.persons.removePasskey(ctx, ctx.account, params.id, params.passkey_id);
    return { json: { message: 'The passkey was removed.' } };
  },
});

export const PERSON_ROUTES = [
  createPerson,
  listPeople,
  listRoles,
  readPerson,
  changePerson,
  removePerson,
  invitePerson,
  removePasskey,
];
