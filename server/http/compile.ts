import { type TSchema, Type } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import type { ErrorCode } from '../core/errors.ts';
import type { MeterOperation } from '../core/operations.ts';
import type { RequestSource } from '../request/context.ts';
import { compileRequestBody } from '../schema/json-body.ts';
import { openNames, type Pair, pairsOf } from '../schema/other-name.ts';
import type { ClientAddress } from './client-address.ts';
import { isOpen } from './cors.ts';
import { compileQuery, type QueryDecoder } from './decode.ts';
import type { HttpDeps } from './deps.ts';
import { PassphraseParameter } from './passphrase.ts';
import { type Call, type Reply, type Route, type RouteShape, routeErrors, secretHeaderOf } from './route.ts';

/** A route with its compiled schemas. */
export interface MountedRoute {
  readonly route: RouteShape;
  readonly handle: (call: Call) => Promise<Reply>;
  readonly clientAddress: ClientAddress;
  /** The source of its requests, except those of forms. */
  readonly source: RequestSource;
  /** The class of its work; undefined for calls to third parties, which may take long and are bounded separately. */
  readonly work: 'write' | 'read' | undefined;
  readonly paramNames: readonly string[];
  readonly secretHeader: string | undefined;
  readonly decodeQuery: QueryDecoder;
  /** The parameters and the members of the body that have a second name. */
  readonly pairs: { readonly query: readonly Pair[]; readonly body: readonly Pair[] };
  /** Returns a promise if a thread parses the body. */
  readonly decodeBody: (bytes: Uint8Array, aid: string) => unknown;
  readonly checkReply: ((reply: Reply) => void) | undefined;
  /** Throws for a code that the route does not publish. */
  readonly checkCode: ((code: ErrorCode) => void) | undefined;
  readonly isOpen: boolean;
  /** True if each success is recorded in the security log. */
  readonly isRecorded: boolean;
}

const WRITES: ReadonlySet<MeterOperation> = new Set(['store', 'update', 'capture']);
const CALLS: ReadonlySet<MeterOperation> = new Set(['proxy_attempt', 'network_token']);

function workOf({ meter }: RouteShape): MountedRoute['work'] {
  if (meter.some((operation) => CALLS.has(operation))) {
    return undefined;
  }
  return meter.some((operation) => WRITES.has(operation)) ? 'write' : 'read';
}

function sourceOfRoute({ auth, noun }: RouteShape): RequestSource {
  if (auth === 'capture_secret') {
    return 'capture';
  }
  if (auth === 'retrieve_secret') {
    return 'retrieve';
  }
  if (auth === 'inbound_secret') {
    return 'inbound';
  }
  return noun === 'proxy' ? 'proxy' : 'vault';
}

/** The names of the members of an object, or of all options of a union. */
function membersOf(schema: TSchema): readonly string[] {
  return [
    ...Object.keys(schema['properties'] ?? {}),
    ...(schema['anyOf'] ?? []).flatMap((option: TSchema) => membersOf(option)),
  ];
}

/** Compiled schemas of replies, shared by all applications of the process. */
const REPLY_CHECKS = new WeakMap<TSchema, TypeCheck<TSchema>>();

function compileReplyCheck(route: RouteShape): (reply: Reply) => void {
  const schema = REPLY_CHECKS.get(route.response) ?? TypeCompiler.Compile(route.response);
  REPLY_CHECKS.set(route.response, schema);
  const decoder = new TextDecoder();
  return (reply) => {
    if (reply.json === undefined && reply.jsonBytes === undefined) {
      return;
    }
    const value = reply.json ?? JSON.parse(decoder.decode(reply.jsonBytes));
    if (!schema.Check(value)) {
      throw new TypeError(`the reply of ${route.operationId} does not fit its schema`);
    }
  };
}

/** Never reaches a caller: the connection is closed. */
const UNSEEN: ErrorCode = 'connection_closed';

function compileCodeCheck(route: RouteShape): (code: ErrorCode) => void {
  const codes = new Set([...routeErrors(route), UNSEEN]);
  return (code) => {
    if (!codes.has(code)) {
      throw new TypeError(`${route.operationId} does not publish ${code}`);
    }
  };
}

/** Compiles a route's schemas, once per route. Third parties add their parameters to public routes. */
export function compileRoute<Needs>(
  route: Route<Needs>,
  services: Needs,
  clientAddress: ClientAddress,
  deps: HttpDeps,
): MountedRoute {
  const { body } = route;
  const refuseUnknown = (route.auth === 'basic' || route.auth === 'console') && deps.http.refuseUnknown;
  const query =
    route.passphrase === 'none'
      ? openNames(route.query)
      : Type.Object({ ...openNames(route.query).properties, passphrase: PassphraseParameter });
  return {
    route,
    handle: (call) => route.handle(call, services),
    clientAddress,
    source: sourceOfRoute(route),
    work: workOf(route),
    paramNames: Object.keys(route.params.properties),
    secretHeader: secretHeaderOf(route.auth),
    decodeQuery: compileQuery(query, {
      refuseUnknown,
      members: body.kind === 'none' ? [] : membersOf(openNames(body.schema)),
    }),
    pairs: { query: pairsOf(route.query), body: body.kind === 'json' ? pairsOf(body.schema) : [] },
    decodeBody:
      body.kind === 'json'
        ? compileRequestBody(
            openNames(body.schema),
            { refuseUnknown, parameters: Object.keys(query.properties) },
            deps.parseBody,
          )
        : (bytes) => bytes,
    checkReply: deps.http.checkReplies ? compileReplyCheck(route) : undefined,
    checkCode: deps.http.checkReplies ? compileCodeCheck(route) : undefined,
    isOpen: isOpen(route),
    isRecorded: route.audit !== undefined && route.audit.of !== 'errors',
  };
}
