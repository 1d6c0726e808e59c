import { secretBytes } from '../core/secret.ts';
import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import type { Reseals } from './reseals.ts';
import { ResealBody, ResealProgress, ResealQuery } from './schema.ts';

interface Needs {
  readonly reseals: Reseals;
}

const COMMON = { noun: 'key', auth: 'basic', meter: ['key'] } as const;

const startReseal = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/key/reseal',
  operationId: 'resealKey',
  scope: 'key:write',
  summary: 'Seal the items of a key anew',
  description:
    'Starts to seal all items of a key under its newest generation, in the background. After a change of the passphrase they stay under the generation that they were stored with, which the new passphrase opens too. After a change of `summary` it gives items the summary that they lack, or takes it away. Data, times and logs do not change. A repeat while it runs changes nothing; after a pause it goes on.',
  body: { kind: 'json', schema: ResealBody, bytesMax: BODY_BYTES.short },
  response: ResealProgress,
  errors: ['passphrase_wrong', 'key_not_found', 'key_changed'],
  audit: { action: 'key.reseal', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body }, services: Needs) => ({
    json: await services.reseals.start(ctx, { user: body.user, passphrase: secretBytes(body.passphrase) }),
  }),
});

const readReseal = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/key/reseal',
  operationId: 'readReseal',
  scope: 'key:read',
  summary: 'Read the progress of a reseal',
  description: 'Returns how many items of a key have been sealed anew.',
  query: ResealQuery,
  response: ResealProgress,
  errors: ['key_not_found'],
  handle: async ({ ctx, query }, services: Needs) => ({ json: await services.reseals.progress(ctx, query) }),
});

export const RESEAL_ROUTES = [startReseal, readReseal];
