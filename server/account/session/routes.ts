import { formatExpiry, formatStoredAt } from '../../domain/text/time.ts';
import { defineRoute } from '../../http/route.ts';
import { personOf } from '../../request/permission.ts';
import type { OidcSignIns } from '../oidc/oidc-sign-ins.ts';
import type { Persons } from '../person/persons.ts';
import { PersonSelf, SignedOut, SignOutQuery } from './schema.ts';
import type { Sessions } from './sessions.ts';

interface Needs {
  readonly persons: Persons;
  readonly sessions: Sessions;
  readonly oidcSignIns?: OidcSignIns | undefined;
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
  response: SignedOut,
  errors: ['person_not_found'],
  handle: async ({ ctx, query }, { sessions, oidcSignIns }: Needs) => {
    const { passkeyId } = personOf(ctx.account);
    const cookie = await (query.all ? sessions.endAll(ctx) : sessions.end(ctx));
    const url = passkeyId === undefined ? await oidcSignIns?.signOutUrl() : undefined;
    return {
      headers: { 'Set-Cookie': cookie },
      json: { message: 'You are signed out.', ...(url === undefined ? {} : { sign_out_url: url }) },
    };
  },
});

export const SESSION_ROUTES = [readSelf, signOut];
