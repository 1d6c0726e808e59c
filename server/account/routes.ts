import { VaultError } from '../core/errors.ts';
import { secretBytes } from '../core/secret.ts';
import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message } from '../schema/common.ts';
import type { Accounts } from './accounts.ts';
import { overlapOf } from './passwords.ts';
import type { AccountPreferences } from './preferences.ts';
import {
  AccountPassword,
  ChangePasswordBody,
  ChangePasswordQuery,
  Preference,
  PreferenceQuery,
  PreferenceReadQuery,
  PreferencesReply,
  SetPreference,
  WhoAmI,
} from './schema.ts';

interface Needs {
  readonly accounts: Accounts;
  readonly preferences: AccountPreferences;
}

const COMMON = { noun: 'admin', auth: 'basic', meter: [] } as const;

const whoami = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/whoami',
  operationId: 'whoami',
  scope: 'any',
  summary: 'Identify the account',
  description:
    'Returns the name of the account that the credentials belong to, and the environment and version of the server.',
  response: WhoAmI,
  errors: [],
  handle: async ({ ctx }, services: Needs) => ({ json: await services.accounts.whoami(ctx) }),
});

/** One value of two places. */
function same(inBody: string | undefined, inQuery: string | undefined): string | undefined {
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery) {
    throw new VaultError('conflicting_parameters', { field: 'query.new_password' });
  }
  return inBody ?? inQuery;
}

const changePassword = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/change-password',
  operationId: 'changePassword',
  scope: 'password',
  summary: 'Change the password of the account',
  description:
    'The old password becomes invalid immediately, on every server; with `overlap` it can be used for so long, but not to change the password again. There are no rules for the new one; 32 characters or more are recommended, and one is generated if it is omitted. At most five changes per minute. Of two concurrent changes one fails with `password_changed`.',
  query: ChangePasswordQuery,
  body: { kind: 'json', schema: ChangePasswordBody, bytesMax: BODY_BYTES.short },
  response: AccountPassword,
  errors: ['conflicting_parameters', 'password_changed', 'too_many_changes'],
  audit: { action: 'password.change', object: ({ ctx }) => objectOf('account', ctx.account.name) },
  handle: async ({ ctx, query, body }, services: Needs) => {
    const chosen = same(body.new_password, query.new_password);
    const { user, password } = await services.accounts.changePassword(
      ctx,
      chosen === undefined ? undefined : secretBytes(chosen),
      overlapOf(body.overlap),
    );
    return { json: { user, password: password.expose() } };
  },
});

const setPreference = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/preferences',
  operationId: 'setPreference',
  scope: 'preference:write',
  summary: 'Set a preference',
  description:
    'Sets or replaces a preference of the account. `default_algorithm`, `default_limit`, `mask_fields`, `return_card_metadata` and `webhook_max_attempts` are the defaults of the parameters of the same meaning. A credential needs `vault:read` and unmasked output to change `mask_fields` and to set a `default_algorithm` that keeps digits of the number (`partial_…`). Other names are custom preferences, up to 64 of them and 16 KB.',
  body: { kind: 'stored', schema: SetPreference, bytesMax: BODY_BYTES.short },
  response: Preference,
  errors: ['preferences_full'],
  meter: ['preference'],
  audit: { action: 'preference.set' },
  handle: async ({ ctx, body }, services: Needs) => {
    const { key, jsonBytes } = await services.preferences.set(ctx, body);
    return { jsonBytes, object: objectOf('preference', key) };
  },
});

const readPreferences = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/preferences',
  operationId: 'readPreferences',
  scope: 'preference:write',
  summary: 'Read one preference, or list all',
  description:
    'With `key`, returns that preference; otherwise all preferences of the account and the defaults that apply.',
  query: PreferenceReadQuery,
  response: PreferencesReply,
  errors: ['preference_not_found'],
  meter: ['preference'],
  handle: async ({ ctx, query: { key } }, services: Needs) => ({
    jsonBytes:
      key === undefined ? await services.preferences.list(ctx) : await services.preferences.read(ctx, key),
  }),
});

const removePreference = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/preferences',
  operationId: 'deletePreference',
  scope: 'preference:write',
  summary: 'Delete a preference',
  description: 'Deletes a preference. If the vault uses it, its default applies again.',
  query: PreferenceQuery,
  response: Message,
  errors: ['preference_not_found'],
  meter: ['preference'],
  audit: { action: 'preference.delete', object: ({ query }) => objectOf('preference', query.key) },
  handle: async ({ ctx, query }, services: Needs) => {
    await services.preferences.remove(ctx, query.key);
    return { json: { message: 'The preference was deleted.' } };
  },
});

export const ACCOUNT_ROUTES = [whoami, changePassword, setPreference, readPreferences, removePreference];
