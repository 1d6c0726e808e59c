import { Type } from '@sinclair/typebox';
import { VaultError } from '../../core/errors.ts';
import { sourceOf } from '../../domain/text/source.ts';
import type { Account, Caller, Visitor } from '../../services/common/caller.ts';
import type { MeterOperation } from '../schema/admin.ts';
import type { Deps } from './app-parts.ts';
import { readCredentials, refuseOtherSites } from './basic-auth.ts';
import { compileJsonBody, readBody, refuseLargeBody } from './body.ts';
import { type ClientAddress, createClientAddress } from './client-address.ts';
import { readEndpointSecret, secretHeaderOf } from './endpoint-secret.ts';
import type { Exchange } from './exchange.ts';
import { PassphraseParameter, readPassphrase } from './passphrase.ts';
import { compileQuery, type QueryDecoder } from './query.ts';
import type { Call, Route } from './route.ts';

/** A server as Bun makes it, as far as it is needed here; tests in process have none. */
type AddressSource = { readonly requestIP: (request: Request) => { readonly address: string } | null } | null;

/** What the framework knows of a request beside the request itself. */
export interface Arrival {
  readonly server: AddressSource;
  /** The parameters of the path, percent-decoded; null for one that is not percent-encoded UTF-8. */
  readonly params: Readonly<Record<string, string | null>> | undefined;
}

/** Everything that the schemas of a route allow to be compiled for the reading of its requests. */
export interface CallReader {
  readonly route: Route;
  readonly deps: Deps;
  readonly clientAddress: ClientAddress;
  readonly paramNames: readonly string[];
  readonly secretHeader: string | undefined;
  /** Whether it stores something, which goes before what reads. */
  readonly isWrite: boolean;
  readonly decodeQuery: QueryDecoder;
  readonly decodeBody: (bytes: Uint8Array) => unknown;
}

const LOOPBACK = '127.0.0.1';
const USER_AGENT_CHARACTERS_MAX = 512;
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
const WRITES: ReadonlySet<MeterOperation> = new Set(['store', 'update', 'capture']);
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Compiles a route's schemas, once per route. */
export const compileCallReader = (route: Route, deps: Deps): CallReader => ({
  route,
  deps,
  clientAddress: createClientAddress(deps.http.trustedProxies),
  paramNames: Object.keys(route.params.properties),
  secretHeader: secretHeaderOf(route.auth),
  isWrite: route.meter.some((operation) => WRITES.has(operation)),
  decodeQuery: compileQuery(
    route.passphrase === 'none'
      ? route.query
      : Type.Object({ ...route.query.properties, passphrase: PassphraseParameter }),
  ),
  decodeBody: route.body.kind === 'json' ? compileJsonBody(route.body.schema) : (bytes) => bytes,
});

/** The parameters that a route declares. One that cannot be decoded becomes empty, which no id is. */
const readParams = (
  names: readonly string[],
  params: Arrival['params'],
): Readonly<Record<string, string>> => {
  if (names.length === 0) {
    return NO_PARAMS;
  }
  const texts: Record<string, string> = {};
  for (const name of names) {
    texts[name] = params?.[name] ?? '';
  }
  return texts;
};

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
const readVisitor = (exchange: Exchange, server: AddressSource, clientAddress: ClientAddress): Visitor => {
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

/** Takes a place for a request, and waits for its turn; calls of third parties, which may take long, have bounds of their own. */
const enter = (
  { route, deps, isWrite }: CallReader,
  account: string,
): (() => void) | Promise<() => void> | undefined =>
  route.noun === 'proxy' ? undefined : deps.admission.enter(isWrite ? 'write' : 'read', account);

/**
 * From request to call, in this order: limits, credentials present, body in, credentials right, then what the
 * request says. So nobody without an account learns what a route would make of a request, and a body over the
 * limit never costs a password hash. The secret of an endpoint is only read here; its service checks it.
 */
export const readCall = async (reader: CallReader, exchange: Exchange, arrival: Arrival): Promise<Call> => {
  const { route, deps, secretHeader } = reader;
  const { request } = exchange;
  const { headers } = request;
  if (route.body.kind !== 'none') {
    refuseLargeBody(headers, route.body.bytesMax);
  }
  const visitor = readVisitor(exchange, arrival.server, reader.clientAddress);
  await deps.rates.source(visitor.ip);
  exchange.visitor = visitor;
  let bytes: Uint8Array | undefined;
  let caller: Caller | Visitor = visitor;
  if (route.auth === 'basic') {
    refuseOtherSites(headers);
    const credentials = readCredentials(headers);
    exchange.signIn = 'checked';
    bytes = await takeBody(route, exchange, deps);
    const account: Account = await deps.accounts.signIn({ ...credentials, ...visitor });
    exchange.account = account;
    await deps.rates.account(account);
    caller = { ...visitor, account, source: 'vault' };
    exchange.leave = await enter(reader, account.aid);
  } else {
    bytes = await takeBody(route, exchange, deps);
    // As everywhere, whoever has one address of an IPv6 network has them all, and no more places for it.
    exchange.leave = await enter(reader, sourceOf(visitor.ip));
  }
  const query = reader.decodeQuery(request.url);
  const inQuery = query['passphrase'];
  if (inQuery !== undefined) {
    query['passphrase'] = undefined;
  }
  const call = {
    caller,
    secret: secretHeader === undefined ? undefined : readEndpointSecret(secretHeader, headers),
    params: readParams(reader.paramNames, arrival.params),
    query,
    passphrase: readPassphrase(route.passphrase, typeof inQuery === 'string' ? inQuery : undefined, headers),
    idempotencyKey: route.idempotent ? readIdempotencyKey(headers) : undefined,
    body: bytes === undefined ? undefined : reader.decodeBody(bytes),
    deps,
    request,
  };
  // Query, body, passphrase and secret were made by the rules that the handler's type comes from.
  return call as unknown as Call;
};
