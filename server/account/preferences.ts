import { bindParts } from '../core/bind.ts';
import { VaultError } from '../core/errors.ts';
import { type JsonValue, parseStoredObject } from '../domain/json/json.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import { requireAlgorithm, requireReveal } from '../request/permission.ts';
import { IDENTIFIER_EXPECTED } from '../schema/common.ts';
import type { Accounts } from './accounts.ts';
import {
  checkPreference,
  isSystemPreference,
  type ShownPreference,
  showPreferences,
  withoutPreference,
  withPreference,
} from './preference-values.ts';

interface PreferenceParts {
  readonly metering: Pick<MeteringService, 'count'>;
  readonly accounts: Pick<Accounts, 'preferencesOf' | 'changePreferences'>;
}

const encoder = new TextEncoder();

/** Values are written as they were sent; names are plain. */
function textOf({ key, value, is_default }: ShownPreference): string {
  return `{"key":${JSON.stringify(key)},"value":${value},"is_default":${is_default}}`;
}

/** Preferences of an account. Results are JSON text as UTF-8, since values keep their exact text. */
export type AccountPreferences = ReturnType<typeof createPreferences>;

/** Makes the preferences of the accounts of a server. */
export function createPreferences(parts: PreferenceParts) {
  return bindParts(parts, { set, read, list, remove });
}

function parsePreference(body: Uint8Array): { readonly key: string; readonly value: JsonValue } {
  const members = parseStoredObject(body);
  const key = members.get('key');
  if (typeof key !== 'string' || !isIdentifier(key)) {
    throw new VaultError('invalid_request', { field: 'body.key', expected: IDENTIFIER_EXPECTED });
  }
  const value = members.get('value');
  if (value === undefined) {
    throw new VaultError('invalid_request', { field: 'body.value', expected: 'is missing' });
  }
  return { key, value };
}

/**
 * Sets one preference; `body` is the JSON text as it was sent. Rejects with `invalid_request`, `body_too_large`,
 * `preferences_full`, and `not_allowed` what decides what others see.
 */
async function set(
  { accounts, metering }: PreferenceParts,
  ctx: AccountContext,
  body: Uint8Array,
): Promise<Uint8Array> {
  const { key, value } = parsePreference(body);
  const checked = checkPreference(key, value);
  if (checked.kind !== 'valid') {
    const code = checked.kind === 'too_large' ? 'body_too_large' : 'invalid_request';
    const expected = checked.kind === 'too_large' ? undefined : 'is no value of this preference';
    throw new VaultError(code, { field: 'body.value', expected });
  }
  if (key === 'mask_fields') {
    requireReveal(ctx.account, 'body.key');
  }
  if (key === 'default_algorithm' && typeof value === 'string') {
    requireAlgorithm(ctx.account, value, 'body.value');
  }
  await accounts.changePreferences(ctx, (own) => {
    const next = withPreference(own, key, checked.text);
    if (!next) {
      throw new VaultError('preferences_full');
    }
    return next;
  });
  metering.count(ctx, 'preference');
  return encoder.encode(textOf({ key, value: checked.text, is_default: false }));
}

/** One preference. Rejects with `preference_not_found`. */
async function read(
  { accounts, metering }: PreferenceParts,
  ctx: AccountContext,
  key: string,
): Promise<Uint8Array> {
  const found = showPreferences(await accounts.preferencesOf(ctx.account)).find((each) => each.key === key);
  if (!found) {
    throw new VaultError('preference_not_found', { field: 'query.key' });
  }
  metering.count(ctx, 'preference');
  return encoder.encode(textOf(found));
}

/** All preferences, those of the system with their defaults. */
async function list({ accounts, metering }: PreferenceParts, ctx: AccountContext): Promise<Uint8Array> {
  const texts = showPreferences(await accounts.preferencesOf(ctx.account)).map(textOf);
  metering.count(ctx, 'preference');
  return encoder.encode(`[${texts.join()}]`);
}

/** Deletes one; a preference that the vault acts on has its default again. Rejects with `preference_not_found` and `not_allowed`. */
async function remove(
  { accounts, metering }: PreferenceParts,
  ctx: AccountContext,
  key: string,
): Promise<void> {
  if (key === 'mask_fields') {
    requireReveal(ctx.account, 'query.key');
  }
  await accounts.changePreferences(ctx, (own) => {
    const next = withoutPreference(own, key);
    if (next.length === own.length && !isSystemPreference(key)) {
      throw new VaultError('preference_not_found', { field: 'query.key' });
    }
    return next;
  });
  metering.count(ctx, 'preference');
}
