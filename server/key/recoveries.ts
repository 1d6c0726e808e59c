import type { AccountStore } from '../account/store.ts';
import { bindParts } from '../core/bind.ts';
import { VaultError } from '../core/errors.ts';
import { decodeSecret, type SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { type Attempts, type Guess, guessSourceOf } from '../limits/attempts.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import { generatePassphrase, type NewPassphrase, namedInBody } from './keys.ts';
import type { KeyHandle, KeyOpener } from './opener.ts';
import { type ReadRecords, type ReplaceParts, renewKey, replaceRecords } from './records.ts';
import type { Recovery } from './schema.ts';

interface RecoveryParts extends ReplaceParts {
  readonly crypto: Pick<
    Crypto,
    'replaceRecovery' | 'recoverKey' | 'describeRecovery' | 'digestSecret' | 'makePassphrase'
  >;
  readonly accountStore: Pick<AccountStore, 'passphraseCounters'>;
  readonly attempts: Attempts;
  readonly opener: ReplaceParts['opener'] & Pick<KeyOpener, 'guarded'>;
  readonly metering: Pick<MeteringService, 'count' | 'request'>;
}

/** Recoveries of keys: what shares of several people open when a passphrase is lost. Errors are those of the contract. */
export type Recoveries = ReturnType<typeof createRecoveries>;

/** Makes the recoveries of a server. */
export function createRecoveries(parts: RecoveryParts) {
  return bindParts(parts, { create, read, remove, recoverKey });
}

async function describe(
  { crypto }: RecoveryParts,
  { aid, user }: KeyHandle,
  recovery: Uint8Array | undefined,
): Promise<Recovery> {
  if (recovery === undefined) {
    throw new VaultError('recovery_not_found', { field: 'query.user' });
  }
  const { threshold, shares } = await crypto.describeRecovery({ place: { aid, user }, recovery });
  return { user, threshold, shares: [...shares] };
}

/** The recovery in place of the one before; none where nothing is wanted. */
function replaced(
  { crypto, opener }: RecoveryParts,
  ctx: AccountContext,
  passphrase: SecretBytes,
  { key, record }: ReadRecords,
  wanted: { readonly recipients: readonly string[]; readonly threshold: number } | null,
) {
  return opener.guarded(ctx, key, passphrase, () =>
    crypto.replaceRecovery({ key, record, passphrase, wanted }),
  );
}

/**
 * Gives a key a recovery, in place of one that it has: shares of that one open nothing any more. Rejects with `key_not_found`,
 * `passphrase_wrong`, `too_many_failures`, `key_changed`, and `invalid_request` for a recipient that is none, one that is
 * there twice, or more shares needed than there are.
 */
async function create(
  parts: RecoveryParts,
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
  const key = await namedInBody(parts.opener.find(ctx.account, user));
  parts.metering.count(ctx, 'key');
  const { recovery } = await replaceRecords(parts, ctx, key, (found) =>
    replaced(parts, ctx, passphrase, found, { recipients, threshold }),
  );
  return describe(parts, key, recovery);
}

/** The recovery of a key as it was made. Rejects with `key_not_found`, and with `recovery_not_found` without one. */
async function read(
  parts: RecoveryParts,
  ctx: AccountContext,
  { user }: { readonly user: string },
): Promise<Recovery> {
  const key = await parts.opener.find(ctx.account, user);
  parts.metering.count(ctx, 'key');
  const { recovery } = await parts.keyStore.readPair(key.aid, user);
  return describe(parts, key, recovery);
}

/** Removes the recovery of a key. Rejects as `create` does, and with `recovery_not_found` without one. */
async function remove(
  parts: RecoveryParts,
  ctx: AccountContext,
  { user, passphrase }: { readonly user: string; readonly passphrase: SecretBytes },
): Promise<void> {
  const key = await namedInBody(parts.opener.find(ctx.account, user));
  parts.metering.count(ctx, 'key');
  await replaceRecords(parts, ctx, key, (found) => {
    if (found.recovery === undefined) {
      throw new VaultError('recovery_not_found', { field: 'body.user' });
    }
    return replaced(parts, ctx, passphrase, found, null);
  });
}

/** Shares are guessed at apart from the passphrase: who has tried many of those must still be able to recover. */
function guessOf(
  { crypto, accountStore }: RecoveryParts,
  { kid }: KeyHandle,
  { ip }: Pick<AccountContext, 'ip'>,
  shares: readonly SecretBytes[],
): Guess {
  const name = `${kid} recovery`;
  const source = guessSourceOf(ip);
  return {
    id: `${name} ${source.source}`,
    ip,
    digest: () => shares.map((share) => crypto.digestSecret(name, share)).join(' '),
    counters: () => accountStore.passphraseCounters(name, source),
  };
}

/**
 * Opens a key with shares and puts it under a new passphrase, a generated one when none is given, as a change of the
 * passphrase does. The shares stay valid. Rejects with `key_not_found`, with `recovery_refused` whatever is wrong with the shares,
 * with `too_many_failures`, and with `key_changed` when another change came first.
 */
async function recoverKey(
  parts: RecoveryParts,
  ctx: AccountContext,
  input: {
    readonly user: string;
    readonly shares: readonly SecretBytes[];
    readonly new_passphrase?: SecretBytes | undefined;
  },
): Promise<NewPassphrase> {
  const { attempts, crypto, opener, metering } = parts;
  const { user, shares } = input;
  const key = await namedInBody(opener.find(ctx.account, user));
  const to = input.new_passphrase ?? (await generatePassphrase(parts));
  metering.count(ctx, 'key');
  const guess = guessOf(parts, key, ctx, shares);
  await renewKey(parts, ctx, key, async (found) => {
    const work = () => crypto.recoverKey({ ...found, shares, to });
    const next = await attempts.run(guess, 'recovery_refused', work);
    attempts.succeed(guess.id);
    return next;
  });
  return { user, passphrase: decodeSecret(to) };
}
