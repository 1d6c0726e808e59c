import type { SecurityEvent } from '../audit/event.ts';
import { VaultError } from '../core/errors.ts';
import type { Secret, SecretBytes } from '../core/secret.ts';
import { looksLikeCardNumber } from '../domain/card/number.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import { networkOf } from '../domain/text/source.ts';
import { type Guess, guessSourceOf } from '../limits/attempts.ts';
import { type Account, type AccountContext, actFor, type RequestContext } from '../request/context.ts';
import type { CredentialSecret, SignedInAccount } from './credential/sign-in.ts';
import type { AccountParts, KnownAccount, Verified, VerifiedPassword } from './parts.ts';
import { checkPassword, hashesOf, openDecoy, upgradeHash } from './passwords.ts';
import { readPreferences } from './preference-values.ts';
import { openAccount } from './records.ts';
import { readNewestRevision, recordRollback } from './revision.ts';

/** What a request signs in with. */
export type Credentials = AccountCredentials | CredentialSecret;

/** The password of an account. */
interface AccountCredentials {
  readonly kind: 'password';
  readonly name: string;
  readonly password: SecretBytes;
}

/** The account of this name as it is stored now; undefined when there is none. */
export async function readKnown(parts: AccountParts, name: string): Promise<KnownAccount | undefined> {
  const record = await parts.reading(name, () => parts.accountStore.read(name));
  const known = parts.opened.get(name);
  return record === undefined || known?.record.equals(record) === true
    ? record && known
    : openKnown(parts, name, record);
}

/**
 * Opens the record of an account that was read. One that is older than its newest change is read again, for that may be of
 * this moment; where it stays, it is reported and rejected with `record_rolled_back`.
 */
async function openKnown(
  parts: AccountParts,
  name: string,
  record: Buffer,
): Promise<KnownAccount | undefined> {
  const opened = await openAccount(parts, name, record);
  const { phc, stretched, former, aid, unmasked, paying, hosts, preferences = [], revision = 0 } = opened;
  if ((await readNewestRevision(parts, aid)) > revision) {
    const now = await parts.accountStore.read(name);
    if (now?.equals(record) === true) {
      await recordRollback(parts, name, aid);
      throw new VaultError('record_rolled_back');
    }
    return now && openKnown(parts, name, now);
  }
  // What is remembered spares a guess nothing: it would be sooner refused than one at a name that nobody has.
  const remembered = parts.opened.get(name);
  if (remembered?.record.equals(record) === true) {
    return remembered;
  }
  const account = { aid, name, unmasked, paying, hosts, preferences: readPreferences(preferences) };
  // A copy: a reply is a view, and would keep all that arrived with it.
  const fresh = { record: Buffer.from(record), phc, stretched, former, revision, account };
  parts.opened.set(name, fresh);
  return fresh;
}

/** The account of this name with its rights as they are now; undefined when there is none. */
export async function lookUp(parts: AccountParts, name: string): Promise<Account | undefined> {
  return (await readKnown(parts, name))?.account;
}

/** The entry of how a sign-in has ended; one under a name that no account has is in the operator's own log. */
function entryOf(
  { ip, userAgent, requestId }: RequestContext,
  name: string,
  known: KnownAccount | undefined,
  outcome: string,
): SecurityEvent {
  return {
    ...{ ip, userAgent, requestId },
    aid: known?.account.aid ?? '',
    // Of a record whose change is not in the log, for a process died in between, or none wrote an entry of it.
    ...(known && known.revision > 0 ? { change: { kind: 'account', revision: known.revision } } : {}),
    action: 'sign_in',
    outcome,
    actor: outcome === 'success' ? `account/${name}` : 'anonymous',
    object: isIdentifier(name) && !looksLikeCardNumber(name) ? `account/${name}` : 'account',
  };
}

/**
 * Records a rejection. The reply waits neither for the entry nor for finding out whose it is: the time of that would
 * reveal in whose log it is, and so whether there is such an account.
 */
function recordRejection(
  parts: AccountParts,
  ctx: RequestContext,
  name: string,
  record: Buffer | undefined,
  outcome: string,
): void {
  const { audit, opened } = parts;
  const remembered = record && opened.get(name);
  if (record === undefined || remembered?.record.equals(record) === true) {
    audit.recordSoon(entryOf(ctx, name, remembered, outcome));
  } else {
    const owner = openKnown(parts, name, record).catch(() => undefined);
    audit.recordSoon(owner.then((known) => entryOf(ctx, name, known, outcome)));
  }
}

/**
 * Verifies a password, see `checkPassword`. A success is recorded before the caller learns of it, a rejection soon after;
 * a fault is not.
 */
async function verify(
  parts: AccountParts,
  ctx: RequestContext,
  credentials: AccountCredentials,
  record: Buffer | undefined,
  guess: Guess,
): Promise<SignedIn> {
  const { attempts } = parts;
  const { name, password } = credentials;
  try {
    const right = await attempts.run(guess, 'unauthenticated', async (hasSucceeded) => {
      const opened = record ? await openKnown(parts, name, record) : await openDecoy(parts);
      const place = { share: networkOf(ctx.ip), hasSucceeded };
      const proof = await checkPassword(parts, opened, password, place);
      if (opened === undefined || proof === undefined) {
        throw new VaultError('unauthenticated');
      }
      return { known: opened, proof };
    });
    attempts.succeed(guess.id);
    const upgraded = await upgradeHash(parts, right, password);
    // Behind that, for the entry names the newest revision of the record.
    await parts.audit.record(entryOf(ctx, name, await readKnown(parts, name), 'success'));
    return upgraded;
  } catch (error) {
    if (error instanceof VaultError && error.status < 500) {
      recordRejection(parts, ctx, name, record, error.code);
    }
    throw error;
  }
}

