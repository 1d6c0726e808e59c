import type { Wire } from '../wires.ts';

const id = 'pers_Zm9vYmFyYmF6cXV4cXV1eA';
const person = { name: 'Ada', role: 'support', keys: ['shop'] } as const;

/** What the methods of people send. */
export const PERSONS: Readonly<Record<string, Wire>> = {
  'person.create': {
    call: ({ client }) => client.person.create({ ...person, keys: ['shop'] }),
    request: 'POST /v1/person',
    body: person,
  },
  'person.list': { call: ({ client }) => client.person.list(), request: 'GET /v1/person' },
  'person.roles': { call: ({ client }) => client.person.roles(), request: 'GET /v1/person/role' },
  'person.get': { call: ({ client }) => client.person.get({ id }), request: `GET /v1/person/${id}` },
  'person.change': {
    call: ({ client }) => client.person.change({ id, ...person, keys: ['shop'] }),
    request: `PUT /v1/person/${id}`,
    body: person,
  },
  'person.delete': { call: ({ client }) => client.person.delete({ id }), request: `DELETE /v1/person/${id}` },
  'person.invite': {
    call: ({ client }) => client.person.invite({ id }),
    request: `POST /v1/person/${id}/invite`,
    body: {},
  },
  'person.deletePasskey': {
    call: ({ client }) => client.person.deletePasskey({ id, passkey_id: 'Zm9vYmFy' }),
    request: `DELETE /v1/person/${id}/passkey/Zm9vYmFy`,
  },
};
