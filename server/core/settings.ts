/** What the operator has set for the services. */
export interface ServiceSettings {
  readonly environment: 'staging' | 'production';
  /** The version of the server that `whoami` reports. */
  readonly version: string;
  /** 0 = no limit. */
  readonly authFailuresMax: number;
  /** How long a source is locked that has failed so often. */
  readonly authLockSeconds: number;
  /** Requests a minute; 0 = no limit. */
  readonly ratePerAccount: number;
  /** Whether parameters and members that a route does not know are errors. */
  readonly refuseUnknown: boolean;
  /** Requests a minute; 0 = no limit. */
  readonly ratePerSource: number;
  /** 0 = every request pays the full passphrase derivation. */
  readonly warmUnlockSeconds: number;
  /** How long sensitive authentication data is kept, ms; 0 = until it is deleted. */
  readonly sadTtlMs: number;
  /** Within how long after its expiry it has left the append-only file, ms. */
  readonly sadRewriteMs: number;
  /** Whether it is deleted once it has gone out with a request that succeeded. */
  readonly sadAfterProxy: boolean;
  /** How long entries of security logs are kept, ms; 0 = for ever. */
  readonly auditRetentionMs: number;
  /** How long jobs that have ended are listed; 0 = for ever. */
  readonly jobRetentionMs: number;
}
