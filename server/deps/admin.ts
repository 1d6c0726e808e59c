import type { Secret } from '../core/secret.ts';
import type { Billing, Usage } from '../http/schema/admin.ts';
import type { Caller, SecretBytes } from './common.ts';

/** Types only, a part of deps.ts: what an account uses and pays, and how it wants to be served. */

/** The operator's prices: decimal texts by billable operation, and one for all others. */
export interface PriceTable {
  readonly currency: string;
  readonly prices: Readonly<Record<string, string>>;
  readonly default: string;
}

export interface AdminService {
  /** What the account has used since the month began (UTC), at the operator's prices of now. */
  readonly billing: (caller: Caller) => Promise<Billing>;
  /** Keys and tokens as they are now, requests of a month (`YYYY-MM`); of the current one when it is left out. */
  readonly usage: (caller: Caller, month: string | undefined) => Promise<Usage>;
}

export interface PasswordService {
  /**
   * Puts another password in the place of the one that the caller signed in with, on every server at once; one of 256
   * random bits when none is chosen. Refuses with `password_changed` when that is no longer the password, and with
   * `too_many_changes`.
   */
  readonly change: (
    caller: Caller,
    chosen: SecretBytes | undefined,
  ) => Promise<{ readonly user: string; readonly password: Secret<string> }>;
}

/** Preferences of an account; whatever it gives is JSON text, since values keep their exact text. */
export interface PreferenceService {
  /** `body` is the JSON text as sent, not yet looked at. */
  readonly set: (caller: Caller, body: Uint8Array) => Promise<Uint8Array>;
  readonly read: (caller: Caller, key: string) => Promise<Uint8Array>;
  readonly list: (caller: Caller) => Promise<Uint8Array>;
  /** Deletes one; a preference that the vault acts on has its default again. */
  readonly remove: (caller: Caller, key: string) => Promise<void>;
}

export interface ComplianceService {
  /** The operator's certificate as a PDF. Refuses with `not_allowed` who does not pay, and `certificate_not_found`. */
  readonly read: (caller: Caller) => Promise<Uint8Array>;
}
