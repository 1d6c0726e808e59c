/** People of the account, who sign in at the console. */

import type { CallOptions } from '../transport/call.ts';
import { needText } from '../transport/needed.ts';
import { get, remove, sendJson } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  ChangePerson,
  CreatePerson,
  DeletePasskey,
  DeletePerson,
  InvitedPerson,
  InvitePerson,
  Message,
  Person,
  ReadPerson,
  RoleScopes,
} from '../transport/types.ts';

/**
 * People of the account, who sign in at the console with a passkey or OpenID Connect. A caller touches nobody who may do more than
 * itself; owners are for the password of the account, and for owners in the console.
 * @see /guide/people
 */
export interface PersonCalls {
  /**
   * Adds a person and shows an invitation once: a URL that is good once, for 24 hours. Give it to nobody else. The call is retried only if
   * the service has rejected the request without any effect.
   * @see /guide/people
   * @throws `persons_full`, `people_unavailable`
   * @example
   * const { id, invitation } = await client.person.create({ name: 'Ada Lovelace', role: 'support' });
   */
  readonly create: (person: CreatePerson, options?: CallOptions) => Promise<InvitedPerson>;
  /**
   * All people of the account, the oldest first.
   * @see /guide/people
   * @example
   * const away = (await client.person.list()).filter(({ last_seen_at }) => last_seen_at === null);
   */
  readonly list: (options?: CallOptions) => Promise<Person[]>;
  /**
   * The roles that people can have, with the scopes of each.
   * @see /guide/people
   * @example
   * const names = (await client.person.roles()).map(({ role }) => role);
   */
  readonly roles: (options?: CallOptions) => Promise<RoleScopes[]>;
  /**
   * One person, with its passkeys and when it was there last.
   * @see /guide/people
   * @throws `person_not_found`
   * @example
   * const { passkeys } = await client.person.get({ id: 'pers_Zm9vYmFyYmF6cXV4cXV1eA' });
   */
  readonly get: (person: ReadPerson, options?: CallOptions) => Promise<Person>;
  /**
   * Replaces name, role, keys and `unmasked`; what is left out is gone. Other rights end the sessions of the person, and the credentials
   * that it has made and that exceed it now.
   * @see /guide/people
   * @throws `person_not_found`, `person_of_provider`
   * @example
   * await client.person.change({ id: 'pers_Zm9vYmFyYmF6cXV4cXV1eA', name: 'Ada Lovelace', role: 'auditor' });
   */
  readonly change: (person: ChangePerson, options?: CallOptions) => Promise<Person>;
  /**
   * Ends a person, on every server at once, with its sessions, invitation, passkeys and credentials. Also throws `person_not_found` if an
   * earlier attempt, whose reply was lost, has succeeded.
   * @see /guide/people
   * @throws `person_not_found`
   * @example
   * await client.person.delete({ id: 'pers_Zm9vYmFyYmF6cXV4cXV1eA' });
   */
  readonly delete: (person: DeletePerson, options?: CallOptions) => Promise<Message>;
  /**
   * Shows a new invitation once, for somebody who has lost a passkey; the one before ends. It adds a passkey and removes none. The call is
   * retried only if the service has rejected the request without any effect.
   * @see /guide/people
   * @throws `person_not_found`, `person_of_provider`, `people_unavailable`
   * @example
   * const { invitation } = await client.person.invite({ id: 'pers_Zm9vYmFyYmF6cXV4cXV1eA' });
   */
  readonly invite: (person: InvitePerson, options?: CallOptions) => Promise<InvitedPerson>;
  /**
   * Removes a passkey of a person, such as that of a lost device, and ends all its sessions.
   * @see /guide/people
   * @throws `person_not_found`, `passkey_not_found`
   * @example
   * await client.person.deletePasskey({ id: 'pers_Zm9vYmFyYmF6cXV4cXV1eA', passkey_id: 'Zm9vYmFyYmF6cXV4' });
   */
  readonly deletePasskey: (passkey: DeletePasskey, options?: CallOptions) => Promise<Message>;
}

/** The path of one person. */
function pathOf(id: string): readonly string[] {
  return ['person', needText({ id }).id];
}

/** The calls of people. */
export function createPersonCalls(transport: Transport): PersonCalls {
  return {
    create: (person, options) => sendJson(transport, 'POST', ['person'], 'when_rejected', person, options),
    list: (options) => get(transport, ['person'], {}, options),
    roles: (options) => get(transport, ['person', 'role'], {}, options),
    get: async ({ id }, options) => get(transport, pathOf(id), {}, options),
    change: async ({ id, ...person }, options) =>
      sendJson(transport, 'PUT', pathOf(id), 'always', person, options),
    delete: async ({ id }, options) => remove(transport, pathOf(id), {}, options),
    invite: async ({ id }, options) =>
      sendJson(transport, 'POST', [...pathOf(id), 'invite'], 'when_rejected', {}, options),
    deletePasskey: async ({ id, passkey_id }, options) =>
      remove(transport, [...pathOf(id), 'passkey', needText({ passkey_id }).passkey_id], {}, options),
  };
}
