import type { Secret } from '../core/secret.ts';
import type { OPERATIONS, Preferences } from '../http/schema/admin.ts';

/** Types only, a part of deps.ts: who acts, and what all nouns answer with. */

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

/** The exact UTF-8 bytes of a passphrase or password. */
export type SecretBytes = Secret<Uint8Array>;

/** A reply, and whether it is the kept one of an earlier request with the same Idempotency-Key. */
export interface Repeatable<Reply> {
  readonly reply: Reply;
  readonly replayed: boolean;
}

/** One item; `reference` is needed when it was stored with one. */
export interface ItemAddress {
  readonly user: string;
  readonly token: string;
  readonly reference?: string | undefined;
}

/** A tree of items as JSON text, piece by piece. An error in it aborts the connection. */
export interface TreeStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly nextToken?: string | undefined;
}

/** The billable operations. */
export type MeterOperation = (typeof OPERATIONS)[number];
