import { defineRoute } from '../http/route.ts';
import { GeneratedPassphrase, LuhnQuery, LuhnResult, PassphraseQuery } from './schema.ts';
import type { Utility } from './utility.ts';

interface Needs {
  readonly utility: Utility;
}

const checkNumber = defineRoute({
  method: 'GET',
  path: '/v1/luhn',
  operationId: 'checkLuhn',
  scope: 'any',
  noun: 'utility',
  summary: 'Check a card number',
  description:
    'Checks the Luhn check digit of a card number and returns the brand if the number identifies it.',
  auth: 'basic',
  query: LuhnQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: LuhnResult,
  errors: [],
  meter: ['utility'],
  idempotent: false,
  handle: async ({ ctx, query }, services: Needs) => ({
    json: await services.utility.luhn(ctx, query.number),
  }),
});

const generatePassphrase = defineRoute({
  method: 'GET',
  path: '/v1/passphrase',
  operationId: 'generatePassphrase',
  scope: 'any',
  noun: 'utility',
  summary: 'Generate a passphrase',
  description: 'Generates a passphrase from a cryptographically secure source. It is not stored.',
  auth: 'basic',
  query: PassphraseQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: GeneratedPassphrase,
  errors: [],
  meter: ['utility'],
  idempotent: false,
  handle: async ({ ctx, query }, services: Needs) => {
    const passphrase = await services.utility.passphrase(ctx, query.length);
    return { json: { passphrase: passphrase.expose() } };
  },
});

export const UTILITY_ROUTES = [checkNumber, generatePassphrase];
