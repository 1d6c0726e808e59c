import type { Preferences } from '../../http/schema/admin.ts';

/** An account that has signed in. `aid` is its internal id and never leaves the server. */
export interface Account {
  readonly aid: string;
  readonly name: string;
  /** Whether the operator has enabled unmasked output. */
  readonly unmasked: boolean;
  readonly paying: boolean;
  /** Hosts that the account may send data to; empty = any. */
  readonly hosts: readonly string[];
  /** How it wants to be served where a request does not say. */
  readonly preferences: Preferences;
}

/** Who sends a request, before anybody has signed in. */
export interface Visitor {
  readonly ip: string;
  readonly userAgent: string;
  readonly requestId: string;
}

/** Who does something, for rights, action log and audit. */
export interface Caller extends Visitor {
  readonly account: Account;
  readonly source: 'vault' | 'capture' | 'retrieve' | 'proxy' | 'form';
}

/** One item; `reference` is needed when it was stored with one. */
export interface ItemAddress {
  readonly user: string;
  readonly token: string;
  readonly reference?: string | undefined;
}
