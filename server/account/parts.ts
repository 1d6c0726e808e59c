import type { Audit } from '../audit/audit.ts';
import type { AuditStore } from '../audit/store.ts';
import { createMemory } from '../core/cache.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { createKeyedMutex, createSharedRuns, createTickJoin } from '../core/concurrency.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { FormerPassword } from '../domain/account/password.ts';
import type { Attempts } from '../limits/attempts.ts';
import type { Account } from '../request/context.ts';
import type { Observer } from '../telemetry/observer.ts';
import type { CredentialRecord } from './credential/records.ts';
import type { CredentialName, CredentialStore } from './credential/store.ts';
import type { AccountStore } from './store.ts';

const REMEMBER_MS = 60_000;
const REMEMBERED_MAX = 10_000;
/** The last use of a credential is noted no more often. */
const NOTED_MS = 60_000;

/** What the accounts of a server are made from. */
export interface AccountDependencies {
  readonly crypto: Pick<
    Crypto,
    | 'describeChain'
    | 'digestCredential'
    | 'digestSecret'
    | 'hashPassword'
    | 'makePassphrase'
    | 'openRecord'
    | 'passes'
    | 'sealRecord'
    | 'verifyGenerated'
    | 'verifyPassword'
  >;
  readonly accountStore: AccountStore;
  readonly credentialStore: CredentialStore;
  readonly attempts: Attempts;
  readonly audit: Pick<Audit, 'record' | 'recordSoon'>;
  readonly auditStore: Pick<AuditStore, 'readMarks'>;
  /** The id of the root whose pepper passwords are to have; undefined where there is no other. */
  readonly wantedPepper: () => string | undefined;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'environment' | 'version'>;
  readonly observer: Pick<Observer, 'count' | 'step'>;
}

/** An account as the record of these bytes holds it. */
export interface KnownAccount {
  readonly record: Buffer;
  readonly phc: string;
  /** As in its record. */
  readonly stretched: boolean | undefined;
  /** As in its record. */
  readonly former: FormerPassword | undefined;
  readonly revision: number;
  readonly account: Account;
}

/** An API credential as the record of these bytes holds it, while its account is as it was then. */
export interface KnownCredential {
  readonly name: CredentialName;
  readonly sealed: Buffer;
  readonly record: CredentialRecord;
  readonly owner: KnownAccount;
  /** The account with the rights that the credential leaves of its own. */
  readonly known: KnownAccount;
}

/** What a sign-in is checked against where there is no account. */
export interface Decoy {
  readonly phc: string;
  readonly record: Uint8Array;
}

/** A sign-in that was right. */
export type Verified = VerifiedPassword | VerifiedCredential;

/** The account, the password hash that it fits, and the name of its guesses. */
export interface VerifiedPassword {
  readonly kind: 'password';
  readonly name: string;
  readonly phc: string;
  readonly guessId: string;
}

/** The credential, and the digest of its secret. */
export interface VerifiedCredential {
  readonly kind: 'credential';
  readonly name: CredentialName;
  readonly digest: string;
}

/** What the functions of accounts work with. */
export type AccountParts = ReturnType<typeof createAccountParts>;

/** The parts of a server that remembers no sign-in yet. */
export function createAccountParts(dependencies: AccountDependencies) {
  const { now } = dependencies;
  return {
    ...dependencies,
    /** By a digest of credentials and address that only this process can compute. */
    verified: createMemory<Verified>(REMEMBERED_MAX, REMEMBER_MS, now),
    /** Opened records by the name of their account, used only while the stored record is the same. */
    opened: createMemory<KnownAccount>(REMEMBERED_MAX, REMEMBER_MS, now),
    /** Reads of records, shared by the requests of one tick. */
    reading: createTickJoin<Buffer | undefined>(),
    /** Opened records of credentials by their ids, used only while the stored record and the account are the same. */
    credentials: createMemory<KnownCredential>(REMEMBERED_MAX, REMEMBER_MS, now),
    readingCredential: createTickJoin<Buffer | undefined>(),
    /** Credentials whose last use was noted lately. */
    noted: createMemory<number>(REMEMBERED_MAX, NOTED_MS, now),
    /** Verifications in flight. */
    verifying: createSharedRuns<{ readonly known: KnownAccount; readonly proof: string | undefined }>(),
    decoy: undefined as Promise<Decoy> | undefined,
    /** A keyed mutex: the changes of one account run in order. */
    mutex: createKeyedMutex(),
  };
}
