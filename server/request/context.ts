import type { RecordChange } from '../../workers/jobs/audit/jobs.ts';
import type { ActorParams, RequestOrigin } from '../../workers/jobs/vault/jobs.ts';
import { VaultError } from '../core/errors.ts';
import type { MeterOperation } from '../core/operations.ts';
import type { Role } from '../core/roles.ts';
import type { Scope } from '../core/scopes.ts';
import type { UseRate } from '../limits/store.ts';

/** A person who has signed in, and the session. Times are ms since 1970. */
export interface SignedInPerson {
  readonly id: string;
  readonly role: Role;
  /** The digest of the session's token. */
  readonly session: string;
  /** The id of the passkey that was used; undefined for another way. */
  readonly passkeyId: string | undefined;
  readonly signedInMs: number;
  readonly expiresAtMs: number;
}

/** The rights of an API credential or a person, within the account's own limits. Shared by many requests and never changed. */
export interface CredentialRights {
  /** The id of the credential; `person/ID` for a person. */
  readonly id: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Vault keys that it may use, by `user`; undefined = all. */
  readonly keys: ReadonlySet<string> | undefined;
  /** CIDRs that it may be used from; undefined = any. */
  readonly ips: readonly string[] | undefined;
  /** Hosts that it may send data to; undefined = those of the account. */
  readonly hosts: readonly string[] | undefined;
  /** When it ends, milliseconds since 1970; `Infinity` if it does not. */
  readonly expiresAtMs: number;
  /** The id of the person whose rights it cannot exceed: the person itself, or the one who has made the credential. */
  readonly owner?: string | undefined;
  /** The session that acts; undefined for a credential. */
  readonly person?: SignedInPerson | undefined;
}

/** Preferences that change the behaviour of the vault: those that the account has set, and the defaults of the others. */
export interface Preferences {
  readonly default_algorithm: string;
  /** -1: no limit. Undefined until it is set, since listings have different defaults. */
  readonly default_limit: number | undefined;
  readonly mask_fields: readonly string[];
  readonly return_card_metadata: boolean;
  readonly webhook_max_attempts: number;
}

/**
 * An account with its rights as they were when it was read, limited to those of the credential that acts for it. Shared by
 * many requests and never changed. `aid` is its internal id and never leaves the server.
 */
export interface Account {
  readonly aid: string;
  readonly name: string;
  /** True if the operator has enabled unmasked output. */
  readonly unmasked: boolean;
  readonly paying: boolean;
  /** Hosts that the account may send data to; empty = any. */
  readonly hosts: readonly string[];
  readonly preferences: Preferences;
  /** Its requests in a period; undefined = no limit of its own. */
  readonly rate?: UseRate | undefined;
  /** True while the operator refuses its requests. */
  readonly isSuspended?: boolean;
  /** The API credential or the person that acts for it; undefined if its password was used. */
  readonly credential?: CredentialRights | undefined;
}

/** True for an operator credential, which belongs to no account: its id is that of the operator's log. */
export function isOperator({ aid }: { readonly aid: string }): boolean {
  return aid === '';
}

/** The name of the caller in the security log and in jobs. */
export function actorNameOf({ name, credential }: Account): string {
  return credential === undefined ? `account/${name}` : actorOfId(credential.id);
}

/** The name of an API credential or a person, which is `person/ID`, in the security log. */
export function actorOfId(id: string): string {
  return id.startsWith('person/') ? id : `credential/${id}`;
}

/** The owner of reusable connections to third parties: an API credential or a person of an account, or its password. */
export function senderOf(aid: string, credentialId: string | undefined): string {
  return credentialId === undefined ? aid : `${aid}/${credentialId}`;
}

export type RequestSource = RequestOrigin['source'];

/** Counts of a request for its account. Only metering reads and changes it. */
export interface RequestUsage {
  /** The operation that is counted with the request. */
  operation: MeterOperation | undefined;
  /** True if the request is counted, perhaps by the script of its operation. */
  isCounted: boolean;
}

/** One request, from its arrival to its log line, as one object that is passed explicitly. */
export interface RequestContext extends RequestOrigin {
  /** Final only when the request has been read. */
  source: RequestSource;
  /** Id of the endpoint whose secret it has shown. */
  endpointId: string | undefined;
  credentialId: string | undefined;
  /** The name of that credential, for logs. */
  credentialName: string | undefined;
  /** The account that the request acts for, as it was at sign-in; undefined before that. */
  account: Account | undefined;
  /** The password hash that its sign-in matched, which a change of the password replaces. */
  signInProof: string | undefined;
  readonly usage: RequestUsage;
  /** The change of a record with a revision, for its entry in the security log. */
  change: RecordChange | undefined;
  /** The version of the data of the item that it has stored or read; undefined for several items. */
  version: string | undefined;
  /** Aborted when its caller has gone; undefined for work without a caller. */
  readonly request?: { readonly signal: AbortSignal };
  /** Its Idempotency-Key, on a route that takes one. */
  idempotencyKey: string | undefined;
}

export type AccountContext = RequestContext & { readonly account: Account };

/** Makes the context of work without a known account. */
export function createContext(origin: RequestOrigin): RequestContext {
  return {
    ...origin,
    endpointId: undefined,
    credentialId: undefined,
    credentialName: undefined,
    account: undefined,
    signInProof: undefined,
    usage: { operation: undefined, isCounted: false },
    change: undefined,
    version: undefined,
    idempotencyKey: undefined,
  };
}

export function hasAccount<Context extends RequestContext>(
  ctx: Context,
): ctx is Context & { readonly account: Account } {
  return ctx.account !== undefined;
}

/** Sets the account of a request; returns the same object. */
export function actFor(ctx: RequestContext, account: Account): AccountContext {
  ctx.account = account;
  ctx.credentialId = account.credential?.id;
  ctx.credentialName = account.credential?.name;
  return ctx as AccountContext; // It has one from here on.
}

/** Rejects a request whose connection is closed, as the runtime does when a second request arrives before the reply. */
export function rejectAbandoned({ request }: RequestContext): void {
  if (request?.signal.aborted === true) {
    throw new VaultError('connection_closed');
  }
}

/** Returns the caller and the time for the action log. */
export function actorOf(
  { ip, userAgent, source, endpointId, credentialId, credentialName, requestId }: RequestContext,
  now: number,
): ActorParams {
  return { ip, userAgent, source, endpointId, credentialId, credentialName, requestId, now };
}
