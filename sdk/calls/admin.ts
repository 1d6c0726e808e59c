import type { CallOptions } from '../transport/call.ts';
import {
  fetchPage,
  get,
  type Page,
  type Pages,
  pagesOf,
  readOne,
  remove,
  sendJson,
} from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  AccountPassword,
  Billing,
  ChangePassword,
  DeletePreference,
  Expiring,
  ListExpiring,
  Message,
  Preference,
  ReadPreference,
  ReadUsage,
  SetPreference,
  Usage,
  WhoAmI,
} from '../transport/types.ts';

/**
 * The account that signs in: what it uses and pays, its preferences, its password.
 * @see /guide/billing-and-preferences
 */
export interface AdminCalls {
  /**
   * The account that is signed in, and the environment. Throws `unauthenticated` for wrong credentials.
   * @see /guide/billing-and-preferences
   * @example
   * const { user, environment } = await client.admin.whoami();
   */
  readonly whoami: (options?: CallOptions) => Promise<WhoAmI>;
  /**
   * Usage and cost of the account since the month began (UTC). Amounts are exact decimal texts: do not convert them to
   * numbers.
   * @see /guide/billing-and-preferences
   * @example
   * const { amount, currency } = await client.admin.billing();
   */
  readonly billing: (options?: CallOptions) => Promise<Billing>;
  /**
   * The current numbers of keys and tokens, and the requests of a month; by default of the current one.
   * @see /guide/billing-and-preferences
   * @example
   * const { api_requests } = await client.admin.usage({ month: '2026-01' });
   */
  readonly usage: (usage?: ReadUsage, options?: CallOptions) => Promise<Usage>;
  /**
   * Certificates, credentials and long-lived endpoints that expire, the soonest first; by default within 30 days.
   * @see /guide/monitoring
   * @throws `cursor_invalid`
   * @example
   * const { data } = await client.admin.expiring({ within: 'P7D' });
   * console.log(data.map(({ kind, id, expires_at }) => `${kind} ${id} ${expires_at}`).join('\n'));
   */
  readonly expiring: (query?: ListExpiring, options?: CallOptions) => Promise<Page<Expiring[]>>;
  /**
   * All of what expires, page by page, from `next_token` if given.
   * @see /guide/monitoring
   * @throws `cursor_invalid`
   * @example
   * for await (const { data } of client.admin.expiringPages({ within: '0' })) {
   *   console.log(data.length);
   * }
   */
  readonly expiringPages: (query?: ListExpiring, options?: CallOptions) => Pages<Expiring[]>;
  /**
   * The operator's PCI DSS certificate, a PDF. Throws `not_allowed` for an account that does not pay,
   * `certificate_not_found` where there is none.
   * @see /guide/billing-and-preferences
   * @throws `certificate_not_found`
   * @example
   * const pdf = await client.admin.certificate();
   * console.log(`${pdf.length} bytes`);
   */
  readonly certificate: (options?: CallOptions) => Promise<Uint8Array>;
  /**
   * Changes the password of the account, to a generated one where none is given. The old one stops at once, or after
   * `overlap` (at most seven days), and with it this client: create another one. Throws `password_changed` if another request was faster, `too_many_changes`
   * after five within a minute. It is retried only if the service has rejected the request without any effect.
   * @see /guide/billing-and-preferences
   * @throws `password_changed`, `too_many_changes`
   * @example
   * const { user, password } = await client.admin.changePassword();
   * const next = new Vault({ baseUrl: 'https://vault.example', username: user, password });
   */
  readonly changePassword: (change?: ChangePassword, options?: CallOptions) => Promise<AccountPassword>;
  /**
   * Sets a preference. `default_algorithm`, `default_limit`, `mask_fields`, `return_card_metadata` and
   * `webhook_max_attempts` apply to requests without the parameter; other names can have any value. Throws
   * `invalid_request` for a value that is not of the right kind, `preferences_full`.
   * @see /guide/billing-and-preferences
   * @throws `preferences_full`
   * @example
   * await client.admin.setPreference({ key: 'default_algorithm', value: 'luhn' });
   */
  readonly setPreference: (preference: SetPreference, options?: CallOptions) => Promise<Preference>;
  /**
   * One preference.
   * @see /guide/billing-and-preferences
   * @throws `preference_not_found`
   * @example
   * const { value, is_default } = await client.admin.getPreference({ key: 'default_limit' });
   */
  readonly getPreference: (preference: ReadPreference, options?: CallOptions) => Promise<Preference>;
  /**
   * All preferences, by key; includes all those that change the behaviour of the service.
   * @see /guide/billing-and-preferences
   * @example
   * const set = (await client.admin.listPreferences()).filter(({ is_default }) => !is_default);
   */
  readonly listPreferences: (options?: CallOptions) => Promise<Preference[]>;
  /**
   * Deletes a preference; one that changes the behaviour of the service gets its default. Throws `preference_not_found`, for one
   * of your own also when an earlier attempt, whose reply was lost, had succeeded.
   * @see /guide/billing-and-preferences
   * @throws `preference_not_found`
   * @example
   * await client.admin.deletePreference({ key: 'default_limit' });
   */
  readonly deletePreference: (preference: DeletePreference, options?: CallOptions) => Promise<Message>;
}

const preferences = ['preferences'] as const;

/** The calls of the account itself. */
export function createAdminCalls(transport: Transport): AdminCalls {
  const expiring: AdminCalls['expiring'] = (query, options) =>
    fetchPage(transport, { method: 'GET', path: ['expiring'], repeat: 'always', query, options });
  return {
    expiring,
    expiringPages: pagesOf(expiring),
    whoami: (options) => get(transport, ['whoami'], {}, options),
    billing: (options) => get(transport, ['billing'], {}, options),
    usage: (query = {}, options) => get(transport, ['usage'], query, options),
    certificate: (options) =>
      transport.bytes({ method: 'GET', path: ['certificate'], repeat: 'always', options }),
    changePassword: (change = {}, options) =>
      sendJson(transport, 'POST', ['change-password'], 'when_rejected', change, options),
    setPreference: ({ key, value }, options) =>
      sendJson(transport, 'POST', preferences, 'always', { key, value }, options),
    getPreference: ({ key }, options) => readOne(transport, preferences, { key }, options),
    listPreferences: (options) => get(transport, preferences, {}, options),
    deletePreference: (query, options) => remove(transport, preferences, query, options),
  };
}
