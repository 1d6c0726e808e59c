import type { Audit, SecurityEvent } from '../audit/audit.ts';
import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { createSharedRuns } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Secret, SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { looksLikeCardNumber } from '../domain/card/number.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import { networkOf, sourceOf } from '../domain/text/network.ts';
import type { Attempts, Guess } from '../limits/attempts.ts';
import { type AccountContext, actFor, type RequestContext } from '../request/context.ts';
import type { Observer } from '../telemetry/observer.ts';
import type {
  CredentialSecret,
  CredentialSignIn,
  SignedInAccount,
  VerifiedCredential,
} from './credential/sign-in.ts';
import { hashesOf, type Passwords } from './passwords.ts';
import type { AccountRecords, KnownAccount } from './records.ts';

const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 10_000;

export type SignInCredentials = AccountPassword | CredentialSecret;

interface AccountPassword {
  readonly kind: 'password';
  readonly name: string;
  readonly password: SecretBytes;
}

type Verified = VerifiedPassword | VerifiedCredential;

/** The account, the password hash that it matched, and the id of its guesses. */
interface VerifiedPassword {
  readonly kind: 'password';
  readonly name: string;
  readonly aid: string;
  readonly phc: string;
  readonly guessId: string;
}

/** The account of a sign-in, and the password hash that it matched; undefined for a credential. */
interface SignedIn {
  readonly known: SignedInAccount;
  readonly proof: string | undefined;
}

/** The remembered sign-in of a request, when it has arrived. */
export interface Recalled {
  /** Identifies the credentials and the address of the caller. */
  readonly digest: string;
  /** The password hash that they matched. */
  readonly proof: string | undefined;
  /** The id of the account that they were right for last; undefined when nothing is remembered. */
  readonly aid: string | undefined;
  /** The account as it is stored now, if these credentials are still right; undefined when nothing is remembered. */
  readonly known: Promise<SignedInAccount | undefined> | undefined;
}

/** Signs requests in with the password of an account or an API credential. */
export class SignIns {
  /** Successful sign-ins, by a digest of credentials and address that only this process can compute. */
  private readonly verified: Memory<Verified>;
  private readonly verifying = createSharedRuns<SignedIn>();

  constructor(
    private readonly crypto: Crypto,
    private readonly records: AccountRecords,
    private readonly passwords: Passwords,
    private readonly credentialSignIn: CredentialSignIn,
    private readonly attempts: Attempts,
    private readonly audit: Audit,
    private readonly observer: Observer,
    private readonly now: Clock,
  ) {
    this.verified = new Memory(REMEMBERED_MAX, REMEMBERED_MS, now);
  }

  /** Starts a sign-in by its Authorization header: a verified account is read while the body arrives. `signIn` ends it. */
  recall(ip: string, header: Secret<string>): Recalled {
    const digest = this.crypto.digestSecret(ip, header);
    const earlier = this.verified.get(digest);
    if (earlier === undefined) {
      return { digest, proof: undefined, aid: undefined, known: undefined };
    }
    const known = this.observer.step('sign_in', () => this.confirm(earlier));
    // A request that fails before its sign-in does not wait for this.
    known.catch(() => undefined);
    const proof = earlier.kind === 'password' ? earlier.phc : undefined;
    return { digest, proof, aid: aidOf(earlier), known };
  }

  /** Signs a request in. Rejects with `unauthenticated` or `too_many_failures`. Verifications and rejections are logged. */
  async signIn(
    ctx: RequestContext,
    { digest, proof, known: recalled }: Recalled,
    readCredentials: () => SignInCredentials,
  ): Promise<AccountContext> {
    const { observer } = this;
    try {
      const remembered = await recalled;
      let signedIn = remembered && { known: remembered, proof };
      if (signedIn === undefined) {
        const credentials = readCredentials();
        signedIn = await observer.step('sign_in', () => this.verifyOnce(ctx, credentials, digest));
        observer.count('sign_in', 'verified');
      } else {
        observer.count('sign_in', 'cached');
      }
      ctx.signInProof = signedIn.proof;
      return actFor(ctx, signedIn.known.account);
    } catch (error) {
      observer.count('sign_in', failureOf(error));
      throw error;
    }
  }

  /** Returns the account, if its password or the credential is still the verified one. Any server may have changed it. */
  private confirm(verified: Verified): Promise<SignedInAccount | undefined> {
    return verified.kind === 'password'
      ? this.confirmPassword(verified)
      : this.credentialSignIn.confirm(verified);
  }

