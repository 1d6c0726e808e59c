import { Type } from '@sinclair/typebox';
import { defineRoute } from '../plugins/route.ts';
import { WhoAmI } from '../schema/admin.ts';

const whoami = defineRoute({
  method: 'GET',
  path: '/v1/whoami',
  operationId: 'whoami',
  noun: 'admin',
  summary: 'Check who you are',
  description: 'Returns the name of the account that the credentials belong to, and what it talks to.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'none',
  body: { kind: 'none' },
  response: WhoAmI,
  errors: [],
  meter: [],
  idempotent: false,
  handle: async ({ caller, deps }) => ({ json: await deps.accounts.whoami(caller) }),
});

export const ADMIN_ROUTES = [whoami];
