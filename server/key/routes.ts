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

interface Needs {
  readonly keys: Keys;
  readonly recoveries: Recoveries;
}

const COMMON = { noun: 'key', auth: 'basic', meter: ['key'] } as const;

function shown({ user, passphrase, summary }: NewPassphrase) {
  return { user, passphrase: passphrase.expose(), ...(summary === undefined ? {} : { summary }) };
}

function secretOf(text: string | undefined) {
  return text === undefined ? undefined : secretBytes(text);
}

const createKey = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/key',
  operationId: 'createKey',
  scope: 'key:write',
  summary: 'Create a key',
  description:
    'Creates a vault key with the identifier `key`, protected by the given passphrase or a generated one. Only this reply contains the passphrase.',
  body: { kind: 'json', schema: CreateKeyBody, bytesMax: BODY_BYTES.short },
  response: KeyWithPassphrase,
  errors: ['key_exists', 'idempotency_passphrase_required', 'passphrase_wrong', 'key_not_found'],
  idempotent: true,
  audit: { action: 'key.create', object: ({ body }) => objectOf('key', body.user) },
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
  ...COMMON,
  method: 'GET',
  path: '/v1/key',
  operationId: 'listKeys',
  scope: 'key:read',
  summary: 'List keys',
  description: 'Lists the identifiers of the keys of the account.',
  query: KeyListQuery,
  response: KeyList,
  errors: ['cursor_invalid'],
  handle: async ({ ctx, query }, services: Needs) => {
    const { keys, nextToken } = await services.keys.list(ctx, query);
    return { json: keys, headers: nextTokenHeader(nextToken) };
  },
});

const changePassphrase = defineRoute({
  ...COMMON,
  method: 'PUT',
  path: '/v1/key',
  operationId: 'changePassphrase',
  scope: 'key:write',
  summary: 'Change the passphrase of a key, or its summaries',
  description:
    'The old passphrase and every capture and retrieval endpoint of the key become invalid immediately. Stored data does not change. With `summary` and without `new_passphrase`, passphrase and endpoints stay, and only whether the key has summaries changes.',
  body: { kind: 'json', schema: ChangePassphraseBody, bytesMax: BODY_BYTES.short },
  response: KeyWithPassphrase,
  errors: ['passphrase_wrong', 'key_not_found', 'key_changed'],
  audit: {
    action: 'key.change',
    object: ({ body: { user, summary } }) =>
      objectOf('key', user, ...(summary === undefined ? [] : [`summary:${summary}`])),
  },
  handle: async ({ ctx, body }, services: Needs) => ({
    json: shown(
      await services.keys.change(ctx, {
        user: body.user,
        passphrase: secretBytes(body.passphrase),
        new_passphrase: secretOf(body.new_passphrase),
        summary: body.summary,
      }),
    ),
  }),
});

const removeKey = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/key',
  operationId: 'deleteKey',
  scope: 'key:write',
  summary: 'Delete a key',
  description:
    'Deletes an empty key. With safe=false, deletes the key and makes all its data permanently unreadable.',
  query: KeyRemoveQuery,
  response: Message,
  errors: ['key_not_found', 'key_not_empty', 'key_changed'],
  audit: { action: 'key.delete', object: ({ query }) => objectOf('key', query.user) },
  handle: async ({ ctx, query }, services: Needs) => {
    await services.keys.remove(ctx, query);
    return { json: { message: 'The key was deleted.' } };
  },
});

const createRecovery = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/key/recovery',
  operationId: 'createRecovery',
  scope: 'key:write',
  summary: 'Make a recovery of a key',
  description:
    'Splits a recovery secret of the key: of the shares, one for each recipient, `threshold` together open the key without its passphrase. A recovery that the key had is replaced, and its shares become useless. Later changes of the passphrase keep it valid.',
  body: { kind: 'json', schema: CreateRecoveryBody, bytesMax: BODY_BYTES.short },
  response: Recovery,
  errors: ['passphrase_wrong', 'key_not_found', 'key_changed'],
  audit: { action: 'key.recovery.create', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body }, services: Needs) => ({
    json: await services.recoveries.create(ctx, { ...body, passphrase: secretBytes(body.passphrase) }),
  }),
});

const readRecovery = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/key/recovery',
  operationId: 'readRecovery',
  scope: 'key:read',
  summary: 'Read the recovery of a key',
  description: 'Returns the shares of a key, encrypted for their recipients, and how many of them open it.',
  query: RecoveryQuery,
  response: Recovery,
  errors: ['key_not_found', 'recovery_not_found'],
  handle: async ({ ctx, query }, services: Needs) => ({ json: await services.recoveries.read(ctx, query) }),
});

const removeRecovery = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/key/recovery',
  operationId: 'deleteRecovery',
  scope: 'key:write',
  summary: 'Remove the recovery of a key',
  description: 'Removes the shares. From then on the passphrase alone opens the key.',
  body: { kind: 'json', schema: RemoveRecoveryBody, bytesMax: BODY_BYTES.short },
  response: Message,
  errors: ['passphrase_wrong', 'key_not_found', 'recovery_not_found', 'key_changed'],
  audit: { action: 'key.recovery.remove', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body }, services: Needs) => {
    await services.recoveries.remove(ctx, { user: body.user, passphrase: secretBytes(body.passphrase) });
    return { json: { message: 'The recovery was removed.' } };
  },
});

const recoverKey = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/key/recover',
  operationId: 'recoverKey',
  scope: 'key:write',
  summary: 'Recover a key with shares',
  description:
    'Opens a key with decrypted shares and puts it under a new passphrase. As after a change of the passphrase, the old one and every capture and retrieval endpoint of the key become invalid immediately, and stored data does not change. The shares stay valid.',
  body: { kind: 'json', schema: RecoverBody, bytesMax: BODY_BYTES.short },
  response: KeyWithPassphrase,
  errors: ['recovery_refused', 'key_not_found', 'key_changed'],
  audit: { action: 'key.recover', object: ({ body }) => objectOf('key', body.user) },
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
