import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { AuditAction } from '../audit/schema.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { MeterOperation } from '../core/operations.ts';
import type { Scope } from '../core/scopes.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { AccountContext, RequestContext } from '../request/context.ts';

/** The nouns of the service; each names a tag of the published document and a file in every layer. */
export type Noun =
  | 'utility'
  | 'vault'
  | 'capture'
  | 'retrieve'
  | 'form'
  | 'key'
  | 'rule'
  | 'proxy'
  | 'connection'
  | 'job'
  | 'admin'
  | 'credential'
  | 'audit';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/**
 * How a route takes its body. `json` is parsed and checked; `stored` is handed on as the bytes that came, for a
 * service that stores them or checks more than a schema can express.
 */
export type BodyRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly schema: TSchema; readonly bytesMax: number }
  | {
      readonly kind: 'stored';
      readonly schema: TSchema;
      readonly bytesMax: number;
      /** Whether it may be left out; then there are no bytes. */
      readonly optional?: true;
      /** The content type that is published, where it is not JSON; any is taken. */
      readonly type?: string;
      /** Published where the examples of the schema's members do not make one. */
      readonly example?: unknown;
      /** Another form of it, with a content type of its own. */
      readonly other?: { readonly type: string; readonly schema: TSchema };
    };

/** Whether a route takes the passphrase of a key, in the query or in the header X-Vault-Passphrase. */
export type PassphraseRule = 'none' | 'optional' | 'required';

/** The rules of routes that are used with the secret of an endpoint, which their service checks. */
export type SecretRule = 'capture_secret' | 'retrieve_secret';

/** `basic` needs the credentials of an account; `public` routes check their callers themselves. */
export type AuthRule = 'basic' | 'public' | SecretRule;

/**
 * What an API credential needs for a route: a scope; one of several, by what the request asks for; `any`, where every
 * credential may use it; `password`, where none may. `none` where no account is needed.
 */
export type ScopeRule =
  | Scope
  | 'any'
  | 'password'
  | 'none'
  | {
      readonly anyOf: readonly Scope[];
      /** The scope that a call needs. */
      readonly of: (call: Pick<Call, 'query' | 'passphrase'>) => Scope;
    };

/** The scopes of which a credential needs one; none where it needs none, or may not use the route at all. */
export function scopesOf(rule: ScopeRule): readonly Scope[] {
  if (typeof rule === 'object') {
    return rule.anyOf;
  }
  return rule === 'any' || rule === 'password' || rule === 'none' ? [] : [rule];
}

/** A file to be saved; `type` is its media type, `name` what it is saved as. */
interface FileBody {
  readonly bytes: Uint8Array;
  readonly type: string;
  readonly name: string;
}

/** The reply of a third party, as it is passed on. */
interface RelayedBody {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
}

interface Bodies {
  readonly json: object;
  readonly jsonBytes: Uint8Array;
  readonly stream: ReadableStream<Uint8Array>;
  readonly html: string;
  readonly file: FileBody;
  readonly relayed: RelayedBody;
}

type OneBody<Kind extends keyof Bodies> = Pick<Bodies, Kind> & {
  readonly [Other in Exclude<keyof Bodies, Kind>]?: never;
};

/**
 * What a handler answers with 200: an object to write as JSON, JSON bytes, or a stream of them; a page, whose
 * headers are the complete description of it; or a file. A third party's reply has a status of its own.
 */
export type Reply = {
  readonly headers?: Readonly<Record<string, string>>;
  /** What was made, for the security log, where the request could not name it yet. */
  readonly object?: string | undefined;
} & {
  [Kind in keyof Bodies]: OneBody<Kind>;
}[keyof Bodies];

const NO_PARAMS = Type.Object({});

/** The members that a route can omit. */
const DEFAULTS = {
  params: NO_PARAMS,
  query: NO_PARAMS,
  body: { kind: 'none' },
  passphrase: 'none',
  idempotent: false,
} as const;

type BodyOf<Body extends BodyRule> = Body extends { kind: 'json'; schema: infer Schema extends TSchema }
  ? Static<Schema>
  : Body extends { kind: 'stored' }
    ? Uint8Array
    : undefined;

type PassphraseOf<Rule extends PassphraseRule> = Rule extends 'required'
  ? SecretBytes
  : Rule extends 'optional'
    ? SecretBytes | undefined
    : undefined;

/** One request, checked and decoded by the route's schemas. */
export interface Call<
  Query extends TObject = TObject,
  Body extends BodyRule = BodyRule,
  Passphrase extends PassphraseRule = PassphraseRule,
  Auth extends AuthRule = AuthRule,
  Params extends TObject = TObject,
> {
  readonly ctx: Auth extends 'basic' ? AccountContext : RequestContext;
  /** The secret of an endpoint as it was sent, empty when it was not: to its service both are wrong ones. */
  readonly secret: Auth extends SecretRule ? SecretBytes : undefined;
  /** The parameters of the path, decoded and not compared with their schemas. */
  readonly params: Static<Params>;
  readonly query: Static<Query>;
  readonly body: BodyOf<Body>;
  readonly passphrase: PassphraseOf<Passphrase>;
  readonly request: Request;
}

