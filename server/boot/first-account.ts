import type { Config } from '../config/config.ts';
import { StartError } from '../core/errors.ts';
import { encodeSecret, type Secret } from '../core/secret.ts';
import type { System } from './assemble.ts';

/** The account that this start created, with its generated password. */
export interface FirstAccount {
  readonly name: string;
  readonly password: Secret<string>;
}

/**
 * Creates the first account if none exists; of two servers that start at the same time, only one succeeds. Resolves
 * with the account only if its password was generated here and must be shown, because it cannot be read again.
 * Rejects with a `StartError` in production without `VAULT_BOOTSTRAP_USER`.
 */
export async function ensureFirstAccount(
  { services: { accounts }, settings }: System,
  { account, unmasked }: Config['bootstrap'],
): Promise<FirstAccount | undefined> {
  if ((await accounts.list()).length > 0) {
    return undefined;
  }
  if (account) {
    await accounts.create(account.user, encodeSecret(account.password), { unmasked });
    return undefined;
  }
  if (settings.environment === 'production') {
    throw new StartError('There is no account yet: set VAULT_BOOTSTRAP_USER and VAULT_BOOTSTRAP_PASSWORD.');
  }
  const password = await accounts.makePassword();
  const created = await accounts.create('admin', encodeSecret(password), { unmasked }, 'generated');
  return created && { name: created.name, password };
}
