import type { Secret } from './secret.ts';

/** Types only, a part of deps.ts: who acts, and what all nouns answer with. */

/** An account that has signed in. `aid` is its internal id and never leaves the server. */
export interface Account {
  readonly aid: string;
  readonly name: string;
  /** Whether the operator has enabled unmasked output. */
  readonly unmasked: boolean;
  readonly paying: boolean;
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
  readonly source: 'vault' | 'capture' | 'retrieve' | 'form';
}

/** The exact UTF-8 bytes of a passphrase or password. */
export type SecretBytes = Secret<Uint8Array>;

/** A reply, and whether it is the kept one of an earlier request with the same Idempotency-Key. */
export interface Repeatable<Reply> {
  readonly reply: Reply;
  readonly replayed: boolean;
}

/** A tree of items as JSON text, piece by piece. An error in it aborts the connection. */
export interface TreeStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly nextToken?: string | undefined;
}