/** What a route leaves in the security log of the account. */
export interface AuditRule<Of = Call> {
  readonly action: AuditAction;
  /** `errors` where successes change nothing, or only what has a separate log; `all` by default. */
  readonly of?: 'all' | 'errors';
  /** What it is done to, as far as the request names it. */
  readonly object?: (call: Of) => string;
}

/** What a route is, but for its handler: enough to mount it, to document it and to test the table. */
export interface RouteShape {
  readonly method: Method;
  /** The path under the server's root, without a trailing slash; parameters are written `{unique_id}`. */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  readonly noun: Noun;
  readonly summary: string;
  readonly description: string;
  readonly auth: AuthRule;
  /** What a credential needs. */
  readonly scope: ScopeRule;
  /**
   * The parameters of the path, all of them texts. The schemas are published but not enforced: to a caller, an id that is
   * malformed, unknown or of another account is the same.
   */
  readonly params: TObject;
  readonly query: TObject;
  /**
   * Whether its query is for a third party: it is passed on and not read. The passphrase, and the name of the key, are then
   * in headers.
   */
  readonly passesQuery?: true;
  readonly passphrase: PassphraseRule;
  readonly body: BodyRule;
  readonly response: TSchema;
  /** Whether it answers with a page of HTML: always, or to who prefers that to JSON. */
  readonly html?: 'always' | 'preferred';
  /** The media type of the file that it answers with, in place of JSON. */
  readonly file?: string;
  /** The errors that are specific to this route; those of every route are added by `routeErrors`. */
  readonly errors: readonly ErrorCode[];
  /** The operations that the route may bill; empty for zero-rated routes. */
  readonly meter: readonly MeterOperation[];
  readonly idempotent: boolean;
  /** Whether its service calls `confirmAccount`, so that it may begin before the record of the account is read. */
  readonly confirmsAccount?: boolean;
  /** Omitted where neither successes nor errors need an audit entry. */
  readonly audit?: AuditRule;
}

/** A route of the table, with the services that its handler calls. */
export interface Route<Needs> extends RouteShape {
  readonly handle: (call: Call, services: Needs) => Promise<Reply>;
}

/** Declares a route; its handler sees the call typed by the route's own schemas. */
export function defineRoute<
  const Auth extends AuthRule,
  Needs,
  Query extends TObject = typeof NO_PARAMS,
  const Body extends BodyRule = typeof DEFAULTS.body,
  const Passphrase extends PassphraseRule = typeof DEFAULTS.passphrase,
  Params extends TObject = typeof NO_PARAMS,
>(
  route: Omit<RouteShape, keyof typeof DEFAULTS | 'auth' | 'audit'> & {
    readonly params?: Params;
    readonly query?: Query;
    readonly body?: Body;
    readonly passphrase?: Passphrase;
    readonly idempotent?: boolean;
    readonly auth: Auth;
    readonly audit?: AuditRule<Call<Query, Body, Passphrase, Auth, Params>>;
    readonly handle: (call: Call<Query, Body, Passphrase, Auth, Params>, services: Needs) => Promise<Reply>;
  },
  // The shell builds each call from these very schemas, so the handler gets what it declares.
): Route<Needs> {
  return { ...DEFAULTS, ...route } as unknown as Route<Needs>;
}

const EVERY_ROUTE: readonly ErrorCode[] = [
  'invalid_request',
  'duplicate_parameter',
  'rate_limited',
  'overloaded',
  'store_unavailable',
  'internal',
];
const BASIC_AUTH: readonly ErrorCode[] = [
  'unknown_parameter',
  'unauthenticated',
  'too_many_failures',
  'not_allowed',
];
const ENDPOINT_SECRET: readonly ErrorCode[] = ['endpoint_refused', 'endpoint_gone'];
const AUTH_ERRORS: Readonly<Record<AuthRule, readonly ErrorCode[]>> = {
  basic: BASIC_AUTH,
  public: [],
  capture_secret: ENDPOINT_SECRET,
  retrieve_secret: ENDPOINT_SECRET,
};
const ANY_BODY: readonly ErrorCode[] = [
  'content_encoding_unsupported',
  'invalid_json',
  'json_too_deep',
  'body_too_large',
];

/** Every code that a route can answer with: its own and those that the shell adds. */
export function routeErrors(route: RouteShape): readonly ErrorCode[] {
  return [
    ...new Set([
      ...EVERY_ROUTE,
      ...AUTH_ERRORS[route.auth],
      ...(route.body.kind === 'none' ? [] : ANY_BODY),
      ...(route.passphrase === 'none' ? [] : (['conflicting_parameters'] as const)),
      ...(route.idempotent ? (['idempotency_conflict'] as const) : []),
      ...route.errors,
    ]),
  ];
}
