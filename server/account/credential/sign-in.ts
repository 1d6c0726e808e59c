import type { Audit } from '../../audit/audit.ts';
import { Memory } from '../../core/cache.ts';
import type { Clock } from '../../core/clock.ts';
import { createTickJoin } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { Secret } from '../../core/secret.ts';
import type { Crypto } from '../../crypto/client.ts';
import { isWithinLimits } from '../../domain/account.ts';
import { type Account, isOperator, type RequestContext } from '../../request/context.ts';
import { type KnownPerson, limitsOfPerson, type PersonRecords } from '../person/records.ts';
import type { AccountRecords } from '../records.ts';
import { type CredentialRecord, endOf, limitsOf, OPERATOR, openCredential } from './records.ts';
import type { CredentialName, CredentialStore } from './store.ts';

const CACHED_MAX = 10_000;
const CACHED_MS = 60_000;
/** The shortest time between two records of the last use of a credential. */
const NOTED_MS = 60_000;

/** The secret of an API credential, perhaps with its id. */
export interface CredentialSecret {
  readonly kind: 'credential';
  readonly id: string | undefined;
  readonly secret: Secret<string>;
}

/** A verified sign-in: the credential, and the digest of its secret. */
export interface VerifiedCredential {
  readonly kind: 'credential';
  readonly name: CredentialName;
  readonly digest: string;
}

/** An account that a sign-in leads to, as it was read. */
export interface SignedInAccount {
  readonly account: Account;
}

const OPERATOR_OWNER: SignedInAccount = { account: OPERATOR };

/** An opened record of a credential, and its account as it was read then. */
interface KnownCredential extends SignedInAccount {
  readonly name: CredentialName;
  readonly sealed: Buffer;
  readonly record: CredentialRecord;
  readonly owner: SignedInAccount;
  /** The person whose rights it cannot exceed; undefined for one that no person has made. */
  readonly person: KnownPerson | undefined;
  /** The account with the rights of the credential. */
  readonly account: Account;
}

/** Signs in with API credentials. */
export class CredentialSignIn {
  /** Credentials that were opened recently, by id; used only while the stored record and the account are the same. */
  private readonly cache: Memory<KnownCredential>;
  /** Times of uses that were recorded recently, by id of the credential. */
  private readonly noted: Memory<number>;
  private readonly reading = createTickJoin<Buffer | undefined>();

  constructor(
    private readonly store: CredentialStore,
    private readonly crypto: Crypto,
    private readonly records: AccountRecords,
    private readonly persons: PersonRecords,
    private readonly audit: Audit,
    private readonly now: Clock,
  ) {
    this.cache = new Memory(CACHED_MAX, CACHED_MS, now);
    this.noted = new Memory(CACHED_MAX, NOTED_MS, now);
  }

  /** Verifies a secret. It has 256 random bits: guesses are not counted. A success is logged at once, a rejection later. */
  async verify({ ip, userAgent, requestId }: RequestContext, { id, secret }: CredentialSecret) {
    const digest = this.crypto.digestCredential(secret);
    const name = await this.store.secrets.find(digest);
    const found = name && (await this.read(name));
    const end = found && endOf(found.record, digest, this.now());
    const owned = end === 'gone' ? undefined : found;
    const event = { ip, userAgent, requestId, action: 'sign_in', aid: owned?.name.aid ?? '' } as const;
    const object = owned ? `credential/${owned.name.id}` : 'credential';
    if (owned === undefined || end !== undefined || (id ?? owned.name.id) !== owned.name.id) {
      this.audit.recordSoon({ ...event, outcome: 'unauthenticated', actor: 'anonymous', object });
      throw new VaultError('unauthenticated');
    }
    const actorName = owned.record.name;
    const outcome = outcomeOf(owned.account);
    await this.audit.record({ ...event, outcome, actor: object, actorName, object });
    this.noteUse(owned.name);
    const verified: VerifiedCredential = { kind: 'credential', name: owned.name, digest };
    return { verified, known: owned };
  }

  /** Returns the account with the rights of a credential that was verified; undefined if the secret is no longer valid. */
  async confirm({ name, digest }: VerifiedCredential): Promise<SignedInAccount | undefined> {
    const found = await this.read(name);
    if (found === undefined || endOf(found.record, digest, this.now()) !== undefined) {
      return undefined;
    }
    this.noteUse(name);
    return found;
  }

  forget(id: string): void {
    this.cache.delete(id);
  }

  /** Reads a credential and its account as they are stored now, in one round trip if known; undefined if either is gone. */
  private async read(name: CredentialName): Promise<KnownCredential | undefined> {
    const { aid, id } = name;
    const known = this.cache.get(id);
    const [stored, owner, seenPerson] = await Promise.all([
      this.reading(`${aid} ${id}`, () => this.store.read(aid, id)),
      known && this.findOwner(known),
      known?.person && this.persons.find(known.person.name),
    ]);
    if (stored === undefined) {
      return undefined;
    }
    const isSame = known?.sealed.equals(stored) === true;
    if (isSame && owner !== undefined && known.owner === owner && known.person === seenPerson) {
      return known;
    }
    const record = isSame ? known.record : await openCredential(this.crypto, name, stored);
    const nowOwner = owner ?? (await this.findOwner({ name, record }));
    if (nowOwner?.account.aid !== aid) {
      return undefined;
    }
    const person =
      record.person === undefined ? undefined : await this.persons.find({ aid, id: record.person });
    if (record.person !== undefined && !isCovered(record, person)) {
      return undefined;
    }
    const account = limited(nowOwner.account, id, record);
    // The record is copied: it is a view of a larger reply, which the cache would keep in memory.
    const fresh = { name, sealed: Buffer.from(stored), record, owner: nowOwner, person, account };
    this.cache.set(id, fresh);
    return fresh;
  }

  /** Reads the account of a credential as it is stored now; that of the operator is always the same. */
  private findOwner({ name, record }: Pick<KnownCredential, 'name' | 'record'>) {
    return isOperator(name) ? OPERATOR_OWNER : this.records.find(record.account);
  }

  /** Records the use of a credential at most once a minute. No one waits for it, and no request fails with it. */
  private noteUse({ aid, id }: CredentialName): void {
    const usedMs = this.now();
    if (this.noted.get(id) === undefined) {
      this.noted.set(id, usedMs);
      this.store.touch(aid, id, usedMs).catch(() => this.noted.delete(id));
    }
  }
}

/** The outcome of a sign-in with the right secret or password, for the security log. */
export function outcomeOf({ isSuspended }: Account): 'success' | 'account_suspended' {
  return isSuspended === true ? 'account_suspended' : 'success';
}

/** Tells whether a person is there and may do all that a credential may. */
export function isCovered(record: CredentialRecord, person: KnownPerson | undefined): boolean {
  const bounds = person && limitsOfPerson(person.record);
  return bounds !== undefined && isWithinLimits(limitsOf(record), bounds);
}

/** The account with those of its rights that a credential has. */
function limited(account: Account, id: string, record: CredentialRecord): Account {
  const { name, scopes, keys, ips, hosts, unmasked, expiresAtMs = Number.POSITIVE_INFINITY } = record;
  const credential = {
    ...{ id, name, scopes: new Set(scopes), keys: keys && new Set(keys) },
    ...{ ips, hosts, expiresAtMs, owner: record.person },
  };
  return { ...account, unmasked: account.unmasked && unmasked, credential };
}
