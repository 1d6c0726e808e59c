import { Type } from '@sinclair/typebox';
import { secretBytes } from '../core/secret.ts';
import { objectOf } from '../http/audit.ts';
import { nextTokenHeader, replayHeader } from '../http/reply.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message } from '../schema/common.ts';
import type { Keys, NewPassphrase } from './keys.ts';
import type { Recoveries } from './recoveries.ts';
import {
  ChangePassphraseBody,
  CreateKeyBody,
  CreateRecoveryBody,
  KeyList,
  KeyListQuery,
  KeyRemoveQuery,
  KeyWithPassphrase,
  RecoverBody,
  Recovery,
  RecoveryQuery,
  RemoveRecoveryBody,
} from './schema.ts';

/** Services of these routes. */
interface Needs {
  readonly keys: Keys;
  readonly recoveries: Recoveries;
}

function shown({ user, passphrase }: NewPassphrase) {
  return { user, passphrase: passphrase.expose() };
}

function secretOf(text: string | undefined) {
  return text === undefined ? undefined : secretBytes(text);
}

const createKey = defineRoute({
  method: 'POST',
  path: '/v1/key',
  operationId: 'createKey',
  scope: 'key:write',
  noun: 'key',
  summary: 'Create a key',
  description:
    'Creates a vault key with the identifier `user`, protected by the given passphrase or a generated one. Only this reply contains the passphrase.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'none',
  body: { kind: 'json', schema: CreateKeyBody, bytesMax: BODY_BYTES.short },
  response: KeyWithPassphrase,
  errors: ['key_exists', 'idempotency_passphrase_required'],
  meter: ['key'],
  idempotent: true,
  audit: { action: 'key.create', of: 'all', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body }, services: Needs) => {
    const { reply, replayed } = await services.keys.create(ctx, {
      user: body.user,
      passphrase: secretOf(body.passphrase),
      summary: body.summary,
    });
    return { json: shown(reply), headers: replayHeader(replayed) };
  },
});

const listKeys = defineRoute({
  method: 'GET',
  path: '/v1/key',
  operationId: 'listKeys',
  scope: 'key:read',
  noun: 'key',
  summary: 'List keys',
  description: 'Lists the identifiers of the keys of the account.',
  auth: 'basic',
  query: KeyListQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: KeyList,
  errors: ['cursor_invalid'],
  meter: ['key'],
  idempotent: false,
  handle: async ({ ctx, query }, services: Needs) => {
    const { keys, nextToken } = await services.keys.list(ctx, query);
    return { json: keys, headers: nextTokenHeader(nextToken) };
  },
});

const changePassphrase = defineRoute({
  method: 'PUT',
  path: '/v1/key',
  operationId: 'changePassphrase',
  scope: 'key:write',
  noun: 'key',
  summary: 'Change the passphrase of a key',
  description:
    'The old passphrase and every capture and retrieval endpoint of the key become invalid immediately. Stored data does not change.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'none',
  body: { kind: 'json', schema: ChangePassphraseBody, bytesMax: BODY_BYTES.short },
  response: KeyWithPassphrase,
  errors: ['passphrase_wrong', 'key_not_found', 'key_changed', 'integrity_failed'],
  meter: ['key'],
  idempotent: false,
  audit: { action: 'key.change', of: 'all', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body }, services: Needs) => ({
    json: shown(
      await services.keys.changePassphrase(ctx, {
        user: body.user,
        passphrase: secretBytes(body.passphrase),
        new_passphrase: secretOf(body.new_passphrase),
      }),
    ),
  }),
});

const removeKey = defineRoute({
  method: 'DELETE',
  path: '/v1/key',
  operationId: 'deleteKey',
  scope: 'key:write',
  noun: 'key',
  summary: 'Delete a key',
  description:
    'Deletes an empty key. With safe=false, deletes the key and makes all its data permanently unreadable.',
  auth: 'basic',
  query: KeyRemoveQuery,
  passphrase: 'none',
  body: { kind: 'none' },
  response: Message,
  errors: ['key_not_found', 'key_not_empty', 'key_changed'],
  meter: ['key'],
  idempotent: false,
  audit: { action: 'key.delete', of: 'all', object: ({ query }) => objectOf('key', query.user) },
  handle: async ({ ctx, query }, services: Needs) => {
    await services.keys.remove(ctx, query);
    return { json: { message: 'The key was deleted.' } };
  },
});

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
  handle: async ({ ctx, body }, services: Needs) => ({
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
  handle: async ({ ctx, query }, services: Needs) => ({ json: await services.recoveries.read(ctx, query) }),
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
  handle: async ({ ctx, body }, services: Needs) => {
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
  handle: async ({ ctx, body }, services: Needs) => {
    const recovered = await services.recoveries.recoverKey(ctx, {
      user: body.user,
      shares: body.shares.map(secretBytes),
      new_passphrase: secretOf(body.new_passphrase),
    });
    return { json: shown(recovered) };
  },
});

export const KEY_ROUTES = [
  createKey,
  listKeys,
  changePassphrase,
  removeKey,
  createRecovery,
  readRecovery,
  removeRecovery,
  recoverKey,
];
