import { VaultError } from '../../core/errors.ts';
import { objectOf } from '../../http/audit.ts';
import { defineRoute } from '../../http/route.ts';
import { mayKnowKeys } from '../../request/permission.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import { Message } from '../../schema/common.ts';
import { overlapOf } from '../passwords.ts';
import type { Credentials, CredentialWithSecret as NewCredential } from './credentials.ts';
import {
  CreateCredential,
  Credential,
  CredentialList,
  CredentialPath,
  CredentialWithSecret,
  RollCredential,
} from './schema.ts';

interface Needs {
  readonly credentials: Credentials;
}

const COMMON = { noun: 'credential', auth: 'basic', scope: 'credential:write', meter: [] } as const;

function shown({ credential, secret }: NewCredential) {
  const { id, ...others } = credential;
  return { id, secret: secret.expose(), ...others };
}

const createCredential = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/credential',
  operationId: 'createCredential',
  summary: 'Create a credential',
  description:
    'Makes an API credential with a part of the rights of the account, and shows its secret once. It sees numbers masked unless `unmasked` is set. A credential that makes another one gives it no more than it has itself, and its own limits where none are given.',
  body: { kind: 'json', schema: CreateCredential, bytesMax: BODY_BYTES.short },
  response: CredentialWithSecret,
  errors: ['credentials_full', 'sign_in_again'],
  audit: { action: 'credential.create', object: () => 'credential' },
  handle: async ({ ctx, body }, services: Needs) => {
    const made = await services.credentials.create(ctx.account, body);
    ctx.change = made.change;
    return { json: shown(made), object: objectOf('credential', made.credential.id) };
  },
});

const listCredentials = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/credential',
  operationId: 'listCredentials',
  summary: 'List credentials',
  description:
    'Lists the credentials of the account, with the time of their last use, without secrets. Who is limited to vault keys sees none that is limited to others.',
  response: CredentialList,
  errors: [],
  handle: async ({ ctx: { account } }, services: Needs) => ({
    json: (await services.credentials.list(account.aid)).filter(({ keys }) => mayKnowKeys(account, keys)),
  }),
});

const readCredential = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/credential/{id}',
  operationId: 'readCredential',
  summary: 'Read a credential',
  description: 'Returns one credential, with the time of its last use, without its secret.',
  params: CredentialPath,
  response: Credential,
  errors: ['credential_not_found'],
  handle: async ({ ctx: { account }, params }, services: Needs) => {
    const credential = await services.credentials.read(account.aid, params.id);
    if (!mayKnowKeys(account, credential.keys)) {
      throw new VaultError('credential_not_found');
    }
    return { json: credential };
  },
});

const removeCredential = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/credential/{id}',
  operationId: 'deleteCredential',
  summary: 'Delete a credential',
  description:
    'Ends a credential, on every server at once. What it has made stays: keys, endpoints, and requests that were accepted. A credential deletes only those within its own limits, and itself.',
  params: CredentialPath,
  response: Message,
  errors: ['credential_not_found'],
  audit: { action: 'credential.delete', object: ({ params }) => objectOf('credential', params.id) },
  handle: async ({ ctx, params }, services: Needs) => {
    const removed = await services.credentials.remove(ctx.account, params.id);
    if (removed === undefined) {
      throw new VaultError('credential_not_found');
    }
    ctx.change = removed.change;
    return { json: { message: 'The credential was deleted.' } };
  },
});

const rollCredential = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/credential/{id}/roll',
  operationId: 'rollCredential',
  summary: 'Give a credential a new secret',
  description:
    'Makes a new secret and shows it once. With `overlap` the secret before it lives on for so long; any other secret ends at once. Id, rights and expiry stay. A credential rolls only those within its own limits, and itself.',
  params: CredentialPath,
  body: { kind: 'json', schema: RollCredential, bytesMax: BODY_BYTES.short },
  response: CredentialWithSecret,
  errors: ['credential_not_found', 'sign_in_again'],
  audit: { action: 'credential.roll', object: ({ params }) => objectOf('credential', params.id) },
  handle: async ({ ctx, params, body }, services: Needs) => {
    const overlapMs = overlapOf(body.overlap);
    const rolled = await services.credentials.roll(ctx.account, params.id, overlapMs);
    ctx.change = rolled.change;
    return { json: shown(rolled) };
  },
});

export const CREDENTIAL_ROUTES = [
  createCredential,
  listCredentials,
  readCredential,
  removeCredential,
  rollCredential,
];
