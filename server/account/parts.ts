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
import type { CredentialSignIn, SignedInAccount, VerifiedCredential } from './credential/sign-in.ts';
import type { AccountStore } from './store.ts';

const REMEMBER_MS = 60_000;
const REMEMBERED_MAX = 10_000;

/** What the accounts of a server are made from. */
export interface AccountDependencies {
  readonly crypto: Pick<
    Crypto,
    | 'describeChain'
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
  readonly credentialSignIn: CredentialSignIn;
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
    /** Verifications in flight. */
    verifying: createSharedRuns<{ readonly known: SignedInAccount; readonly proof: string | undefined }>(),
    decoy: undefined as Promise<Decoy> | undefined,
    /** A keyed mutex: the changes of one account run in order. */
    mutex: createKeyedMutex(),
  };
}
