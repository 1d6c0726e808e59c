import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { Elysia } from 'elysia';
import type { Account, Caller, Deps } from '../deps.ts';
import { VaultError } from '../errors.ts';
import { readCredentials, refuseOtherSites } from './basic-auth.ts';
import { compileJsonBody, readBody, refuseLargeBody } from './body.ts';
import { type ClientAddress, createClientAddress } from './client-address.ts';
import { beginExchange, type Exchange, endExchange, refuse, reportBrokenReply } from './exchange.ts';
import { PassphraseParameter, readPassphrase } from './passphrase.ts';
import { compileQuery, type QueryDecoder } from './query.ts';
import { replyResponse } from './replies.ts';
import type { Call, Reply, Route } from './route.ts';

/** A server as Bun makes it, as far as the shell needs it; tests in process have none. */
type AddressSource = { readonly requestIP: (request: Request) => { readonly address: string } | null } | null;

/** A route with everything compiled that its schemas allow to be compiled. */
interface MountedRoute {
  readonly route: Route;
  readonly decodeQuery: QueryDecoder;
  readonly decodeBody: (bytes: Uint8Array) => unknown;
  readonly checkReply: ((reply: Reply) => void) | undefined;
}

interface Shell {
  readonly deps: Deps;
  readonly clientAddress: ClientAddress;
}

const LOOPBACK = '127.0.0.1';
const USER_AGENT_CHARACTERS_MAX = 512;
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

const compileReplyCheck = (route: Route): ((reply: Reply) => void) => {
  const schema = TypeCompiler.Compile(route.response);
  const decoder = new TextDecoder();
  return (reply) => {
    if (reply.stream !== undefined) {
      return;
    }
    const value = reply.json ?? JSON.parse(decoder.decode(reply.jsonBytes));
    if (!schema.Check(value)) {
      throw new TypeError(`the reply of ${route.operationId} does not fit its schema`);
    }
  };
};

const compileRoute = (route: Route, deps: Deps): MountedRoute => ({
  route,
  decodeQuery: compileQuery(
    route.passphrase === 'none'
      ? route.query
      : Type.Object({ ...route.query.properties, passphrase: PassphraseParameter }),
  ),
  decodeBody: route.body.kind === 'json' ? compileJsonBody(route.body.schema) : (bytes) => bytes,
  checkReply: deps.http.checkReplies ? compileReplyCheck(route) : undefined,
});

const readIdempotencyKey = (headers: Headers): string | undefined => {
  const key = headers.get('idempotency-key');
  if (key === null) {
    return undefined;
  }
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new VaultError('invalid_request', { field: 'header.Idempotency-Key' });
  }
  return key;
};

/** The caller without its account. Cheap refusals come first: nothing here costs a password hash. */
const readVisitor = (exchange: Exchange, server: AddressSource, clientAddress: ClientAddress) => {
  const { request, requestId } = exchange;
  const address = server?.requestIP(request)?.address ?? LOOPBACK;
  const userAgent = request.headers.get('user-agent') ?? '';
  return {
    ip: clientAddress(address, request.headers),
    userAgent:
      userAgent.length > USER_AGENT_CHARACTERS_MAX
        ? userAgent.slice(0, USER_AGENT_CHARACTERS_MAX)
        : userAgent,
    requestId,
  };
};

const takeBody = async (route: Route, exchange: Exchange, deps: Deps): Promise<Uint8Array | undefined> => {
  if (route.body.kind === 'none') {
    return undefined;
  }
  exchange.body = 'reading';
  const bytes = await readBody(exchange.request, route.body.bytesMax, deps.http.bodyTimeoutMs);
  exchange.body = 'read';
  return bytes;
};

/**
 * From request to call, in this order: limits, credentials present, body in, credentials right, then what the
 * request says. So nobody without an account learns what a route would make of a request, and a body over the
 * limit never costs a password hash.
 */
