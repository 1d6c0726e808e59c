import type { Config } from '../config/config.ts';
import { StartError } from '../core/errors.ts';
import { encodeSecret, type Secret } from '../core/secret.ts';
import type { System } from './assemble.ts';

/** An account that was created just now, with the password that the vault made for it. */
export interface FirstAccount {
  readonly name: string;
  readonly password: Secret<string>;
}

/**
 * Creates the first account where there is none; of two servers that start at once, one does. Resolves with the
 * account only when its password was made here, and so must be shown now or never.
 */
export async function ensureFirstAccount(
  { services: { accounts }, settings }: Pick<System, 'services' | 'settings'>,
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
  const created = await accounts.create('admin', encodeSecret(password), { unmasked });
  return created && { name: created.name, password };
}