/** A sign-in that was right: the account, and the password hash that it fits; of a credential none. */
export interface SignedIn {
  readonly known: SignedInAccount;
  readonly proof: string | undefined;
}

/** What is remembered of the credentials of a request, when it has arrived. */
export interface Recalled {
  /** Stands for the credentials and the address of the caller. */
  readonly digest: string;
  /** The password hash that they fitted. */
  readonly proof: string | undefined;
  /** The account as it was read last, if these credentials were right for it. */
  readonly assumed: SignedInAccount | undefined;
  /** The account as it is stored now, if these credentials are still right; undefined when nothing is remembered. */
  readonly known: Promise<SignedInAccount | undefined> | undefined;
}

/** The account, if its password or the credential is still what was verified. Any server may have changed it. */
function confirm(parts: AccountParts, verified: Verified): Promise<SignedInAccount | undefined> {
  return verified.kind === 'password'
    ? confirmPassword(parts, verified)
    : parts.credentialSignIn.confirm(verified);
}

/** What a sign-in that was right led to when it was read last, if it would still lead there. */
function lastKnown(parts: AccountParts, verified: Verified): SignedInAccount | undefined {
  if (verified.kind === 'password') {
    const last = parts.opened.get(verified.name);
    return last && isRightNow(parts, last, verified) ? last : undefined;
  }
  return parts.credentialSignIn.lastKnown(verified);
}

/** Whether the password that was verified still signs in to the account. */
function isRightNow({ now }: AccountParts, known: KnownAccount, { phc }: VerifiedPassword): boolean {
  return known.phc === phc || hashesOf(known, now()).some((hash) => hash.phc === phc);
}

async function confirmPassword(
  parts: AccountParts,
  verified: VerifiedPassword,
): Promise<KnownAccount | undefined> {
  const known = await readKnown(parts, verified.name);
  if (known === undefined || !isRightNow(parts, known, verified)) {
    return undefined;
  }
  parts.attempts.succeed(verified.guessId);
  return known;
}

/**
 * Begins the sign-in of a request by its Authorization header: the record of an account whose credentials were verified
 * lately is read while the body arrives. `signIn` ends it.
 */
export function recall(parts: AccountParts, ip: string, header: Secret<string>): Recalled {
  const digest = parts.crypto.digestSecret(ip, header);
  const earlier = parts.verified.get(digest);
  if (earlier === undefined) {
    return { digest, proof: undefined, assumed: undefined, known: undefined };
  }
  const known = parts.observer.step('sign_in', () => confirm(parts, earlier));
  // A request that fails before its sign-in does not wait for this.
  known.catch(() => undefined);
  const proof = earlier.kind === 'password' ? earlier.phc : undefined;
  return { digest, proof, assumed: lastKnown(parts, earlier), known };
}

/**
 * Lets the request act for the account that its credentials were right for last, while that is confirmed; undefined when
 * nothing can be assumed. The request must call `confirmAccount`.
 */
export function assumeAccount(
  { observer }: Pick<AccountParts, 'observer'>,
  ctx: RequestContext,
  { assumed, proof, known }: Recalled,
): AccountContext | undefined {
  if (assumed === undefined || known === undefined) {
    return undefined;
  }
  ctx.signInProof = proof;
  ctx.accountCheck = known.then((now) => now === assumed);
  ctx.accountCheck.catch(() => undefined);
  observer.count('sign_in', 'cached');
  return actFor(ctx, assumed.account);
}

/** Names the guesses at the password of an account from one source; names that nobody has count likewise. */
function guessOf(
  { accountStore, crypto }: AccountParts,
  { ip }: RequestContext,
  { name, password }: AccountCredentials,
): Guess {
  const from = guessSourceOf(ip);
  return {
    id: `${name} ${from.source}`,
    ip,
    digest: () => crypto.digestSecret('sign-in', password),
    counters: () => accountStore.signInCounters(name, from),
  };
}

async function verifyOnce(
  parts: AccountParts,
  ctx: RequestContext,
  credentials: Credentials,
  digest: string,
): Promise<SignedIn> {
  if (credentials.kind === 'credential') {
    const { known, verified } = await parts.credentialSignIn.verify(ctx, credentials);
    parts.verified.set(digest, verified);
    return { known, proof: undefined };
  }
  const { accountStore, verified, verifying } = parts;
  const { name } = credentials;
  const guess = guessOf(parts, ctx, credentials);
  // A request shares a verification only with those that read the same record: never one from before it came.
  const record = isIdentifier(name) ? await accountStore.read(name) : undefined;
  const signedIn = await verifying(`${digest} ${record?.toString('latin1') ?? ''}`, () =>
    verify(parts, ctx, credentials, record, guess),
  );
  verified.set(digest, { kind: 'password', name, phc: signedIn.proof ?? '', guessId: guess.id });
  return signedIn;
}

function failureOf(error: unknown) {
  return error instanceof VaultError &&
    (error.code === 'unauthenticated' || error.code === 'too_many_failures')
    ? error.code
    : 'failed';
}

/**
 * Lets the request act for the account of its credentials. Rejects with `unauthenticated` or `too_many_failures`. Each
 * full verification of a password, and each rejection, is an entry of the security log.
 */
export async function signIn(
  parts: AccountParts,
  ctx: RequestContext,
  { digest, proof, known: recalled }: Recalled,
  readCredentials: () => Credentials,
): Promise<AccountContext> {
  const { observer } = parts;
  try {
    const remembered = await recalled;
    let signedIn = remembered && { known: remembered, proof };
    if (signedIn === undefined) {
      const credentials = readCredentials();
      signedIn = await observer.step('sign_in', () => verifyOnce(parts, ctx, credentials, digest));
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
