import { encodeSecret, type SecretBytes } from '../../core/secret.ts';
import { hasGeneratedForm, isFastHash } from '../../domain/account/password.ts';
import { pepperIdOf } from '../../domain/account/pepper.ts';
import type { AccountParts, Decoy, KnownAccount } from './parts.ts';
import { type AccountRecord, changeAccount, openAccount, sealAccount } from './record.ts';
import { readNewestRevision } from './revision.ts';

/** The decoy is no account's: no account has an empty name. */
const DECOY_NAME = '';
const DECOY_LENGTH = 64;
const NAME_CHARACTERS_MAX = 128;

/** Whether the vault has made a password, with 256 bits of randomness, or somebody has chosen it. */
export type PasswordOrigin = 'generated' | 'chosen';

/** What the record of an account holds of a password. A generated one needs no stretching. */
export async function hashPassword(
  { crypto }: Pick<AccountParts, 'crypto'>,
  password: SecretBytes,
  origin: PasswordOrigin,
): Promise<Pick<AccountRecord, 'phc' | 'stretched'>> {
  const isGenerated = origin === 'generated';
  const phc = await crypto.hashPassword({ password, isGenerated });
  const isLookalike = !isGenerated && crypto.passes(password, hasGeneratedForm);
  return { phc, stretched: isLookalike ? true : undefined };
}

/** What stands for the account that there is not: a hash, and a record to open. */
function readDecoy(parts: AccountParts): Promise<Decoy> {
  const { crypto } = parts;
  const make = async (): Promise<Decoy> => {
    const password = encodeSecret(await crypto.makePassphrase({ length: DECOY_LENGTH }));
    const phc = await crypto.hashPassword({ password, isGenerated: false });
    const record = { aid: '', phc, unmasked: false, paying: false, hosts: [], created_at: '' };
    return { phc, record: await sealAccount(parts, DECOY_NAME, record) };
  };
  parts.decoy ??= make().catch((error: unknown) => {
    parts.decoy = undefined;
    throw error;
  });
  return parts.decoy;
}

/** Takes the time of opening a record, where there is none: one that is not remembered is compared with its log as well. */
export async function openDecoy(parts: AccountParts, name: string): Promise<undefined> {
  await openAccount(parts, DECOY_NAME, (await readDecoy(parts)).record);
  // Callers choose it.
  const short = name.slice(0, NAME_CHARACTERS_MAX);
  if (parts.absent.get(short) === undefined) {
    await readNewestRevision(parts, '');
    parts.absent.set(short, true);
  }
}

/**
 * Whether a password is that of an account, if there is one. What it costs depends on its form: that of a generated
 * one is verified by a keyed hash, for everybody; any other is stretched once, whatever the account has, so that the time
 * of a reply does not reveal which names exist. Only two kinds of accounts cost more: those that have chosen a password of
 * that form, and those whose generated one has not been used since such passwords were stretched as well.
 */
export async function checkPassword(
  parts: AccountParts,
  known: KnownAccount | undefined,
  password: SecretBytes,
  place: { readonly share: string; readonly hasSucceeded: boolean },
): Promise<boolean> {
  const { crypto } = parts;
  const fast = known !== undefined && isFastHash(known.phc) ? known.phc : undefined;
  const stretched = fast === undefined ? known?.phc : undefined;
  if (!crypto.passes(password, hasGeneratedForm)) {
    const phc = stretched ?? (await readDecoy(parts)).phc;
    const isRight = await crypto.verifyPassword({ password, phc, ...place });
    return isRight && stretched !== undefined;
  }
  const isRight = await crypto.verifyGenerated({ password, hash: fast ?? '' });
  return stretched === undefined ? isRight : crypto.verifyPassword({ password, phc: stretched, ...place });
}

/**
 * Replaces the hash of a generated password that was stretched as all were before, and one with the pepper of an older
 * root; the account as it is known from then on. Where that fails the next sign-in tries again.
 */
export async function upgradeHash(
  parts: AccountParts,
  known: KnownAccount,
  password: SecretBytes,
): Promise<KnownAccount> {
  const wanted = parts.wantedPepper();
  const isGenerated = !known.isChosen && parts.crypto.passes(password, hasGeneratedForm);
  const isPepperOld = wanted !== undefined && pepperIdOf(known.phc) !== wanted;
  if (!isPepperOld && (!isGenerated || isFastHash(known.phc))) {
    return known;
  }
  const { phc } = await hashPassword(parts, password, isGenerated ? 'generated' : 'chosen');
  const isOld = (record: AccountRecord): boolean => record.phc === known.phc;
  const edit = (record: AccountRecord) => (isOld(record) ? { ...record, phc } : record);
  const changed = await changeAccount(parts, known.account.name, edit).catch(() => undefined);
  return changed?.phc === phc ? { ...known, phc } : known;
}