const readCall = async (mounted: MountedRoute, exchange: Exchange, server: AddressSource, shell: Shell) => {
  const { route } = mounted;
  const { deps } = shell;
  const { request } = exchange;
  const { headers } = request;
  if (route.body.kind !== 'none') {
    refuseLargeBody(headers, route.body.bytesMax);
  }
  const visitor = readVisitor(exchange, server, shell.clientAddress);
  let bytes: Uint8Array | undefined;
  let caller: Caller | typeof visitor = visitor;
  if (route.auth === 'basic') {
    refuseOtherSites(headers);
    const credentials = readCredentials(headers);
    bytes = await takeBody(route, exchange, deps);
    const account: Account = await deps.accounts.signIn({ ...credentials, ip: visitor.ip });
    exchange.account = account;
    caller = { ...visitor, account, source: 'vault' };
  } else {
    bytes = await takeBody(route, exchange, deps);
  }
  const query = mounted.decodeQuery(request.url);
  const inQuery = query['passphrase'];
  if (inQuery !== undefined) {
    query['passphrase'] = undefined;
  }
  const call = {
    caller,
    query,
    passphrase: readPassphrase(route.passphrase, typeof inQuery === 'string' ? inQuery : undefined, headers),
    idempotencyKey: route.idempotent ? readIdempotencyKey(headers) : undefined,
    body: bytes === undefined ? undefined : mounted.decodeBody(bytes),
    deps,
    request,
  };
  // Query, body and passphrase were made by the schemas that the handler's type comes from.
  return call as unknown as Call;
};

/** Counts the request before its reply is sent; a stream that will not be sent is given up. */
const meter = async (exchange: Exchange, reply: Reply, deps: Deps): Promise<void> => {
  if (exchange.account === undefined) {
    return;
  }
  try {
    await deps.metering.request(exchange.account);
  } catch (error) {
    await reply.stream?.cancel();
    throw error;
  }
};

const answer = async (
  mounted: MountedRoute,
  request: Request,
  server: AddressSource,
  shell: Shell,
): Promise<Response> => {
  const { deps } = shell;
  const exchange = beginExchange(request, mounted.route.path, deps);
  let response: Response;
  try {
    const reply = await mounted.route.handle(await readCall(mounted, exchange, server, shell));
    mounted.checkReply?.(reply);
    await meter(exchange, reply, deps);
    response = replyResponse(reply, exchange.requestId, (error) => {
      reportBrokenReply(exchange, error, deps);
    });
  } catch (error) {
    response = refuse(exchange, error, deps);
  }
  return endExchange(exchange, response, deps);
};

/** Where a request ended up that no route takes: a path without this method, or no path at all. */
interface Unrouted {
  readonly route: string;
  /** The methods of the path, for 405; without them the reply is 404. */
  readonly allow?: string;
  /** What the framework threw, if it did. */
  readonly error?: unknown;
}

/** Answers a request that no route takes, in the one error shape. */
export const answerUnrouted = (request: Request, unrouted: Unrouted, deps: Deps): Response => {
  const exchange = beginExchange(request, unrouted.route, deps);
  const { allow, error = new VaultError(allow === undefined ? 'not_found' : 'method_not_allowed') } =
    unrouted;
  const response = refuse(exchange, error, deps, allow === undefined ? [] : [['Allow', allow]]);
  return endExchange(exchange, response, deps);
};

/**
 * Mounts a table of routes. Each path is mounted once for all methods, with and without its trailing slash, so
 * that no framework default answers for a method of ours: HEAD would run the GET handler, others would be 404.
 */
export const mountRoutes = (app: Elysia, routes: readonly Route[], deps: Deps): void => {
  const shell: Shell = { deps, clientAddress: createClientAddress(deps.http.trustedProxies) };
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const methods = new Map(ofPath.map((route) => [route.method as string, compileRoute(route, deps)]));
    const allow = [...methods.keys()].join(', ');
    app.all(path, ({ request, server }) => {
      const mounted = methods.get(request.method);
      return mounted === undefined
        ? answerUnrouted(request, { route: path, allow }, deps)
        : answer(mounted, request, server, shell);
    });
  }
};
