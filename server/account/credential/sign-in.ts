/** How a request signs in with an API credential. */
import { VaultError } from '../../core/errors.ts';
import type { Secret } from '../../core/secret.ts';
import type { RequestContext } from '../../request/context.ts';
import type { AccountParts, KnownAccount, KnownCredential, VerifiedCredential } from '../parts.ts';
import { type CredentialRecord, endOf, openCredential } from './records.ts';
import type { CredentialName } from './store.ts';

/** The secret of an API credential, perhaps with its id. */
export interface CredentialSecret {
  readonly kind: 'credential';
  readonly id: string | undefined;
  readonly secret: Secret<string>;
}

/** Reads an account as it is stored now; undefined when there is none of this name. */
type ReadAccount = (parts: AccountParts, name: string) => Promise<KnownAccount | undefined>;

/** The account with the rights that a credential leaves of its own. */
function limited(owner: KnownAccount, id: string, record: CredentialRecord): KnownAccount {
  const { account } = owner;
  const { scopes, keys, ips, hosts, unmasked, expiresAtMs = Number.POSITIVE_INFINITY } = record;
  const credential = {
    ...{ id, scopes: new Set(scopes), keys: keys && new Set(keys) },
    ...{ ips, hosts, expiresAtMs },
  };
  return { ...owner, account: { ...account, unmasked: account.unmasked && unmasked, credential } };
}

/**
 * The credential of this name as it is stored now, with its account; undefined when one of them is gone. The record of an
 * account whose name is known is read in the same round trip.
 */
async function readCredential(
  parts: AccountParts,
  name: CredentialName,
  readAccount: ReadAccount,
): Promise<KnownCredential | undefined> {
  const { aid, id } = name;
  const known = parts.credentials.get(id);
  const [stored, owner] = await Promise.all([
    parts.readingCredential(`${aid} ${id}`, () => parts.credentialStore.read(name)),
    known && readAccount(parts, known.record.account),
  ]);
  if (stored === undefined) {
    return undefined;
  }
  const isSame = known?.sealed.equals(stored) === true;
  if (isSame && owner !== undefined && known.owner === owner) {
    return known;
  }
  const record = isSame ? known.record : await openCredential(parts, name, stored);
  const nowOwner = owner ?? (await readAccount(parts, record.account));
  if (nowOwner?.account.aid !== aid) {
    return undefined;
  }
  // A copy: a reply is a view, and would keep all that arrived with it.
  const fresh = {
    ...{ name, record, owner: nowOwner },
    ...{ sealed: Buffer.from(stored), known: limited(nowOwner, id, record) },
  };
  parts.credentials.set(id, fresh);
  return fresh;
}

/** Notes that a credential is used, at most once a minute. Nothing waits for it, and nothing fails with it. */
function noteUse({ credentialStore, noted, now }: AccountParts, name: CredentialName): void {
  const usedMs = now();
  if (noted.get(name.id) === undefined) {
    noted.set(name.id, usedMs);
    credentialStore.touch(name, usedMs).catch(() => noted.delete(name.id));
  }
}

/** The account with the rights of a credential, if that is still what was verified. */
export async function confirmCredential(
  parts: AccountParts,
  { name, digest }: VerifiedCredential,
  readAccount: ReadAccount,
): Promise<KnownAccount | undefined> {
  const found = await readCredential(parts, name, readAccount);
  if (found === undefined || endOf(found.record, digest, parts.now()) !== undefined) {
    return undefined;
  }
  noteUse(parts, name);
  return found.known;
}

/**
 * Verifies the secret of a credential. It has 256 random bits: guesses are neither slowed down nor counted. A success is
 * recorded before the caller learns of it, a rejection soon after.
 */
export async function verifyCredential(
  parts: AccountParts,
  { ip, userAgent, requestId }: RequestContext,
  { id, secret }: CredentialSecret,
  readAccount: ReadAccount,
): Promise<VerifiedCredential & { readonly known: KnownAccount }> {
  const { audit, credentialStore, crypto, now } = parts;
  const digest = crypto.digestCredential(secret);
  const name = await credentialStore.find(digest);
  const found = name && (await readCredential(parts, name, readAccount));
  const isItsOwn = found !== undefined && endOf(found.record, digest, now()) !== 'gone';
  const event = { ip, userAgent, requestId, action: 'sign_in', aid: isItsOwn ? found.name.aid : '' } as const;
  const object = isItsOwn ? `credential/${found.name.id}` : 'credential';
  if (
    !isItsOwn ||
    endOf(found.record, digest, now()) !== undefined ||
    (id ?? found.name.id) !== found.name.id
  ) {
    audit.recordSoon({ ...event, outcome: 'unauthenticated', actor: 'anonymous', object });
    throw new VaultError('unauthenticated');
  }
  await audit.record({ ...event, outcome: 'success', actor: object, object });
  noteUse(parts, found.name);
  return { kind: 'credential', name: found.name, digest, known: found.known };
}
