import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { AuditAction } from '../audit/schema.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { MeterOperation } from '../core/operations.ts';
import type { Scope } from '../core/scopes.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { AccountContext, RequestContext } from '../request/context.ts';
import { pairsOf } from '../schema/other-name.ts';

/** The tags of the published document. */
export type Noun =
  | 'utility'
  | 'vault'
  | 'capture'
  | 'retrieve'
  | 'inbound'
  | 'form'
  | 'key'
  | 'rule'
  | 'proxy'
  | 'connection'
  | 'job'
  | 'event'
  | 'admin'
  | 'account'
  | 'credential'
  | 'person'
  | 'audit';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** The body of a route: `json` is parsed and validated; `stored` is passed to the handler as bytes. */
export type BodyRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly schema: TSchema; readonly bytesMax: number }
  | {
      readonly kind: 'stored';
      readonly schema: TSchema;
      readonly bytesMax: number;
      /** True if it can be omitted; then there are no bytes. */
      readonly optional?: true;
      /** The published content type if it is not JSON; any is accepted. */
      readonly type?: string;
      /** Published if the examples of the schema's members do not combine to one. */
      readonly example?: unknown;
      /** An alternative form with another content type. */
      readonly other?: { readonly type: string; readonly schema: TSchema };
    };

/** The passphrase of a key, in the query or in the header X-Vault-Passphrase. */
export type PassphraseRule = 'none' | 'optional' | 'required';

/** The secret of an endpoint, which its service verifies. */
export type SecretRule = 'capture_secret' | 'retrieve_secret' | 'inbound_secret';

/**
 * `basic` requires the credentials of an account; `public` routes authenticate their callers themselves. So do those of `console`,
 * which sign people in: they take requests of the console alone, so that no other page signs a browser in.
 */
export type AuthRule = 'basic' | 'public' | 'console' | SecretRule;

export const SECRET_HEADERS: Readonly<Record<SecretRule, string>> = {
  capture_secret: 'X-Vault-Capture-Secret',
  retrieve_secret: 'X-Vault-Retrieve-Secret',
  inbound_secret: 'X-Vault-Capture-Secret',
};

/** The header of the secret of a route; undefined for a route without one. */
export function secretHeaderOf(auth: AuthRule): string | undefined {
  return auth === 'basic' || auth === 'public' || auth === 'console' ? undefined : SECRET_HEADERS[auth];
}

/**
 * The scope that a credential needs: one, one of several by request, `any`, `password`: none may; `person`: the session of a person
 * is needed; `none`: no account.
 */
export type ScopeRule =
  | Scope
  | 'any'
  | 'password'
  | 'person'
  | 'none'
  | {
      readonly anyOf: readonly Scope[];
      /** Returns the scope that a call needs. */
      readonly of: (call: Call) => Scope;
    };

/** The scopes of which a credential needs one; empty if it needs none, or may not use the route. */
export function scopesOf(rule: ScopeRule): readonly Scope[] {
  if (typeof rule === 'object') {
    return rule.anyOf;
  }
  return rule === 'any' || rule === 'password' || rule === 'person' || rule === 'none' ? [] : [rule];
}

interface Bodies {
  readonly json: object;
  readonly jsonBytes: Uint8Array;
  readonly stream: ReadableStream<Uint8Array>;
  readonly html: string;
  /** A download with its media type and file name. */
  readonly file: { readonly bytes: Uint8Array; readonly type: string; readonly name: string };
  /** The reply of a third party, with its own status. */
  readonly relayed: {
    readonly status: number;
    readonly headers: readonly (readonly [name: string, value: string])[];
    readonly body: Uint8Array | ReadableStream<Uint8Array>;
  };
}

type OneBody<Kind extends keyof Bodies> = Pick<Bodies, Kind> & {
  readonly [Other in Exclude<keyof Bodies, Kind>]?: never;
};

