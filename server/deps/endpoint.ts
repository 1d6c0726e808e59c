import type { Secret } from '../core/secret.ts';
import type { Captured } from '../http/schema/capture.ts';
import type { OperationNames, Rule } from '../http/schema/rule.ts';
import type { Caller, Repeatable, SecretBytes, TreeStream, Visitor } from './common.ts';

/** Types only, a part of deps.ts: endpoints, what goes through them, and rules. */

export type EndpointKind = 'capture' | 'retrieve';

export interface CreateEndpointInput {
  readonly user: string;
  readonly passphrase: SecretBytes;
  readonly unique_id?: string | undefined;
  /** A duration such as `45m` or `P1D`; 24 hours when left out. */
  readonly ttl?: string | undefined;
  readonly rules: readonly string[];
  readonly return_card_metadata?: boolean | undefined;
}

/** An endpoint with its secret, shown once. */
export interface NewEndpoint {
  readonly url: string;
  readonly unique_id: string;
  readonly secret: Secret<string>;
  /** RFC 3339 in whole seconds; null = never. */
  readonly expires_at: string | null;
}

export interface EndpointInfo extends Omit<NewEndpoint, 'secret'> {
  readonly user: string;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly expired: boolean;
}

/** What an account does with its endpoints, of either kind. */
export interface EndpointService {
  readonly list: (
    caller: Caller,
    kind: EndpointKind,
    filter: { readonly user?: string | undefined },
  ) => Promise<readonly EndpointInfo[]>;
  /** Deletes an endpoint of either kind and frees its id. */
  readonly remove: (caller: Caller, id: string) => Promise<void>;
}

/** An endpoint as its user names it; every id and every secret is one that may be tried. */
export interface EndpointAddress {
  readonly unique_id: string;
  readonly secret: SecretBytes;
}

export interface CaptureInput extends EndpointAddress {
  /** The JSON text as sent, not yet looked at. */
  readonly body: Uint8Array;
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
  /** The hosted form that sends the data, when one does. */
  readonly form_type?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface CaptureService {
  readonly create: (
    caller: Caller,
    input: CreateEndpointInput & { readonly algorithm?: string | undefined },
  ) => Promise<NewEndpoint>;
  readonly use: (visitor: Visitor, input: CaptureInput) => Promise<Repeatable<Captured>>;
}

export interface RetrieveInput extends EndpointAddress {
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly reference_prefix?: string | undefined;
  readonly decrypt_all: boolean;
  readonly limit?: number | undefined;
  readonly next_token?: string | undefined;
  /** The hosted form that shows the data, when one does. */
  readonly form_type?: string | undefined;
}

export interface RetrieveService {
  readonly create: (
    caller: Caller,
    input: CreateEndpointInput & {
      readonly token?: string | undefined;
      readonly reference?: string | undefined;
      /** Left out: what the account's preference is at each use. */
      readonly mask_fields?: readonly string[] | undefined;
    },
  ) => Promise<NewEndpoint>;
  /** With a token the object as JSON bytes, otherwise the tree of what the endpoint reaches. */
  readonly use: (visitor: Visitor, input: RetrieveInput) => Promise<Uint8Array | TreeStream>;
}

export interface RuleService {
  /** `body` is the JSON text as sent, not yet looked at; a fault in it is refused with its place. */
  readonly create: (
    caller: Caller,
    input: { readonly id: string; readonly body: Uint8Array },
  ) => Promise<Rule>;
  readonly read: (caller: Caller, id: string) => Promise<Rule>;
  /** All rules as JSON text. */
  readonly list: (caller: Caller) => Promise<ReadableStream<Uint8Array>>;
  readonly remove: (caller: Caller, id: string) => Promise<void>;
  readonly operations: (caller: Caller) => Promise<OperationNames>;
}
