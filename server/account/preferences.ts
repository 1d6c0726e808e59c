import { VaultError } from '../core/errors.ts';
import { parseStoredObject } from '../domain/json/json.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { requireAlgorithm, requireReveal } from '../request/permission.ts';
import { IDENTIFIER_EXPECTED } from '../schema/common.ts';
import {
  checkPreference,
  isSystemPreference,
  type OwnPreference,
  type ShownPreference,
  showPreferences,
  withoutPreference,
  withPreference,
} from './preference-values.ts';
import type { AccountRecords } from './records.ts';

const encoder = new TextEncoder();

/** Preferences of an account. Results are JSON text as UTF-8, since values keep their exact text. */
export class AccountPreferences {
  constructor(
    private readonly records: AccountRecords,
    private readonly metering: Metering,
  ) {}

  /** Sets a preference by JSON text. Rejects with `invalid_request`, `body_too_large`, `preferences_full`, `not_allowed`. */
  async set(ctx: AccountContext, body: Uint8Array) {
    const { key, value } = parsePreference(body);
    const text = checkPreference(key, value);
    if (key === 'mask_fields') {
      requireReveal(ctx.account, 'body.key');
    }
    if (key === 'default_algorithm' && typeof value === 'string') {
      requireAlgorithm(ctx.account, value, 'body.value');
    }
    await this.change(ctx, (own) => withPreference(own, key, text));
    this.metering.count(ctx, 'preference');
    return { key, jsonBytes: encoder.encode(textOf({ key, value: text, is_default: false })) };
  }

  /** Returns one preference. Rejects with `preference_not_found`. */
  async read(ctx: AccountContext, key: string): Promise<Uint8Array> {
    const found = (await this.show(ctx)).find((each) => each.key === key);
    if (!found) {
      throw new VaultError('preference_not_found', { field: 'query.key' });
    }
    this.metering.count(ctx, 'preference');
    return encoder.encode(textOf(found));
  }

  /** Returns all preferences, those of the system with their defaults. */
  async list(ctx: AccountContext): Promise<Uint8Array> {
    const texts = (await this.show(ctx)).map(textOf);
    this.metering.count(ctx, 'preference');
    return encoder.encode(`[${texts.join()}]`);
  }

  /** Removes one; a preference of the system has its default again. Rejects with `preference_not_found` and `not_allowed`. */
  async remove(ctx: AccountContext, key: string): Promise<void> {
    if (key === 'mask_fields') {
      requireReveal(ctx.account, 'query.key');
    }
    await this.change(ctx, (own) => {
      const next = withoutPreference(own, key);
      if (next.length === own.length && !isSystemPreference(key)) {
        throw new VaultError('preference_not_found', { field: 'query.key' });
      }
      return next;
    });
    this.metering.count(ctx, 'preference');
  }

  /** Returns the preferences as they are stored now. Rejects with `unauthenticated` if the account is gone. */
  private async show({ account }: AccountContext): Promise<readonly ShownPreference[]> {
    return showPreferences((await this.records.readOwn(account)).preferences ?? []);
  }

  /** Changes the preferences, on every server at once; if `edit` throws, nothing changes. */
  private change(ctx: AccountContext, edit: (own: readonly OwnPreference[]) => readonly OwnPreference[]) {
    return this.records.changeOwn(ctx, (record) => ({
      ...record,
      preferences: edit(record.preferences ?? []),
    }));
  }
}

function parsePreference(body: Uint8Array) {
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

/** Writes a value as it was sent; names need no escapes. */
function textOf({ key, value, is_default }: ShownPreference): string {
  return `{"key":${JSON.stringify(key)},"value":${value},"is_default":${is_default}}`;
}
