import { VaultError } from '../../core/errors.ts';
import {
  checkPreference,
  isSystemPreference,
  type ShownPreference,
  showPreferences,
  withoutPreference,
  withPreference,
} from '../../domain/account/preference.ts';
import { type JsonValue, parseStoredObject } from '../../domain/json/json.ts';
import { isIdentifier } from '../../domain/text/identifiers.ts';
import type { Accounts } from '../account/account.ts';
import type { AccountContext } from '../common/request-context.ts';
import type { MeteringService } from '../request/metering.ts';

/** Preferences of an account; whatever it gives is JSON text, since values keep their exact text. */
export interface PreferenceService {
  /** `body` is the JSON text as sent, not yet looked at. */
  readonly set: (ctx: AccountContext, body: Uint8Array) => Promise<Uint8Array>;
  readonly read: (ctx: AccountContext, key: string) => Promise<Uint8Array>;
  readonly list: (ctx: AccountContext) => Promise<Uint8Array>;
  /** Deletes one; a preference that the vault acts on has its default again. */
  readonly remove: (ctx: AccountContext, key: string) => Promise<void>;
}

/** What preferences are built from. */
interface PreferenceDependencies {
  readonly metering: Pick<MeteringService, 'count'>;
  readonly accounts: Pick<Accounts, 'preferencesOf' | 'changePreferences'>;
}

const encoder = new TextEncoder();

/** Values are written as they were sent; names are plain. */
function textOf({ key, value, is_default }: ShownPreference): string {
  return `{"key":${JSON.stringify(key)},"value":${value},"is_default":${is_default}}`;
}

function needed(value: JsonValue | undefined, field: string): JsonValue {
  if (value === undefined) {
    throw new VaultError('invalid_request', { field });
  }
  return value;
}

/** What an account wants to be served like, and whatever else it keeps there. */
export function createPreferences({ accounts, metering }: PreferenceDependencies): PreferenceService {
  const shown = async (ctx: AccountContext, key: string): Promise<Uint8Array> => {
    const found = showPreferences(await accounts.preferencesOf(ctx.account)).find((each) => each.key === key);
    if (!found) {
      throw new VaultError('preference_not_found', { field: 'query.key' });
    }
    return encoder.encode(textOf(found));
  };

  return {
    async set(ctx, body) {
      const { account } = ctx;
      const members = parseStoredObject(body);
      const key = members.get('key');
      if (typeof key !== 'string' || !isIdentifier(key)) {
        throw new VaultError('invalid_request', { field: 'body.key' });
      }
      const checked = checkPreference(key, needed(members.get('value'), 'body.value'));
      if (checked.kind !== 'valid') {
        const code = checked.kind === 'too_large' ? 'body_too_large' : 'invalid_request';
        throw new VaultError(code, { field: 'body.value' });
      }
      await accounts.changePreferences(account, (own) => {
        const next = withPreference(own, key, checked.text);
        if (!next) {
          throw new VaultError('preferences_full');
        }
        return next;
      });
      metering.count(ctx, 'preference');
      return encoder.encode(textOf({ key, value: checked.text, is_default: false }));
    },
    async read(ctx, key) {
      const text = await shown(ctx, key);
      metering.count(ctx, 'preference');
      return text;
    },
    async list(ctx) {
      const { account } = ctx;
      const texts = showPreferences(await accounts.preferencesOf(account)).map(textOf);
      metering.count(ctx, 'preference');
      return encoder.encode(`[${texts.join()}]`);
    },
    async remove(ctx, key) {
      const { account } = ctx;
      await accounts.changePreferences(account, (own) => {
        const next = withoutPreference(own, key);
        if (next.length === own.length && !isSystemPreference(key)) {
          throw new VaultError('preference_not_found', { field: 'query.key' });
        }
        return next;
      });
      metering.count(ctx, 'preference');
    },
  };
}
