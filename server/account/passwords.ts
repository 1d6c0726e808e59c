import { encodeSecret, type SecretBytes } from '../core/secret.ts';
import { hasGeneratedForm, isFastHash, type PasswordHash } from '../domain/account/password.ts';
import { pepperIdOf } from '../domain/account/pepper.ts';
import type { AccountParts, Decoy, KnownAccount } from './parts.ts';
import { type AccountRecord, changeAccount, openAccount, sealAccount } from './records.ts';
import { readNewestRevision } from './revision.ts';

/** The decoy is no account's: no account has an empty name. */
const DECOY_NAME = '';
const DECOY_LENGTH = 64;

/** Whether the vault has made a password, with 256 bits of randomness, or somebody has chosen it. */
export type PasswordOrigin = 'generated' | 'chosen';

/** What the record of an account holds of a password. A generated one needs no stretching. */
export async function hashPassword(
  { crypto }: Pick<AccountParts, 'crypto'>,
  password: SecretBytes,
  origin: PasswordOrigin,
): Promise<PasswordHash> {
  const isGenerated = origin === 'generated';
  const phc = await crypto.hashPassword({ password, isGenerated });
  return { phc, stretched: isGenerated ? undefined : crypto.passes(password, hasGeneratedForm) };
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

/** Takes the time of opening a record, and of comparing it with its log, where there is none. */
export async function openDecoy(parts: AccountParts): Promise<undefined> {
  await openAccount(parts, DECOY_NAME, (await readDecoy(parts)).record);
  await readNewestRevision(parts, '');
}

/** The hashes whose passwords sign an account in now, that of the newest password first. */
export function hashesOf(known: KnownAccount, now: number): readonly PasswordHash[] {
  const { former } = known;
  return former !== undefined && former.untilMs > now ? [known, former] : [known];
}

/**
 * The hash of an account, if there is one, that a password fits; undefined for a wrong one. What it costs depends on its
 * form: that of a generated one is verified by a keyed hash, for everybody; any other is stretched once, whatever the account
 * has, so that the time of a reply does not reveal which names exist. Only three kinds of accounts cost more: those that have
 * chosen a password of that form, those that have not signed in since their records say which form it has, and those
 * whose chosen password was replaced by another and lives on for a while.
 */
export async function checkPassword(
  parts: AccountParts,
  known: KnownAccount | undefined,
  password: SecretBytes,
  place: { readonly share: string; readonly hasSucceeded: boolean },
): Promise<string | undefined> {
  const { crypto, now } = parts;
  const hashes = known === undefined ? [] : hashesOf(known, now());
  const stretched = hashes.filter(({ phc }) => !isFastHash(phc));
  if (!crypto.passes(password, hasGeneratedForm)) {
    if (stretched.length === 0) {
      await crypto.verifyPassword({ password, phc: (await readDecoy(parts)).phc, ...place });
    }
    return findRight(stretched, ({ phc }) => crypto.verifyPassword({ password, phc, ...place }));
  }
  const fast = hashes.filter(({ phc }) => isFastHash(phc));
  const found = await findRight(fast.length === 0 ? [{ phc: '' }] : fast, ({ phc }) =>
    crypto.verifyGenerated({ password, hash: phc }),
  );
  const others = stretched.filter((hash) => hash.stretched !== false);
  return found ?? findRight(others, ({ phc }) => crypto.verifyPassword({ password, phc, ...place }));
}

/** The first hash that a password fits. */
async function findRight(
  hashes: readonly PasswordHash[],
  verify: (hash: PasswordHash) => Promise<boolean>,
): Promise<string | undefined> {
  for (const hash of hashes) {
    if (await verify(hash)) {
      return hash.phc;
    }
  }
  return undefined;
}

/** What replaces the hash of a record after its password was right; undefined where nothing is to be. */
async function betterHash(
  parts: AccountParts,
  { phc, stretched }: KnownAccount,
  password: SecretBytes,
): Promise<PasswordHash | undefined> {
  const { crypto, wantedPepper } = parts;
  const wanted = wantedPepper();
  const isUnsaid = stretched === undefined && !isFastHash(phc);
  const isGenerated = stretched === undefined && crypto.passes(password, hasGeneratedForm);
  if ((wanted !== undefined && pepperIdOf(phc) !== wanted) || (isUnsaid && isGenerated)) {
    return hashPassword(parts, password, isGenerated ? 'generated' : 'chosen');
  }
  return isUnsaid ? { phc, stretched: false } : undefined;
}

/**
 * Replaces the hash of a generated password that was stretched as all were before, and one with the pepper of an older
 * root, and adds to a record which form its password has; the account as it is known from then on. Where that fails the
 * next sign-in tries again.
 */
export async function upgradeHash(
  parts: AccountParts,
  right: { readonly known: KnownAccount; readonly proof: string },
  password: SecretBytes,
): Promise<{ readonly known: KnownAccount; readonly proof: string }> {
  const { known, proof } = right;
  const better = proof === known.phc ? await betterHash(parts, known, password) : undefined;
  if (better === undefined) {
    return right;
  }
  const isOld = (record: AccountRecord): boolean => record.phc === known.phc;
  const edit = (record: AccountRecord) => (isOld(record) ? { ...record, ...better } : record);
  const changed = await changeAccount(parts, known.account.name, edit).catch(() => undefined);
  return changed?.phc === better.phc ? { known: { ...known, ...better }, proof: better.phc } : right;
}
