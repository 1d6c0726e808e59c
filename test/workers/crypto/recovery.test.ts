/** Recovery records: the golden one, which must open for ever, and what somebody with the master key could write. */
import { describe, expect, test } from 'bun:test';
import {
  makeRecovery,
  openRecovery,
  parseRecovery,
  recoveryDigest,
  resealRecovery,
} from '../../../workers/crypto/key/recovery.ts';
import { combineShares, splitSecret } from '../../../workers/crypto/key/share.ts';
import {
  COMMITMENT_BYTES,
  changePassphrase,
  type KeyRecords,
  parseVaultKey,
  recoverVaultKey,
  replaceRecovery,
  throwawayKey,
  unlockVaultKey,
} from '../../../workers/crypto/key/vault-key.ts';
import { IntegrityError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { openAgeFile } from '../../../workers/crypto/record/age-file.ts';
import { damaged, FLOOR, filled, hex, recordOf, toHex } from './fixture.ts';
import { ctx, golden, inputs } from './golden.ts';

const { recovery: made, unlocked } = golden;
const shares = made.shares.map((share) => utf8(share));
const [passphrase, next] = [utf8(inputs.passphrase), utf8('a passphrase after the loss')];
const before: KeyRecords = { record: hex(made.vaultKey), recovery: hex(made.record) };
const changed: KeyRecords = { record: hex(made.vaultKeyChanged), recovery: hex(made.recordChanged) };

function recover(records: KeyRecords, texts: readonly Uint8Array[] = shares.slice(1), place = ctx) {
  return recoverVaultKey(place, records, texts, next, FLOOR);
}
const REFUSED = { code: 'recovery_refused' };

describe('the golden record', () => {
  test.each([
    ['as it was made', before, 1],
    ['after a change of the passphrase', changed, 2],
  ])('%s opens with any two shares, and with all', async (_, records, gen) => {
    const [one, two, three] = shares;
    for (const texts of [[one, two], [three, one], [two, three], shares]) {
      const after = await recover(
        records,
        texts.map((text) => text ?? filled(0, 0)),
      );
      const { key } = await unlockVaultKey(ctx, after.record, next, FLOOR);
      expect(toHex(key.tokenKey)).toBe(unlocked.tokenKey);
      expect(key.generations).toHaveLength(gen + 1);
      expect(toHex(key.generations[0]?.privateKey ?? filled(0, 0))).toBe(unlocked.privateKeys[0] ?? '');
      expect(parseVaultKey(after.record).recovery).toEqual(parseVaultKey(records.record).recovery);
      expect(recoveryDigest(parseRecovery(after.recovery ?? filled(0, 0)))).toEqual(
        recoveryDigest(parseRecovery(records.recovery ?? filled(0, 0))),
      );
    }
  });

  test('has the shares that its custodians have', async () => {
    const { armor } = await import('age-encryption');
    const sealed = parseRecovery(hex(made.record)).shares;
    for (const [i, { share }] of sealed.entries()) {
      const file = new Blob([armor.decode(share) as Uint8Array<ArrayBuffer>]).stream();
      const opened = await openAgeFile(file, [made.identities[i] ?? '']);
      expect(await new Response(opened as ReadableStream<Uint8Array<ArrayBuffer>>).text()).toBe(
        made.shares[i] ?? '',
      );
    }
  });

  test('damaged is refused, wherever, before Argon2id is paid', async () => {
    let refused = 0;
    const forms = [...damaged(hex(made.recordChanged))];
    for (const form of forms) {
      const error: unknown = await recover({ ...changed, recovery: form }).catch((reason: unknown) => reason);
      refused += error instanceof IntegrityError ? 1 : 0;
    }
    expect(refused).toBe(forms.length);
  }, 60_000);

  test.each([{ env: 'production' }, { aid: 'other' }])('moved to %p refuses its shares', async (other) => {
    await expect(recover(changed, shares, { ...ctx, ...other })).rejects.toMatchObject(REFUSED);
  });

  test('of another key, or beside a record of another generation, is refused', async () => {
    await expect(recover(changed, shares, { ...ctx, kid: 'other' })).rejects.toBeInstanceOf(IntegrityError);
    for (const mixed of [
      { ...changed, recovery: before.recovery },
      { ...before, recovery: changed.recovery },
      { ...changed, recovery: undefined },
      { ...before, record: hex(golden.records.vaultKey) },
    ]) {
      await expect(recover(mixed)).rejects.toBeInstanceOf(IntegrityError);
    }
  });

  test('one share, or one of another recovery, opens nothing', async () => {
    const other = await replaceRecovery(ctx, hex(golden.records.vaultKey), passphrase, FLOOR, {
      recipients: parseRecovery(hex(made.record)).shares.map(({ recipient }) => recipient),
      threshold: 2,
    });
    await expect(recover(other)).rejects.toMatchObject(REFUSED);
    await expect(recover(before, shares.slice(2))).rejects.toMatchObject(REFUSED);
  });
});

describe('who has the master key and writes to the database', () => {
  const recipients = parseRecovery(hex(made.record)).shares.map(({ recipient }) => recipient);

  test('cannot have a change of the passphrase seal the key to a recovery of their own', async () => {
    using stranger = throwawayKey(ctx.kid);
    const forged = await makeRecovery(ctx, stranger, recipients, 2);
    for (const record of [before.record, hex(golden.records.vaultKey)]) {
      await expect(
        changePassphrase(ctx, { record, recovery: forged }, passphrase, next, FLOOR),
      ).rejects.toBeInstanceOf(IntegrityError);
    }
  });

  test('cannot name another recovery in the record of the key', async () => {
    const parsed = parseVaultKey(before.record);
    const at = parsed.head.length - COMMITMENT_BYTES - 12 - 16 - 32;
    expect(before.record.subarray(at, at + 32)).toEqual(parsed.recovery ?? filled(0, 0));
    const record = new Uint8Array(before.record);
    record.set(filled(32, 1), at);
    await expect(unlockVaultKey(ctx, record, passphrase, FLOOR)).rejects.toBeInstanceOf(IntegrityError);
  });

  test('cannot have custodians recover a key that the writer knows', async () => {
    using stranger = throwawayKey(ctx.kid);
    const parsed = parseRecovery(hex(made.record));
    const recovery = await resealRecovery(ctx, parsed, stranger);
    const record = await recordOf(ctx, stranger, passphrase, recoveryDigest(parsed));
    // The record is right by itself, and so is the wrap.
    (await unlockVaultKey(ctx, record, passphrase, FLOOR)).key[Symbol.dispose]();
    await expect(recover({ record, recovery })).rejects.toBeInstanceOf(IntegrityError);
  });

  test('a recovery that is not there refuses as one that is', async () => {
    const read = (): never => {
      throw new Error('nothing was to be read');
    };
    await expect(openRecovery(ctx, undefined, shares, read)).rejects.toMatchObject(REFUSED);
  });
});

describe('shares', () => {
  const set = { id: filled(16, 9), threshold: 3 };
  const secret = filled(32, 5);

  test('any three of five give the secret, and no two', async () => {
    const texts = await splitSecret(ctx, set, secret, 5);
    for (let a = 0; a < 5; a++) {
      for (let b = a + 1; b < 5; b++) {
        const pick = (...at: readonly number[]) => at.map((i) => texts[i] ?? filled(0, 0));
        const two = await combineShares(ctx, set, pick(a, b));
        expect([two.isWhole, toHex(two.secret) === toHex(secret)]).toEqual([false, false]);
        for (let c = b + 1; c < 5; c++) {
          expect(await combineShares(ctx, set, pick(c, a, b))).toEqual({ secret, isWhole: true });
        }
      }
    }
  });

  test('white space around them is nothing, any other character is', async () => {
    const texts = (await splitSecret(ctx, set, secret, 3)).map((text) => new TextDecoder().decode(text));
    const whole = async (change: (text: string) => string) =>
      (
        await combineShares(
          ctx,
          set,
          texts.map((text) => utf8(change(text))),
        )
      ).isWhole;
    expect(await whole((text) => `\r\n ${text.trim()}\t`)).toBe(true);
    for (const change of [
      (text: string) => text.toUpperCase(),
      (text: string) => `${text.trim()}.`,
      (text: string) => `${text.trim()}=`,
      (text: string) => text.replace('.', ' .'),
    ]) {
      expect(await whole(change)).toBe(false);
    }
  });
});
