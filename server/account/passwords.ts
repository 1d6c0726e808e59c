import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { encodeSecret, type SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { hasGeneratedForm, isFastHash, type PasswordHash, pepperIdOf } from '../domain/account.ts';
import { parseDuration } from '../domain/text/time.ts';
import type { AccountRecord, AccountRecords, KnownAccount } from './records.ts';

/** The name of the decoy, which no account has. */
const DECOY_NAME = '';
const DECOY_LENGTH = 64;
const OVERLAP_MS_MAX = 7 * 24 * 60 * 60 * 1_000;

/** `generated`: by the vault, with 256 bits of randomness. */
export type PasswordOrigin = 'generated' | 'chosen';

/** The hash and the record of an account that does not exist. */
interface Decoy {
  readonly phc: string;
  readonly record: Uint8Array;
}

export class Passwords {
  private decoy: Promise<Decoy> | undefined;

  constructor(
    private readonly crypto: Crypto,
    private readonly records: AccountRecords,
    /** The id of the root whose pepper passwords are to have; undefined if there is no other. */
    private readonly wantedPepper: () => string | undefined,
    private readonly now: Clock,
  ) {}

  /** Hashes a password for the record of an account. A generated one needs no stretching. */
  async hash(password: SecretBytes, origin: PasswordOrigin): Promise<PasswordHash> {
    const isGenerated = origin === 'generated';
    const phc = await this.crypto.hashPassword({ password, isGenerated });
    return { phc, stretched: isGenerated ? undefined : this.crypto.passTo(password, hasGeneratedForm) };
  }

  /**
   * Returns the hash that a password matches; undefined for a wrong password or without an account. The cost depends on the
   * form of the password: one of the form of a generated password is verified by a keyed hash, any other is stretched once,
   * with or without an account, so that the time of a reply does not reveal which names exist. It is higher only for accounts
   * with a chosen password of the generated form, with a record that does not name the form yet, or with a replaced chosen
   * password that is still valid.
   */
  async check(
    known: KnownAccount | undefined,
    password: SecretBytes,
    place: { readonly share: string; readonly hasSucceeded: boolean },
  ): Promise<string | undefined> {
    const { crypto } = this;
    const hashes = known === undefined ? [] : hashesOf(known, this.now());
    const stretched = hashes.filter(({ phc }) => !isFastHash(phc));
    if (!crypto.passTo(password, hasGeneratedForm)) {
      if (stretched.length === 0) {
        await crypto.verifyPassword({ password, phc: (await this.readDecoy()).phc, ...place });
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

  /** Takes the time of opening a record and comparing it with its log, for an account that does not exist. */
  async openDecoy(): Promise<undefined> {
    await this.records.open(DECOY_NAME, (await this.readDecoy()).record);
    await this.records.readNewestRevision('');
  }

  /**
   * Replaces a stretched hash of a generated password, and a hash with the pepper of an older root, and adds the form of its
   * password to a record, after `proof` was right; returns the account with its new hash. If that fails, the next sign-in
   * retries.
   */
  async upgrade(known: KnownAccount, proof: string, password: SecretBytes) {
    const better = proof === known.phc ? await this.betterHash(known, password) : undefined;
    if (better === undefined) {
      return { known, proof };
    }
    const edit = (record: AccountRecord) => (record.phc === known.phc ? { ...record, ...better } : record);
    const changed = await this.records.change(known.account.name, edit).catch(() => undefined);
    return changed?.phc === better.phc
      ? { known: { ...known, ...better }, proof: better.phc }
      : { known, proof };
  }

  /** Returns the hash that replaces the one of a record after its password was right; undefined to keep it. */
  private async betterHash({ phc, stretched }: KnownAccount, password: SecretBytes) {
    const wanted = this.wantedPepper();
    const isUnsaid = stretched === undefined && !isFastHash(phc);
    const isGenerated = stretched === undefined && this.crypto.passTo(password, hasGeneratedForm);
    if ((wanted !== undefined && pepperIdOf(phc) !== wanted) || (isUnsaid && isGenerated)) {
      return this.hash(password, isGenerated ? 'generated' : 'chosen');
    }
    return isUnsaid ? { phc, stretched: false } : undefined;
  }

  private readDecoy(): Promise<Decoy> {
    this.decoy ??= this.makeDecoy().catch((error: unknown) => {
      this.decoy = undefined;
      throw error;
    });
    return this.decoy;
  }

  private async makeDecoy(): Promise<Decoy> {
    const password = encodeSecret(await this.crypto.makePassphrase({ length: DECOY_LENGTH }));
    const phc = await this.crypto.hashPassword({ password, isGenerated: false });
    const record = { aid: '', phc, unmasked: false, paying: false, hosts: [], created_at: '' };
    return { phc, record: await this.records.seal(DECOY_NAME, record) };
  }
}

/** Returns the hashes whose passwords are valid now, that of the newest password first. */
export function hashesOf(known: KnownAccount, now: number): readonly PasswordHash[] {
  const { former } = known;
  return former !== undefined && former.untilMs > now ? [known, former] : [known];
}

/** Parses how long a replaced secret stays valid, in ms; undefined if it is omitted, and the secret ends at once. */
export function overlapOf(overlap: string | undefined): number | undefined {
  if (overlap === undefined) {
    return undefined;
  }
  const ms = parseDuration(overlap);
  if (typeof ms !== 'number' || ms > OVERLAP_MS_MAX) {
    const expected = 'must be a duration such as `15m` or `P1D`, more than 0 and at most 7 days';
    throw new VaultError('invalid_request', { field: 'body.overlap', expected });
  }
  return ms;
}

async function findRight(hashes: readonly PasswordHash[], verify: (hash: PasswordHash) => Promise<boolean>) {
  for (const hash of hashes) {
    if (await verify(hash)) {
      return hash.phc;
    }
  }
  return undefined;
}
