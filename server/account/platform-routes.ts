import { OPERATOR_SCOPE } from '../core/scopes.ts';
import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message } from '../schema/common.ts';
import type { Platform } from './platform.ts';
import {
  Account,
  AccountList,
  AccountPath,
  ChangeAccount,
  CreateAccount,
  NewAccount,
  ReplacedPassword,
} from './platform-schema.ts';

interface Needs {
  readonly platform: Platform;
}

const COMMON = { noun: 'account', auth: 'basic', scope: OPERATOR_SCOPE, meter: [] } as const;
const OF_NAME = { ...COMMON, params: AccountPath } as const;

const createAccount = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/account',
  operationId: 'createAccount',
  summary: 'Create an account',
  description:
    'Makes an account and shows its password once. It sees numbers masked unless `unmasked` is set. Of two requests with one name at the same time, one gets 409.',
  body: { kind: 'json', schema: CreateAccount, bytesMax: BODY_BYTES.short },
  response: NewAccount,
  errors: ['account_exists'],
  audit: { action: 'account.create', object: ({ body }) => objectOf('account', body.name) },
  handle: async ({ ctx, body }, services: Needs) => {
    const { account, password } = await services.platform.create(ctx, body);
    const { name, ...rights } = account;
    return { json: { name, password: password.expose(), ...rights } };
  },
});

const listAccounts = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/account',
  operationId: 'listAccounts',
  summary: 'List accounts',
  description: 'Lists all accounts of the vault with their rights.',
  response: AccountList,
  errors: [],
  handle: async (_call, services: Needs) => ({ json: await services.platform.list() }),
});

const readAccount = defineRoute({
  ...OF_NAME,
  method: 'GET',
  path: '/v1/account/{name}',
  operationId: 'readAccount',
  summary: 'Read an account',
  description: 'Returns one account with its rights.',
  response: Account,
  errors: ['account_not_found'],
  handle: async ({ params }, services: Needs) => ({ json: await services.platform.read(params.name) }),
});

const changeAccount = defineRoute({
  ...OF_NAME,
  method: 'PATCH',
  path: '/v1/account/{name}',
  operationId: 'changeAccount',
  summary: 'Change an account',
  description:
    'Changes the rights that the body names, on every server with the next request. `null` removes `hosts` or `rate`.',
  body: { kind: 'json', schema: ChangeAccount, bytesMax: BODY_BYTES.short },
  response: Account,
  errors: ['account_not_found'],
  audit: { action: 'account.change', object: ({ params }) => objectOf('account', params.name) },
  handle: async ({ ctx, params, body }, services: Needs) => ({
    json: await services.platform.change(ctx, params.name, body),
  }),
});

const deleteAccount = defineRoute({
  ...OF_NAME,
  method: 'DELETE',
  path: '/v1/account/{name}',
  operationId: 'deleteAccount',
  summary: 'Delete an account',
  description:
    'Deletes an account that has no vault key, with everything that it has made. Its name is never given again here.',
  response: Message,
  errors: ['account_not_found', 'account_not_empty'],
  audit: { action: 'account.delete', object: ({ params }) => objectOf('account', params.name) },
  handle: async ({ ctx, params }, services: Needs) => {
    await services.platform.remove(ctx, params.name);
    return { json: { message: 'The account was deleted.' } };
  },
});

const replacePassword = defineRoute({
  ...OF_NAME,
  method: 'POST',
  path: '/v1/account/{name}/password',
  operationId: 'replaceAccountPassword',
  summary: 'Give an account a new password',
  description:
    'Makes a new password and shows it once. The old one, and one that a change left valid, end at once on every server; API credentials of the account stay.',
  response: ReplacedPassword,
  errors: ['account_not_found'],
  audit: { action: 'password.change', object: ({ params }) => objectOf('account', params.name) },
  handle: async ({ ctx, params: { name } }, services: Needs) => {
    const password = await services.platform.replacePassword(ctx, name);
    return { json: { name, password: password.expose() } };
  },
});

const suspendAccount = defineRoute({
  ...OF_NAME,
  method: 'POST',
  path: '/v1/account/{name}/suspend',
  operationId: 'suspendAccount',
  summary: 'Suspend an account',
  description:
    'From now on every request with the password, a credential or the secret of an endpoint of the account gets 403 `account_suspended`, on every server; accepted requests, webhooks and events wait. What expires does so. Can be repeated.',
  response: Account,
  errors: ['account_not_found'],
  audit: { action: 'account.suspend', object: ({ params }) => objectOf('account', params.name) },
  handle: async ({ ctx, params }, services: Needs) => ({
    json: await services.platform.suspend(ctx, params.name),
  }),
});

const resumeAccount = defineRoute({
  ...OF_NAME,
  method: 'POST',
  path: '/v1/account/{name}/resume',
  operationId: 'resumeAccount',
  summary: 'Resume an account',
  description: 'Ends a suspension: requests are answered, and what waited is sent. Can be repeated.',
  response: Account,
  errors: ['account_not_found'],
  audit: { action: 'account.resume', object: ({ params }) => objectOf('account', params.name) },
  handle: async ({ ctx, params }, services: Needs) => ({
    json: await services.platform.resume(ctx, params.name),
  }),
});

export const PLATFORM_ROUTES = [
  createAccount,
  listAccounts,
  readAccount,
  changeAccount,
  deleteAccount,
  replacePassword,
  suspendAccount,
  resumeAccount,
];
