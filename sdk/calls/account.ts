/** Accounts of the vault, for platforms that give each of their customers one. */

import type { CallOptions } from '../transport/call.ts';
import { needText } from '../transport/needed.ts';
import { get, readJson, remove, sendJson } from '../transport/pages.ts';
import type { Given, PathOf, Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type { Message } from '../transport/types.ts';

/** An account, without its password. */
export interface Account extends Schema<'Account'> {}
/** The name of an account, and what it may do. */
export interface CreateAccount extends Given<Schema<'CreateAccount'>> {}
/** An account with its password, which is shown this once. */
export interface NewAccount extends Schema<'NewAccount'> {}
/** Names an account. */
export interface NamedAccount extends PathOf<'readAccount'> {}
/** Names an account, and what changes; null removes `hosts` or `rate`. */
export interface ChangeAccount extends PathOf<'changeAccount'>, Given<Schema<'ChangeAccount'>> {}
/** An account with its new password, which is shown this once. */
export interface ReplacedPassword extends Schema<'ReplacedPassword'> {}

/**
 * Accounts of the vault, for platforms that give each of their customers one. The client needs an operator credential, which does
 * nothing else.
 * @see /guide/platforms
 */
export interface AccountCalls {
  /**
   * Makes an account and shows its password once. It sees numbers masked unless `unmasked` is set. The call is retried only if the
   * service has rejected the request without any effect.
   * @see /guide/platforms
   * @throws `account_exists`
   * @example
   * const { password } = await client.accounts.create({ name: 'shop-4711', rate: '600/m' });
   */
  readonly create: (account: CreateAccount, options?: CallOptions) => Promise<NewAccount>;
  /**
   * All accounts, by name.
   * @see /guide/platforms
   * @example
   * const suspended = (await client.accounts.list()).filter((account) => account.suspended);
   */
  readonly list: (options?: CallOptions) => Promise<Account[]>;
  /**
   * One account.
   * @see /guide/platforms
   * @throws `account_not_found`
   * @example
   * const { rate, suspended } = await client.accounts.get({ name: 'shop-4711' });
   */
  readonly get: (account: NamedAccount, options?: CallOptions) => Promise<Account>;
  /**
   * Changes what is given, on every server with the next request; null removes `hosts` or `rate`.
   * @see /guide/platforms
   * @throws `account_not_found`
   * @example
   * await client.accounts.change({ name: 'shop-4711', rate: null, hosts: ['api.payments.example'] });
   */
  readonly change: (account: ChangeAccount, options?: CallOptions) => Promise<Account>;
  /**
   * Deletes an account without vault keys, for good: its name is never given again. Also throws `account_not_found` if an earlier
   * attempt, whose reply was lost, has succeeded.
   * @see /guide/platforms
   * @throws `account_not_found`, `account_not_empty`
   * @example
   * await client.accounts.delete({ name: 'shop-4711' });
   */
  readonly delete: (account: NamedAccount, options?: CallOptions) => Promise<Message>;
  /**
   * Gives an account a new password and shows it once; the old one ends at once. The call is retried only if the service has
   * rejected the request without any effect.
   * @see /guide/platforms
   * @throws `account_not_found`
   * @example
   * const { password } = await client.accounts.newPassword({ name: 'shop-4711' });
   */
  readonly newPassword: (account: NamedAccount, options?: CallOptions) => Promise<ReplacedPassword>;
  /**
   * Refuses all requests of an account with `account_suspended`, on every server; its accepted requests and webhooks wait. It can
   * be repeated.
   * @see /guide/platforms
   * @throws `account_not_found`
   * @example
   * await client.accounts.suspend({ name: 'shop-4711' });
   */
  readonly suspend: (account: NamedAccount, options?: CallOptions) => Promise<Account>;
  /**
   * Lets an account go on, with what waited. It can be repeated.
   * @see /guide/platforms
   * @throws `account_not_found`
   * @example
   * await client.accounts.resume({ name: 'shop-4711' });
   */
  readonly resume: (account: NamedAccount, options?: CallOptions) => Promise<Account>;
}

/** The path of one account. */
function pathOf(name: string): readonly string[] {
  return ['account', needText({ name }).name];
}

/** The calls of accounts. */
export function createAccountCalls(transport: Transport): AccountCalls {
  const post = <T>(name: string, action: string, repeat: 'always' | 'when_rejected', options?: CallOptions) =>
    readJson<T>(transport, { method: 'POST', path: [...pathOf(name), action], repeat, options });
  return {
    create: (account, options) => sendJson(transport, 'POST', ['account'], 'when_rejected', account, options),
    list: (options) => get(transport, ['account'], {}, options),
    get: async ({ name }, options) => get(transport, pathOf(name), {}, options),
    change: async ({ name, ...change }, options) =>
      sendJson(transport, 'PATCH', pathOf(name), 'always', change, options),
    delete: async ({ name }, options) => remove(transport, pathOf(name), {}, options),
    newPassword: async ({ name }, options) => post(name, 'password', 'when_rejected', options),
    suspend: async ({ name }, options) => post(name, 'suspend', 'always', options),
    resume: async ({ name }, options) => post(name, 'resume', 'always', options),
  };
}
