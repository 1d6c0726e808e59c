import { VaultError } from '../core/errors.ts';
import { decodeSecret, type SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { sourceOf } from '../domain/text/network.ts';
import type { Attempts, Guess } from '../limits/attempts.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { generatePassphrase, type NewPassphrase } from './keys.ts';
import { type KeyHandle, type KeyOpener, namedInBody } from './opener.ts';
import type { KeyRecords, ReadRecords } from './records.ts';
import type { Recovery } from './schema.ts';
import type { KeyStore } from './store.ts';

/** Manages recoveries of keys: shares, held by several people, that open a key whose passphrase is lost. */
export class Recoveries {
  constructor(
    private readonly store: KeyStore,
    private readonly crypto: Crypto,
    private readonly opener: KeyOpener,
    private readonly records: KeyRecords,
    private readonly attempts: Attempts,
    private readonly metering: Metering,
  ) {}

  /** Creates or replaces a recovery. Rejects as a change of the passphrase does, or with `invalid_request`. */
  async create(
    ctx: AccountContext,
    input: {
      readonly user: string;
      readonly passphrase: SecretBytes;
      readonly recipients: readonly string[];
      readonly threshold: number;
    },
  ): Promise<Recovery> {
    const { user, passphrase, recipients, threshold } = input;
    const twice = recipients.findIndex((recipient, i) => recipients.indexOf(recipient) < i);
    if (twice >= 0) {
      const expected = 'must not be there twice';
      throw new VaultError('invalid_request', { field: `body.recipients[${twice}]`, expected });
    }
    if (threshold > recipients.length) {
      const expected = 'must not be more than there are recipients';
      throw new VaultError('invalid_request', { field: 'body.threshold', expected });
    }
    const key = await namedInBody(this.opener.find(ctx.account, user));
    this.metering.count(ctx, 'key');
    const { recovery } = await this.records.replace(ctx, key, (read) =>
      this.replaced(ctx.ip, passphrase, read, { recipients, threshold }),
    );
    return this.describe(key, recovery);
  }

  /** Returns the recovery of a key as it was created. Rejects with `key_not_found` or `recovery_not_found`. */
  async read(ctx: AccountContext, { user }: { readonly user: string }): Promise<Recovery> {
    const key = await this.opener.find(ctx.account, user);
    this.metering.count(ctx, 'key');
    const { recovery } = await this.store.readPair(key.aid, user);
    return this.describe(key, recovery);
  }

  /** Removes the recovery of a key. Rejects as `create` does, or with `recovery_not_found`. */
  async remove(
    ctx: AccountContext,
    { user, passphrase }: { readonly user: string; readonly passphrase: SecretBytes },
  ): Promise<void> {
    const key = await namedInBody(this.opener.find(ctx.account, user));
    this.metering.count(ctx, 'key');
    await this.records.replace(ctx, key, (read) => {
      if (read.recovery === undefined) {
        throw new VaultError('recovery_not_found', { field: 'body.user' });
      }
      return this.replaced(ctx.ip, passphrase, read, null);
    });
  }

  /** Recovers a key. Rejects with `key_not_found`, `recovery_refused`, `too_many_failures` or `key_changed`. */
  async recoverKey(
    ctx: AccountContext,
    input: {
      readonly user: string;
      readonly shares: readonly SecretBytes[];
      readonly new_passphrase?: SecretBytes | undefined;
    },
  ): Promise<NewPassphrase> {
    const { user, shares } = input;
    const key = await namedInBody(this.opener.find(ctx.account, user));
    const to = input.new_passphrase ?? (await generatePassphrase(this.crypto));
    this.metering.count(ctx, 'key');
    // Apart from guesses at the passphrase, so that a source that has used up those can recover.
    const name = `${key.kid} recovery`;
    const guess: Guess = {
      ...{ id: `${name} ${sourceOf(ctx.ip)}`, kind: 'key', of: name, ip: ctx.ip },
      digest: () => shares.map((share) => this.crypto.digestSecret(name, share)).join(' '),
    };
    await this.records.renew(ctx, key, async (read) => {
      const work = () => this.crypto.recoverKey({ ...read, shares, to });
      const next = await this.attempts.run(guess, 'recovery_refused', work);
      this.attempts.succeed(guess.id);
      return next;
    });
    return { user, passphrase: decodeSecret(to) };
  }

  private async describe({ aid, user }: KeyHandle, recovery: Uint8Array | undefined): Promise<Recovery> {
    if (recovery === undefined) {
      throw new VaultError('recovery_not_found', { field: 'query.user' });
    }
    const { threshold, shares } = await this.crypto.describeRecovery({ place: { aid, user }, recovery });
    return { user, threshold, shares: [...shares] };
  }

  /** Makes the records of a key with another recovery, or with none. */
  private replaced(
    ip: string,
    passphrase: SecretBytes,
    { key, record }: ReadRecords,
    wanted: { readonly recipients: readonly string[]; readonly threshold: number } | null,
  ) {
    return this.opener.guarded(ip, key, passphrase, () =>
      this.crypto.replaceRecovery({ key, record, passphrase, wanted }),
    );
  }
}
