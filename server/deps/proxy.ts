import type { Caller, ItemAddress, Repeatable, SecretBytes } from './common.ts';

/** Types only, a part of deps.ts: requests to third parties, filled with stored data or fetching some. */

/** What all three kinds of proxied request bring. */
interface ProxyInput {
  readonly passphrase: SecretBytes;
  /** The order as its JSON text, not yet looked at. */
  readonly body: Uint8Array;
  readonly idempotencyKey?: string | undefined;
}

/** How often a request may be sent, and which rules run over what goes out or comes in. */
interface AttemptsInput {
  /** 1 to 16. */
  readonly attempts: number;
  readonly rules: readonly string[];
}

export interface ProxyPostInput extends ItemAddress, ProxyInput, AttemptsInput {
  /** Whether the reply shows the request as it was filled. */
  readonly debug: boolean;
}

export interface ProxyGetInput extends ProxyInput, AttemptsInput {
  readonly user: string;
  /** How the token is made; `full` when left out. */
  readonly algorithm?: string | undefined;
  readonly smart_parse: boolean;
}

export interface NetworkTokenInput extends ItemAddress, ProxyInput {
  readonly requester_id: string;
}

/** Each answers with the JSON text of the reply: what became of a synchronous request, or that it was accepted. */
export interface ProxyService {
  readonly post: (caller: Caller, input: ProxyPostInput) => Promise<Repeatable<Uint8Array>>;
  readonly get: (caller: Caller, input: ProxyGetInput) => Promise<Repeatable<Uint8Array>>;
  readonly networkToken: (caller: Caller, input: NetworkTokenInput) => Promise<Repeatable<Uint8Array>>;
}
