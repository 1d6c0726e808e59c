import { formatExpiry, formatStoredAt } from '../../domain/text/time.ts';
import { defineRoute } from '../../http/route.ts';
import { personOf } from '../../request/permission.ts';
import { Message } from '../../schema/common.ts';
import type { Persons } from '../person/persons.ts';
import { PersonSelf, SignOutQuery } from './schema.ts';
import type { Sessions } from './sessions.ts';

interface Needs {
  readonly persons: Persons;
  readonly sessions: Sessions;
}

const COMMON = { noun: 'person', auth: 'basic', scope: 'person', meter: [] } as const;

const readSelf = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/person/self',
  operationId: 'readSelf',
  summary: 'Read the signed-in person',
  description:
    'Returns the person whose session the request has, and when the session began and ends at the latest.',
  response: PersonSelf,
  errors: ['person_not_found'],
  handle: async ({ ctx }, services: Needs) => {
    const { id, signedInMs, expiresAtMs } = personOf(ctx.account);
    return {
      json: {
        ...(await services.persons.read(ctx.account.aid, id)),
        signed_in_at: formatStoredAt(signedInMs),
        expires_at: formatExpiry(expiresAtMs),
      },
    };
  },
});

const signOut = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/person/self/session',
  operationId: 'signOut',
  summary: 'Sign out',
  description:
    'Ends the session of the request, on every server at once; with `all` every session of the person.',
  query: SignOutQuery,
  response: Message,
  errors: ['person_not_found'],
  handle: async ({ ctx, query }, services: Needs) => ({
    headers: { 'Set-Cookie': await (query.all ? services.sessions.endAll(ctx) : services.sessions.end(ctx)) },
    json: { message: 'You are signed out.' },
  }),
});

export const SESSION_ROUTES = [readSelf, signOut];
