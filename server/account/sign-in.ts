import type { Audit, SecurityEvent } from '../audit/audit.ts';
import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { createSharedRuns } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { looksLikeCardNumber } from '../domain/card/number.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import { networkOf, sourceOf } from '../domain/text/network.ts';
import type { Attempts, Guess } from '../limits/attempts.ts';
import { type AccountContext, actFor, type RequestContext } from '../request/context.ts';
import type { Observer } from '../telemetry/observer.ts';
import { type AccountPassword, readCredentials } from './authorization.ts';
import {
  type CredentialSignIn,
  outcomeOf,
  type SignedInAccount,
  type VerifiedCredential,
} from './credential/sign-in.ts';
import { hashesOf, type Passwords } from './passwords.ts';
import type { AccountRecords, KnownAccount } from './records.ts';
import type { SessionCaller, Sessions } from './session/sessions.ts';

const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 10_000;

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

/** The caller of a request: what its Authorization header has, or the cookie of a person. */
export type Caller = HeaderCaller | SessionCaller;

/** The caller of a request, as far as this process remembers the credentials that it sends. */
interface HeaderCaller {
  readonly kind: 'header';
  /** Identifies the credentials and the address of the caller. */
  readonly digest: string;
  /** Its Authorization header. */
  readonly header: Secret<string>;
  /** The sign-in that these credentials were right for last; undefined if nothing is remembered. */
  readonly verified: Verified | undefined;
}

/** Signs requests in with the password of an account, an API credential or the cookie of a person. */
export class SignIns {
  /** Successful sign-ins, by a digest of credentials and address that only this process can compute. */
  private readonly verified: Memory<Verified>;
  private readonly verifying = createSharedRuns<SignedIn>();

  constructor(
    private readonly crypto: Crypto,
    private readonly records: AccountRecords,
    private readonly passwords: Passwords,
    private readonly credentialSignIn: CredentialSignIn,
    private readonly sessions: Sessions,
    private readonly attempts: Attempts,
    private readonly audit: Audit,
    private readonly observer: Observer,
    private readonly now: Clock,
  ) {
    this.verified = new Memory(REMEMBERED_MAX, REMEMBERED_MS, now);
  }

  /** Finds the caller of a request by its Authorization header. Throws `unauthenticated` for a missing or malformed one. */
  recall(ip: string, header: Secret<string>): HeaderCaller {
    const digest = this.crypto.digestSecret(ip, header);
    const verified = this.verified.get(digest);
    if (verified === undefined) {
      this.crypto.passTo(header, readCredentials);
    }
    return { kind: 'header', digest, header, verified };
  }

  /** Returns the id of the account that a caller was signed in to; undefined if nothing is remembered. */
  aidOf(caller: Caller): string | undefined {
    if (caller.kind === 'session') {
      return this.sessions.aidOf(caller);
    }
    const { verified } = caller;
    return verified?.kind === 'credential' ? verified.name.aid : verified?.aid;
  }

  /** The caller with the token of a session. */
  recallSession(token: string, isPoll: boolean): SessionCaller {
    return this.sessions.callerOf(token, isPoll);
  }

  /**
   * Signs a request in. The account of a remembered caller is read as it is stored now, since any server may have changed it;
   * call this when the whole request has arrived, so that a revocation ends all that arrives after it. Rejects with
   * `unauthenticated`, `too_many_failures` or `account_suspended`. Verifications and rejections are logged.
   */
  async signIn(ctx: RequestContext, caller: Caller): Promise<AccountContext> {
    const { observer } = this;
    let signedIn: AccountContext;
    try {
      if (caller.kind === 'session') {
        const account = await observer.step('sign_in', () => this.sessions.signIn(ctx, caller));
        observer.count('sign_in', 'session');
        signedIn = actFor(ctx, account);
      } else {
        // A long body is received after a verification, which is remembered.
        const verified = caller.verified ?? this.verified.get(caller.digest);
        const known = verified && (await observer.step('sign_in', () => this.read(verified)));
        if (known !== undefined && verified !== undefined && this.isRightNow(known, verified)) {
          observer.count('sign_in', 'cached');
          ctx.signInProof = verified.kind === 'password' ? verified.phc : undefined;
          signedIn = actFor(ctx, known.account);
        } else {
          signedIn = await this.signInAnew(ctx, caller);
        }
      }
    } catch (error) {
      observer.count('sign_in', failureOf(error));
      throw error;
    }
    if (signedIn.account.isSuspended === true) {
      throw new VaultError('account_suspended');
    }
    return signedIn;
  }

  private async signInAnew(ctx: RequestContext, { digest, header }: HeaderCaller): Promise<AccountContext> {
    const credentials = this.crypto.passTo(header, readCredentials);
    const { known, proof } = await this.observer.step('sign_in', () =>
      this.verifyOnce(ctx, credentials, digest),
    );
    this.observer.count('sign_in', 'verified');
    ctx.signInProof = proof;
    return actFor(ctx, known.account);
  }

  private read(verified: Verified): Promise<KnownAccount | SignedInAccount | undefined> {
    return verified.kind === 'password'
      ? this.records.find(verified.name)
      : this.credentialSignIn.confirm(verified);
  }

  /** Returns whether the credentials that were verified still sign in to the account. */
  private isRightNow(known: KnownAccount | SignedInAccount, verified: Verified): boolean {
    if (verified.kind === 'credential' || !('phc' in known)) {
      // The read of a credential compares its digest.
      return verified.kind === 'credential';
    }
    const { phc, guessId } = verified;
    const isRight = known.phc === phc || hashesOf(known, this.now()).some((hash) => hash.phc === phc);
    if (isRight) {
      this.attempts.succeed(guessId);
    }
    return isRight;
  }

  private async verifyOnce(
    ctx: RequestContext,
    credentials: ReturnType<typeof readCredentials>,
    digest: string,
  ) {
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
      const known = await records.find(name);
      await this.audit.record(entryOf(ctx, name, known, outcomeOf(right.known.account)));
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
    actor: outcome === 'success' || outcome === 'account_suspended' ? `account/${name}` : 'anonymous',
    object: isIdentifier(name) && !looksLikeCardNumber(name) ? `account/${name}` : 'account',
  };
}

function failureOf(error: unknown) {
  return error instanceof VaultError &&
    (error.code === 'unauthenticated' || error.code === 'too_many_failures')
    ? error.code
    : 'failed';
}
