import { Type } from '@sinclair/typebox';
import { objectOf } from '../http/audit.ts';
import { secretBytes } from '../http/passphrase.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message } from '../schema/common.ts';
import {
  CreateRecoveryBody,
  KeyWithPassphrase,
  RecoverBody,
  Recovery,
  RecoveryQuery,
  RemoveRecoveryBody,
} from './schema.ts';

const createRecovery = defineRoute({
  method: 'POST',
  path: '/v1/key/recovery',
  operationId: 'createRecovery',
  scope: 'key:write',
  noun: 'key',
  summary: 'Make a recovery of a key',
  description:
    'Splits a recovery secret of the key: of the shares, one for each recipient, `threshold` together open the key without its passphrase. A recovery that the key had is replaced, and its shares become useless. Later changes of the passphrase keep it valid.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'none',
  body: { kind: 'json', schema: CreateRecoveryBody, bytesMax: BODY_BYTES.short },
  response: Recovery,
  errors: ['passphrase_wrong', 'key_not_found', 'key_changed', 'integrity_failed'],
  meter: ['key'],
  idempotent: false,
  audit: { action: 'key.recovery.create', of: 'all', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body, services }) => ({
    json: await services.recoveries.create(ctx, { ...body, passphrase: secretBytes(body.passphrase) }),
  }),
});

const readRecovery = defineRoute({
  method: 'GET',
  path: '/v1/key/recovery',
  operationId: 'readRecovery',
  scope: 'key:read',
  noun: 'key',
  summary: 'Read the recovery of a key',
  description: 'Returns the shares of a key, encrypted for their recipients, and how many of them open it.',
  auth: 'basic',
  query: RecoveryQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: Recovery,
  errors: ['key_not_found', 'recovery_not_found', 'integrity_failed'],
  meter: ['key'],
  idempotent: false,
  handle: async ({ ctx, query, services }) => ({ json: await services.recoveries.read(ctx, query) }),
});

const removeRecovery = defineRoute({
  method: 'DELETE',
  path: '/v1/key/recovery',
  operationId: 'deleteRecovery',
  scope: 'key:write',
  noun: 'key',
  summary: 'Remove the recovery of a key',
  description: 'Removes the shares. From then on the passphrase alone opens the key.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'none',
  body: { kind: 'json', schema: RemoveRecoveryBody, bytesMax: BODY_BYTES.short },
  response: Message,
  errors: ['passphrase_wrong', 'key_not_found', 'recovery_not_found', 'key_changed', 'integrity_failed'],
  meter: ['key'],
  idempotent: false,
  audit: { action: 'key.recovery.remove', of: 'all', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body, services }) => {
    await services.recoveries.remove(ctx, { user: body.user, passphrase: secretBytes(body.passphrase) });
    return { json: { message: 'The recovery was removed.' } };
  },
});

const recoverKey = defineRoute({
  method: 'POST',
  path: '/v1/key/recover',
  operationId: 'recoverKey',
  scope: 'key:write',
  noun: 'key',
  summary: 'Recover a key with shares',
  description:
    'Opens a key with decrypted shares and puts it under a new passphrase. As after a change of the passphrase, the old one and every capture and retrieval endpoint of the key become invalid immediately, and stored data does not change. The shares stay valid.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'none',
  body: { kind: 'json', schema: RecoverBody, bytesMax: BODY_BYTES.short },
  response: KeyWithPassphrase,
  errors: ['recovery_refused', 'key_not_found', 'key_changed', 'integrity_failed'],
  meter: ['key'],
  idempotent: false,
  audit: { action: 'key.recover', of: 'all', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body, services }) => {
    const { user, shares, new_passphrase } = body;
    const { passphrase } = await services.recoveries.recoverKey(ctx, {
      user,
      shares: shares.map(secretBytes),
      new_passphrase: new_passphrase === undefined ? undefined : secretBytes(new_passphrase),
    });
    return { json: { user, passphrase: passphrase.expose() } };
  },
});

export const RECOVERY_ROUTES = [createRecovery, readRecovery, removeRecovery, recoverKey];
