import { VaultError } from '../../core/errors.ts';
import { encodeSecret, type SecretBytes } from '../../core/secret.ts';
import { readPreferences } from '../../domain/account/preference.ts';
import { looksLikeCardNumber } from '../../domain/card/number.ts';
import { isIdentifier } from '../../domain/text/identifiers.ts';
import { sourceOf } from '../../domain/text/source.ts';
import { type Account, type AccountContext, actFor, type RequestContext } from '../common/request-context.ts';
import type { AccountParts, KnownAccount } from './parts.ts';
import { openAccount } from './record.ts';

/** What an account signs in with. */
interface AccountCredentials {
  readonly name: string;
  readonly password: SecretBytes;
}

async function openKnown(parts: AccountParts, name: string, record: Buffer): Promise<KnownAccount> {
  const known = parts.opened.get(name);
  if (known?.record.equals(record)) {
    return known;
  }
  const { phc, aid, unmasked, paying, hosts, preferences = [] } = await openAccount(parts, name, record);
  const account = { aid, name, unmasked, paying, hosts, preferences: readPreferences(preferences) };
  const fresh = { record, phc, account };
  parts.opened.set(name, fresh);
  return fresh;
}

/** The account of this name as it is stored now; undefined when there is none. */
async function readKnown(parts: AccountParts, name: string): Promise<KnownAccount | undefined> {
  const record = await parts.reading(name, () => parts.accountStore.read(name));
  return record && openKnown(parts, name, record);
}

/** The account of this name with its rights as they are now; undefined when there is none. */
export async function lookUp(parts: AccountParts, name: string): Promise<Account | undefined> {
  return (await readKnown(parts, name))?.account;
}

/** An unknown account costs as much as a known one, so that the time of a reply does not reveal which names exist. */
function readNoopHash(parts: AccountParts): Promise<string> {
  const { crypto } = parts;
  parts.noopHash ??= crypto
    .makePassphrase({ length: 64 })
    .then((made) => crypto.hashPassword({ password: encodeSecret(made) }))
    .catch((error: unknown) => {
      parts.noopHash = undefined;
      throw error;
    });
  return parts.noopHash;
}

/** Records how a sign-in has ended; one under a name that no account has is in the operator's own log. */
async function recordSignIn(
  parts: AccountParts,
  { ip, userAgent, requestId }: RequestContext,
  name: string,
  outcome: string,
): Promise<void> {
  const known = isIdentifier(name) ? await lookUp(parts, name) : undefined;
  await parts.audit.record({
    ...{ ip, userAgent, requestId },
    aid: known?.aid ?? '',
    action: 'sign_in',
    outcome,
    actor: outcome === 'success' ? `account/${name}` : 'anonymous',
    object: isIdentifier(name) && !looksLikeCardNumber(name) ? `account/${name}` : 'account',
  });
}

/** Verifies a password with its full cost. The outcome is recorded before the caller learns of it; a fault is not. */
async function verify(
  parts: AccountParts,
  ctx: RequestContext,
  { name, password }: AccountCredentials,
  record: Buffer | undefined,
  counter: string,
): Promise<KnownAccount> {
  const { attempts, crypto } = parts;
  try {
    const known = await attempts.run(counter, 'unauthenticated', async () => {
      const opened = record && (await openKnown(parts, name, record));
      const phc = opened?.phc ?? (await readNoopHash(parts));
      if (!(await crypto.verifyPassword({ password, phc, share: sourceOf(ctx.ip) })) || !opened) {
        throw new VaultError('unauthenticated');
      }
      return opened;
    });
    await recordSignIn(parts, ctx, name, 'success');
    return known;
  } catch (error) {
    if (error instanceof VaultError && error.status < 500) {
      await recordSignIn(parts, ctx, name, error.code);
    }
    throw error;
  }
}

async function signInOnce(
  parts: AccountParts,
  ctx: RequestContext,
  credentials: AccountCredentials,
): Promise<AccountContext> {
  const { crypto, accountStore, attempts, observer, verified } = parts;
  const { name, password } = credentials;
  const digest = crypto.digestSecret(['sign-in', name, ctx.ip], password);
  const earlier = verified.get(digest);
  let known = earlier && (await readKnown(parts, name));
  // Any server may have changed the password: that ends what is remembered at once.
  if (earlier && known?.phc === earlier.phc) {
    attempts.succeed(earlier.counter);
    observer.count('sign_in', 'cached');
  } else {
    const counter = accountStore.signInCounter(name, sourceOf(ctx.ip));
    // A request shares a verification only with those that read the same record: never one from before it came.
    const record = isIdentifier(name) ? await accountStore.read(name) : undefined;
    known = await parts.verifying(`${digest} ${record?.toString('latin1') ?? ''}`, () =>
      verify(parts, ctx, credentials, record, counter),
    );
    verified.set(digest, { phc: known.phc, counter });
    observer.count('sign_in', 'verified');
  }
  ctx.signInProof = known.phc;
  return actFor(ctx, known.account);
}

function failureOf(error: unknown) {
  return error instanceof VaultError &&
    (error.code === 'unauthenticated' || error.code === 'too_many_failures')
    ? error.code
    : 'failed';
}

/**
 * Lets the request act for the account of these credentials. Rejects with `unauthenticated` or `too_many_failures`. Each
 * full verification of a password, and each rejection, is an entry of the security log.
 */
export function signIn(
  parts: AccountParts,
  ctx: RequestContext,
  credentials: AccountCredentials,
): Promise<AccountContext> {
  const { observer } = parts;
  return observer
    .step('sign_in', () => signInOnce(parts, ctx, credentials))
    .catch((error: unknown) => {
      observer.count('sign_in', failureOf(error));
      throw error;
    });
}