/** The reply of a handler, with status 200 unless it is relayed: JSON as an object, bytes or a stream; a page; or a file. */
export type Reply = {
  readonly headers?: Readonly<Record<string, string>>;
  /** The created object for the security log, if the request does not name it. */
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

/** A request, validated and decoded by the route's schemas. */
export interface Call<
  Query extends TObject = TObject,
  Body extends BodyRule = BodyRule,
  Passphrase extends PassphraseRule = PassphraseRule,
  Auth extends AuthRule = AuthRule,
  Params extends TObject = TObject,
> {
  readonly ctx: Auth extends 'basic' ? AccountContext : RequestContext;
  /** The secret of an endpoint; empty if none was sent, which the service rejects like any wrong one. */
  readonly secret: Auth extends SecretRule ? SecretBytes : undefined;
  /** The parameters of the path, decoded and not validated. */
  readonly params: Static<Params>;
  readonly query: Static<Query>;
  readonly body: BodyOf<Body>;
  readonly passphrase: PassphraseOf<Passphrase>;
  readonly request: Request;
}

/** The entry of a route in the security log of the account. */
export interface AuditRule<Of = Call> {
  readonly action: AuditAction;
  /** `errors` if successes change nothing, or only data with a separate log; `all` by default. */
  readonly of?: 'all' | 'errors';
  /** The object of the action, as far as the request names it. */
  readonly object?: (call: Of) => string;
}

/** A route without its handler. */
export interface RouteShape {
  readonly method: Method;
  /** The path without a trailing slash; parameters are written `{unique_id}`. */
  readonly path: `/v1/${string}`;
  readonly operationId: string;
  readonly noun: Noun;
  readonly summary: string;
  readonly description: string;
  readonly auth: AuthRule;
  readonly scope: ScopeRule;
  /** Text parameters of the path. The schemas are published but not enforced: a malformed id is treated as unknown. */
  readonly params: TObject;
  readonly query: TObject;
  /** The query is passed on to a third party and not read; passphrase and name of the key, if it takes them, are then in headers. */
  readonly passesQuery?: true;
  /** A final `{path}` is not empty: the rest is a path of its own. */
  readonly needsPath?: true;
  readonly passphrase: PassphraseRule;
  readonly body: BodyRule;
  readonly response: TSchema;
  /** Replies with a page of HTML: always, or if the caller prefers it to JSON. */
  readonly html?: 'always' | 'preferred';
  /** The media type of its reply if that is a file. */
  readonly file?: string;
  /** The errors of this route alone, see `routeErrors`. */
  readonly errors: readonly ErrorCode[];
  /** The operations that the route may bill. */
  readonly meter: readonly MeterOperation[];
  readonly idempotent: boolean;
  readonly audit?: AuditRule;
}

/** A route with its handler, and the services that it calls. */
export interface Route<Needs> extends RouteShape {
  readonly handle: (call: Call, services: Needs) => Promise<Reply>;
}

/** Declares a route; its schemas type the call of its handler. */
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
  // `readCall` makes each call by these schemas.
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
/** The codes of routes that open the record of an account. */
const BASIC_AUTH: readonly ErrorCode[] = [
  'unknown_parameter',
  'unauthenticated',
  'too_many_failures',
  'not_allowed',
  'cross_site',
  'account_suspended',
  'record_rolled_back',
  'integrity_failed',
];
const INBOUND_SECRET: readonly ErrorCode[] = [
  'endpoint_refused',
  'endpoint_gone',
  'account_suspended',
  'conflicting_parameters',
  'record_rolled_back',
  'integrity_failed',
];
const ENDPOINT_SECRET: readonly ErrorCode[] = [...INBOUND_SECRET, 'endpoint_used_up', 'origin_not_allowed'];
const AUTH_ERRORS: Readonly<Record<AuthRule, readonly ErrorCode[]>> = {
  basic: BASIC_AUTH,
  public: [],
  console: ['cross_site', 'unknown_parameter', 'people_unavailable'],
  capture_secret: ENDPOINT_SECRET,
  retrieve_secret: ENDPOINT_SECRET,
  inbound_secret: INBOUND_SECRET,
};
const ANY_BODY: readonly ErrorCode[] = [
  'content_encoding_unsupported',
  'invalid_json',
  'json_too_deep',
  'body_too_large',
];

/** Tells whether a request names its key in a header. */
export function hasKeyHeader({ passesQuery, passphrase }: RouteShape): boolean {
  return passesQuery === true && passphrase !== 'none';
}

/** Tells whether a request can name a thing twice. */
function hasTwoPlaces({ passphrase, query, body }: RouteShape): boolean {
  return (
    passphrase !== 'none' ||
    pairsOf(query).length > 0 ||
    (body.kind !== 'none' && pairsOf(body.schema).length > 0)
  );
}

/** All error codes of a route: its own, and those of every route with its properties. */
export function routeErrors(route: RouteShape): readonly ErrorCode[] {
  return [
    ...new Set([
      ...EVERY_ROUTE,
      ...AUTH_ERRORS[route.auth],
      ...(route.body.kind === 'none' ? [] : ANY_BODY),
      ...(hasTwoPlaces(route) ? (['conflicting_parameters'] as const) : []),
      ...(route.idempotent ? (['idempotency_conflict'] as const) : []),
      ...route.errors,
    ]),
  ];
}
