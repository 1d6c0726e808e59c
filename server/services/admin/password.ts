import { VaultError } from '../../core/errors.ts';
import type { Secret, SecretBytes } from '../../core/secret.ts';
import type { AccountStore } from '../../store/account.ts';
import type { Accounts } from '../account/account.ts';
import type { AccountContext } from '../common/request-context.ts';
import type { MeteringService } from '../request/metering.ts';

export interface PasswordService {
  /**
   * Puts another password in the place of the one that the caller signed in with, on every server at once; one of 256
   * random bits when none is chosen. Refuses with `password_changed` when that is no longer the password, and with
   * `too_many_changes`.
   */
  readonly change: (
    ctx: AccountContext,
    chosen: SecretBytes | undefined,
  ) => Promise<{ readonly user: string; readonly password: Secret<string> }>;
}

const CHANGES_MAX = 5;
const WINDOW_MS = 60_000;

const encoder = new TextEncoder();

interface PasswordDependencies {
  readonly accountStore: Pick<AccountStore, 'countAttempt' | 'passwordCounter'>;
  readonly metering: Pick<MeteringService, 'request'>;
  readonly accounts: Pick<Accounts, 'changePassword' | 'makePassword'>;
}

/** Changes of an account's own password. */
export function createPasswords({ accountStore, accounts, metering }: PasswordDependencies): PasswordService {
  const refuseMany = async (aid: string): Promise<void> => {
    const waitMs = await accountStore.countAttempt(accountStore.passwordCounter(aid), CHANGES_MAX, WINDOW_MS);
    if (waitMs > 0) {
      throw new VaultError('too_many_changes', { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    }
  };

  return {
    async change(ctx, chosen) {
      const { account } = ctx;
      await refuseMany(account.aid);
      const password = chosen ?? (await accounts.makePassword()).map((text) => encoder.encode(text));
      // Counted ahead: a generated password exists nowhere else, so nothing may fail once it is in force.
      await metering.request(ctx);
      await accounts.changePassword(ctx, password);
      return { user: account.name, password: password.map((bytes) => Buffer.from(bytes).toString('utf8')) };
    },
  };
}