  private async confirmPassword(verified: VerifiedPassword): Promise<KnownAccount | undefined> {
    const known = await this.records.find(verified.name);
    if (known === undefined || !this.isRightNow(known, verified)) {
      return undefined;
    }
    this.attempts.succeed(verified.guessId);
    return known;
  }

  /** Returns whether the password that was verified still signs in to the account. */
  private isRightNow(known: KnownAccount, { phc }: VerifiedPassword): boolean {
    return known.phc === phc || hashesOf(known, this.now()).some((hash) => hash.phc === phc);
  }

  private async verifyOnce(ctx: RequestContext, credentials: SignInCredentials, digest: string) {
    if (credentials.kind === 'credential') {
      const { known, verified } = await this.credentialSignIn.verify(ctx, credentials);
      this.verified.set(digest, verified);
      return { known, proof: undefined };
    }
    const { name, password } = credentials;
    const guess: Guess = {
      id: `${name} ${sourceOf(ctx.ip)}`,
      kind: 'name',
      of: name,
      ip: ctx.ip,
      digest: () => this.crypto.digestSecret('sign-in', password),
    };
    // A verification is shared only by requests that read the same record: none uses one from before it arrived.
    const record = isIdentifier(name) ? await this.records.read(name) : undefined;
    const signedIn = await this.verifying(`${digest} ${record?.toString('latin1') ?? ''}`, () =>
      this.verify(ctx, credentials, record, guess),
    );
    const { aid } = signedIn.known.account;
    this.verified.set(digest, { kind: 'password', name, aid, phc: signedIn.proof ?? '', guessId: guess.id });
    return signedIn;
  }

  /** Verifies a password. A success is recorded before the caller learns of it, a rejection soon after, a fault is not. */
  private async verify(
    ctx: RequestContext,
    { name, password }: AccountPassword,
    record: Buffer | undefined,
    guess: Guess,
  ): Promise<SignedIn> {
    const { records, passwords } = this;
    try {
      const right = await this.attempts.run(guess, 'unauthenticated', async (hasSucceeded) => {
        const opened = record ? await records.openKnown(name, record) : await passwords.openDecoy();
        const place = { share: networkOf(ctx.ip), hasSucceeded };
        const proof = await passwords.check(opened, password, place);
        if (opened === undefined || proof === undefined) {
          throw new VaultError('unauthenticated');
        }
        return { known: opened, proof };
      });
      this.attempts.succeed(guess.id);
      const upgraded = await passwords.upgrade(right.known, right.proof, password);
      // After the upgrade, since the entry names the newest revision of the record.
      await this.audit.record(entryOf(ctx, name, await records.find(name), 'success'));
      return upgraded;
    } catch (error) {
      if (error instanceof VaultError && error.status < 500) {
        this.recordRejection(ctx, name, record, error.code);
      }
      throw error;
    }
  }

  /** Records a rejection later than the reply, whose time would otherwise reveal whether the account exists. */
  private recordRejection(ctx: RequestContext, name: string, record: Buffer | undefined, outcome: string) {
    const remembered = record && this.records.lastKnown(name);
    if (record === undefined || remembered?.record.equals(record) === true) {
      this.audit.recordSoon(entryOf(ctx, name, remembered, outcome));
    } else {
      const owner = this.records.openKnown(name, record).catch(() => undefined);
      this.audit.recordSoon(owner.then((known) => entryOf(ctx, name, known, outcome)));
    }
  }
}

function aidOf(verified: Verified): string {
  return verified.kind === 'password' ? verified.aid : verified.name.aid;
}

/** Returns the entry of a sign-in; one under an unknown name is in the operator's log. */
function entryOf(
  { ip, userAgent, requestId }: RequestContext,
  name: string,
  known: KnownAccount | undefined,
  outcome: string,
): SecurityEvent {
  return {
    ...{ ip, userAgent, requestId },
    aid: known?.account.aid ?? '',
    // The change may not be in the log yet: its process died in between, or wrote no entry of it.
    ...(known && known.revision > 0 ? { change: { kind: 'account', revision: known.revision } } : {}),
    action: 'sign_in',
    outcome,
    actor: outcome === 'success' ? `account/${name}` : 'anonymous',
    object: isIdentifier(name) && !looksLikeCardNumber(name) ? `account/${name}` : 'account',
  };
}

function failureOf(error: unknown) {
  return error instanceof VaultError &&
    (error.code === 'unauthenticated' || error.code === 'too_many_failures')
    ? error.code
    : 'failed';
}
