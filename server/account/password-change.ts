import { bindParts } from '../core/bind.ts';
import { VaultError } from '../core/errors.ts';
import { decodeSecret, encodeSecret, type Secret, type SecretBytes } from '../core/secret.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Accounts } from './accounts.ts';
import type { AccountStore } from './store.ts';

/** Changes of one account in a window. */
const CHANGES_MAX = 5;
const WINDOW_MS = 60_000;

interface PasswordParts {
  readonly accountStore: Pick<AccountStore, 'countAttempt' | 'passwordCounter'>;
  readonly metering: Pick<MeteringService, 'request'>;
  readonly accounts: Pick<Accounts, 'changePassword' | 'makePassword'>;
}

/** Changes of an account's own password. */
export type Passwords = ReturnType<typeof createPasswords>;

/** Makes the changes of passwords of a server. */
export function createPasswords(parts: PasswordParts) {
  return bindParts(parts, { change });
}

/**
 * Replaces the password that the caller signed in with, on every server at once or after `overlapMs`, by one of 256 random
 * bits when none is chosen. Rejects with `password_changed` when that is no longer the password, and with `too_many_changes`.
 */
async function change(
  { accountStore, accounts, metering }: PasswordParts,
  ctx: AccountContext,
  chosen: SecretBytes | undefined,
  overlapMs: number | undefined,
): Promise<{ readonly user: string; readonly password: Secret<string> }> {
  const { aid, name } = ctx.account;
  const waitMs = await accountStore.countAttempt(accountStore.passwordCounter(aid), CHANGES_MAX, WINDOW_MS);
  if (waitMs > 0) {
    throw new VaultError('too_many_changes', { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
  }
  const password = chosen ?? encodeSecret(await accounts.makePassword());
  // Counted in advance: a generated password exists nowhere else, so nothing may fail once it is in force.
  await metering.request(ctx);
  await accounts.changePassword(ctx, password, chosen === undefined ? 'generated' : 'chosen', overlapMs);
  return { user: name, password: decodeSecret(password) };
}
