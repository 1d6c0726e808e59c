import { Type } from '@sinclair/typebox';
import { VaultError } from '../../core/errors.ts';
import { sourceOf } from '../../domain/text/source.ts';
import type { RequestSource } from '../../services/common/request-context.ts';
import type { MeterOperation } from '../schema/admin.ts';
import type { Deps } from './app-parts.ts';
import { readCredentials, refuseOtherSites } from './basic-auth.ts';
import { compileJsonBody, readBody, refuseLargeBody } from './body.ts';
import { type ClientAddress, createClientAddress } from './client-address.ts';
import { readEndpointSecret, secretHeaderOf } from './endpoint-secret.ts';
import type { Arrival, HttpContext } from './http-context.ts';
import { PassphraseParameter, readPassphrase } from './passphrase.ts';
import { compileQuery, type QueryDecoder } from './query.ts';
import type { Call, Route } from './route.ts';

/** A server as Bun makes it, as far as it is needed here; tests in process have none. */
type AddressSource = { readonly requestIP: (request: Request) => { readonly address: string } | null } | null;

/** What the framework has found of a request beside the request itself. */
export interface Found {
  readonly server: AddressSource;
  readonly params: PathParams;
}

/** The parameters of the path, percent-decoded; null for one that is not percent-encoded UTF-8. */
type PathParams = Readonly<Record<string, string | null>> | undefined;

/** Everything that the schemas of a route allow to be compiled for the reading of its requests. */
export interface CallReader {
  readonly route: Route;
  readonly deps: Deps;
  readonly clientAddress: ClientAddress;
  readonly paramNames: readonly string[];
  readonly secretHeader: string | undefined;
  /** Which way it reaches data, unless it turns out to be used by a form. */
  readonly source: RequestSource;
  /** Whether it stores something, which goes before what reads. */
  readonly isWrite: boolean;
  readonly decodeQuery: QueryDecoder;
  readonly decodeBody: (bytes: Uint8Array) => unknown;
}

const LOOPBACK = '127.0.0.1';
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
const WRITES: ReadonlySet<MeterOperation> = new Set(['store', 'update', 'capture']);
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

function sourceOfRoute({ auth, noun }: Route): RequestSource {
  if (auth === 'capture_secret') {
    return 'capture';
  }
  if (auth === 'retrieve_secret') {
    return 'retrieve';
  }
  return noun === 'proxy' ? 'proxy' : 'vault';
}

/** Compiles a route's schemas, once per route. */
export function compileCallReader(route: Route, deps: Deps): CallReader {
  return {
    route,
    deps,
    clientAddress: createClientAddress(deps.http.trustedProxies),
    paramNames: Object.keys(route.params.properties),
    secretHeader: secretHeaderOf(route.auth),
    source: sourceOfRoute(route),
    isWrite: route.meter.some((operation) => WRITES.has(operation)),
    decodeQuery: compileQuery(
      route.passphrase === 'none'
        ? route.query
        : Type.Object({ ...route.query.properties, passphrase: PassphraseParameter }),
    ),
    decodeBody: route.body.kind === 'json' ? compileJsonBody(route.body.schema) : (bytes) => bytes,
  };
}

/** Where a request for a route has come from. */
export function arrivalOf(
  { route, clientAddress, source }: CallReader,
  request: Request,
  { server }: Found,
): Arrival {
  const socketAddress = server?.requestIP(request)?.address ?? LOOPBACK;
  return { route: route.path, ip: clientAddress(socketAddress, request.headers), source };
}

/** The parameters that a route declares. One that cannot be decoded becomes empty, which no id is. */
function readParams(names: readonly string[], params: PathParams): Readonly<Record<string, string>> {
  if (names.length === 0) {
    return NO_PARAMS;
  }
  const texts: Record<string, string> = {};
  for (const name of names) {
    texts[name] = params?.[name] ?? '';
  }
  return texts;
}

function readIdempotencyKey(headers: Headers): string | undefined {
  const key = headers.get('idempotency-key');
  if (key === null) {
    return undefined;
  }
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new VaultError('invalid_request', { field: 'header.Idempotency-Key' });
  }
  return key;
}

async function takeBody(route: Route, ctx: HttpContext, deps: Deps): Promise<Uint8Array | undefined> {
  if (route.body.kind === 'none') {
    return undefined;
  }
  ctx.body = 'reading';
  const bytes = await readBody(ctx.request, route.body.bytesMax, deps.http.bodyTimeoutMs);
  ctx.body = 'read';
  return bytes;
}

/** Takes a place for a request, and waits for its turn. Calls of third parties may take long, and have bounds of their own. */
function enter(
  { route, deps, isWrite }: CallReader,
  ctx: HttpContext,
  account: string,
): Promise<void> | undefined {
  return route.noun === 'proxy' ? undefined : deps.admission.enter(ctx, isWrite ? 'write' : 'read', account);
}

/**
 * From request to call, in this order: limits, credentials present, body in, credentials right, then what the
 * request says. So nobody without an account learns what a route would make of a request, and a body over the
 * limit never costs a password hash. The secret of an endpoint is only read here; its service checks it.
 */
export async function readCall(reader: CallReader, ctx: HttpContext, params: PathParams): Promise<Call> {
  const { route, deps, secretHeader } = reader;
  const { request } = ctx;
  const { headers } = request;
  if (route.body.kind !== 'none') {
    refuseLargeBody(headers, route.body.bytesMax);
  }
  await deps.rates.source(ctx.ip);
  let bytes: Uint8Array | undefined;
  if (route.auth === 'basic') {
    refuseOtherSites(headers);
    const credentials = readCredentials(headers);
    ctx.hasCredentials = true;
    bytes = await takeBody(route, ctx, deps);
    const { account } = await deps.accounts.signIn(ctx, credentials);
    await deps.rates.account(account);
    await enter(reader, ctx, account.aid);
  } else {
    bytes = await takeBody(route, ctx, deps);
    // As everywhere, whoever has one address of an IPv6 network has them all, and no more places for it.
    await enter(reader, ctx, sourceOf(ctx.ip));
  }
  const query = reader.decodeQuery(request.url);
  const inQuery = query['passphrase'];
  if (inQuery !== undefined) {
    query['passphrase'] = undefined;
  }
  const passphrase = readPassphrase(
    route.passphrase,
    typeof inQuery === 'string' ? inQuery : undefined,
    headers,
  );
  if (route.idempotent) {
    ctx.idempotencyKey = readIdempotencyKey(headers);
  }
  const call = {
    ctx,
    secret: secretHeader === undefined ? undefined : readEndpointSecret(secretHeader, headers),
    params: readParams(reader.paramNames, params),
    query,
    passphrase,
    body: bytes === undefined ? undefined : reader.decodeBody(bytes),
    deps,
    request,
  };
  // Query, body, passphrase and secret were made by the rules that the handler's type comes from.
  return call as unknown as Call;
}
