import { type TSchema, Type } from '@sinclair/typebox';
import type { Recalled, SignInCredentials } from '../account/sign-in.ts';
import { VaultError } from '../core/errors.ts';
import type { MeterOperation } from '../core/operations.ts';
import { Secret, type SecretBytes, secretBytes } from '../core/secret.ts';
import { isCredentialId, isCredentialSecret } from '../domain/account.ts';
import { networkOf, sourceOf } from '../domain/text/network.ts';
import type { RequestSource } from '../request/context.ts';
import { compileRequestBody } from '../schema/json-body.ts';
import { authorizeCall, authorizeRoute } from './authorize.ts';
import { dropBody, hasLongBody, isLong, readBody, rejectLargeBody } from './body.ts';
import { BodyHold } from './body-hold.ts';
import { type ClientAddress, createClientAddress } from './client-address.ts';
import type { Arrival, HttpContext } from './context.ts';
import { compileQuery, type QueryDecoder } from './decode.ts';
import type { HttpDeps } from './deps.ts';
import { PassphraseParameter, readPassphrase } from './passphrase.ts';
import type { AuthRule, Call, RouteShape, SecretRule } from './route.ts';

export interface Found {
  /** The server of Bun; null for a request within the process. */
  readonly server: { readonly requestIP: (request: Request) => { readonly address: string } | null } | null;
  readonly params: PathParams;
}

/** The percent-decoded parameters of the path; null for one that is not percent-encoded UTF-8. */
type PathParams = Readonly<Record<string, string | null>> | undefined;

/** A route, compiled for reading its requests. */
export interface CallReader {
  readonly route: RouteShape;
  readonly deps: HttpDeps;
  readonly clientAddress: ClientAddress;
  readonly paramNames: readonly string[];
  readonly secretHeader: string | undefined;
  /** The source of its requests, except those of forms. */
  readonly source: RequestSource;
  /** True if it stores data; writes take precedence over reads. */
  readonly isWrite: boolean;
  readonly decodeQuery: QueryDecoder;
  /** Returns a promise if a thread parses the body. */
  readonly decodeBody: (bytes: Uint8Array, aid: string) => unknown;
}

const LOOPBACK = '127.0.0.1';
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
const WRITES: ReadonlySet<MeterOperation> = new Set(['store', 'update', 'capture']);
/** The longest time between the start of a sign-in and the end of the body; after it the sign-in starts again. */
const RECALLED_MS_MAX = 250;
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

function sourceOfRoute({ auth, noun }: RouteShape): RequestSource {
  if (auth === 'capture_secret') {
    return 'capture';
  }
  if (auth === 'retrieve_secret') {
    return 'retrieve';
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

/** Compiles a route's schemas, once per route. Third parties add their parameters to public routes. */
export function compileCallReader(route: RouteShape, deps: HttpDeps): CallReader {
  const { body } = route;
  const refuseUnknown = route.auth === 'basic' && deps.http.refuseUnknown;
  const query =
    route.passphrase === 'none'
      ? route.query
      : Type.Object({ ...route.query.properties, passphrase: PassphraseParameter });
  return {
    route,
    deps,
    clientAddress: createClientAddress(deps.http.trustedProxies),
    paramNames: Object.keys(route.params.properties),
    secretHeader: secretHeaderOf(route.auth),
    source: sourceOfRoute(route),
    isWrite: route.meter.some((operation) => WRITES.has(operation)),
    decodeQuery: compileQuery(query, {
      refuseUnknown,
      members: body.kind === 'none' ? [] : membersOf(body.schema),
    }),
    decodeBody:
      body.kind === 'json'
        ? compileRequestBody(
            body.schema,
            { refuseUnknown, parameters: Object.keys(query.properties) },
            deps.parseBody,
          )
        : (bytes) => bytes,
  };
}

export function arrivalOf(
  { route, clientAddress, source }: CallReader,
  request: Request,
  { server }: Found,
): Arrival {
  const socketAddress = server?.requestIP(request)?.address ?? LOOPBACK;
  return { route: route.path, ip: clientAddress(socketAddress, request.headers), source };
}

/** The declared parameters of the path. One that cannot be decoded is empty, which is no valid id. */
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
    const expected = 'must have 1 to 255 printable ASCII characters, without spaces at its ends';
    throw new VaultError('invalid_request', { field: 'header.Idempotency-Key', expected });
  }
  return key;
}

/** True for the `Origin` of the request itself, with either scheme, or of the public URL. */
function isOwnOrigin(origin: string, { url }: Request, publicUrl: string): boolean {
  const parsed = URL.parse(origin);
  return (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    (parsed.host === new URL(url).host || parsed.origin === new URL(publicUrl).origin)
  );
}

/**
 * Rejects a browser's request on behalf of another site, whose pages must not use credentials that the browser remembers. A
 * browser that sends no `Sec-Fetch-Site`, as over plain HTTP, is recognized by its `Origin`; `null` is another site. Other
 * clients send neither.
 */
function rejectOtherSites(request: Request, publicUrl: string): void {
  const site = request.headers.get('sec-fetch-site');
  const origin = site === null ? request.headers.get('origin') : null;
  if (
    site === 'cross-site' ||
    site === 'same-site' ||
    (origin !== null && !isOwnOrigin(origin, request, publicUrl))
  ) {
    throw new VaultError('not_allowed');
  }
}

/** Starts the sign-in of a request. Rejects missing or malformed credentials before the body is read. */
function recallCaller({ deps }: CallReader, ctx: HttpContext): Recalled {
  const { headers } = ctx.request;
  rejectOtherSites(ctx.request, deps.http.publicUrl);
  const recalled = deps.signIns.recall(ctx.ip, new Secret(headers.get('authorization') ?? ''));
  if (recalled.known === undefined) {
    readCredentials(headers);
  }
  ctx.hasCredentials = true;
  return recalled;
}

/** A received request: its started sign-in if an account is needed, and its body if there is one. */
export interface Received {
  readonly recalled: Recalled | undefined;
  readonly bytes: Uint8Array | undefined;
}

/**
 * Reserves budget for the body of an unauthenticated caller; a chunked body, whose `length` is undefined, reserves more as it
 * arrives. The credentials of an account are verified before a long body is read.
 */
async function holdBody(
  { deps }: CallReader,
  ctx: HttpContext,
  length: number | undefined,
  recalled: Recalled | undefined,
): Promise<void> {
  ctx.held = new BodyHold(deps.limiter, networkOf(ctx.ip), length ?? 0);
  if (recalled !== undefined && length !== undefined && isLong(length)) {
    await deps.signIns.signIn(ctx, recalled, () => readCredentials(ctx.request.headers));
    ctx.held.release();
    ctx.held = undefined;
  }
}

/** Receives a request: rate, size limit, presence of credentials, body. A body over the limit costs no password hash. */
export async function receive(reader: CallReader, ctx: HttpContext): Promise<Received> {
  const { route, deps } = reader;
  const { request } = ctx;
  const { body } = route;
  if (body.kind === 'none' && route.method !== 'GET' && hasLongBody(request.headers)) {
    dropBody(request);
  }
  const rate = deps.rates.source(ctx.ip);
  if (rate !== undefined) {
    await rate;
  }
  const length = body.kind === 'none' ? 0 : rejectLargeBody(request.headers, body.bytesMax);
  const recalled = route.auth === 'basic' ? recallCaller(reader, ctx) : undefined;
  if (body.kind === 'none') {
    return { recalled, bytes: undefined };
  }
  if (length !== 0 && request.headers.has('content-encoding')) {
    throw new VaultError('content_encoding_unsupported', { field: 'header.Content-Encoding' });
  }
  if (recalled?.known === undefined && length !== 0) {
    await holdBody(reader, ctx, length, recalled);
  }
  ctx.body = 'reading';
  const beginMs = performance.now();
  const bytes = await readBody(
    request,
    length,
    body.bytesMax,
    deps.http.bodyTimeoutMs,
    (cut) => {
      // Only now one of an account holds bytes: most bodies arrive together with their heads.
      const owner = ctx.account?.aid ?? recalled?.aid ?? networkOf(ctx.ip);
      ctx.held ??= new BodyHold(deps.limiter, owner, length ?? 0, 'account');
      ctx.held.wait(cut);
    },
    length === undefined ? (arrived) => ctx.held?.grow(arrived) : undefined,
  );
  ctx.body = 'read';
  ctx.held?.arrived();
  // Otherwise a removed caller could act for the account as long as a body may take.
  const isOld = recalled !== undefined && performance.now() - beginMs > RECALLED_MS_MAX;
  return {
    recalled: isOld || ctx.account !== undefined ? recallCaller(reader, ctx) : recalled,
    bytes,
  };
}

/** Admits a request: credentials, rate of the account, room for its work. */
export async function admit(
  { route, deps, isWrite }: CallReader,
  ctx: HttpContext,
  { recalled }: Received,
): Promise<void> {
  if (recalled !== undefined) {
    const { account } = await deps.signIns.signIn(ctx, recalled, () => readCredentials(ctx.request.headers));
    authorizeRoute(route, ctx);
    const rate = deps.rates.account(account);
    if (rate !== undefined) {
      await rate;
    }
  }
  // All addresses of an IPv6 network are one owner.
  const owner = ctx.account?.aid ?? sourceOf(ctx.ip);
  deps.limiter.noteActive(owner);
  // Calls to third parties may take long, and are bounded separately.
  if (route.noun !== 'proxy') {
    const work = isWrite ? 'write' : 'read';
    const granted = deps.limiter.acquire(work, owner);
    if (granted !== undefined) {
      await granted;
    }
    ctx.work = work;
    ctx.owner = owner;
  }
}

/** Decodes an admitted request: others learn nothing of a route's checks. Returns a promise if a thread parses the body. */
export function readCall(
  reader: CallReader,
  ctx: HttpContext,
  params: PathParams,
  { bytes }: Received,
): Call | Promise<Call> {
  const { route, secretHeader } = reader;
  const { request } = ctx;
  const { headers } = request;
  const query = route.passesQuery === true ? {} : reader.decodeQuery(request.url);
  const inQuery = query['passphrase'];
  if (inQuery !== undefined) {
    query['passphrase'] = undefined;
  }
  const passphrase = readPassphrase(route, typeof inQuery === 'string' ? inQuery : undefined, headers);
  if (route.idempotent) {
    ctx.idempotencyKey = readIdempotencyKey(headers);
  }
  const callWith = (body: unknown): Call => {
    const made = {
      ctx,
      secret: secretHeader === undefined ? undefined : readEndpointSecret(secretHeader, headers),
      params: readParams(reader.paramNames, params),
      query,
      passphrase,
      body,
      request,
    };
    // The values follow the rules that the handler's type is derived from.
    const call = made as unknown as Call;
    authorizeCall(route, call);
    return call;
  };
  const body = bytes === undefined ? undefined : reader.decodeBody(bytes, ctx.account?.aid ?? '');
  return body instanceof Promise ? body.then(callWith) : callWith(body);
}

const COLON = 0x3a;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The secret of an API credential after `Bearer` (RFC 6750). */
function readBearer(token: string, id?: string): SignInCredentials {
  if (!isCredentialSecret(token)) {
    throw new VaultError('unauthenticated');
  }
  return { kind: 'credential', id, secret: new Secret(token) };
}

/** A name and a password after `Basic` (RFC 7617): strict base64, UTF-8, divided at the first colon. */
function readBasic(encoded: string): SignInCredentials {
  const bytes = Uint8Array.fromBase64(encoded);
  const text = decoder.decode(bytes);
  const colon = text.indexOf(':');
  if (colon < 1) {
    throw new VaultError('unauthenticated');
  }
  const name = text.slice(0, colon);
  return isCredentialId(name)
    ? readBearer(text.slice(colon + 1), name)
    : { kind: 'password', name, password: new Secret(bytes.slice(bytes.indexOf(COLON) + 1)) };
}

/** Parses the Authorization header. A missing or invalid one is `unauthenticated`. */
function readCredentials(headers: Headers): SignInCredentials {
  const [, scheme, value = ''] =
    /^(?:(basic) +([A-Za-z0-9+/]+={0,2}))$/i.exec(headers.get('authorization') ?? '') ??
    /^(?:(bearer) +([\w-]+))$/i.exec(headers.get('authorization') ?? '') ??
    [];
  if (scheme === undefined) {
    throw new VaultError('unauthenticated');
  }
  try {
    return scheme.toLowerCase() === 'basic' ? readBasic(value) : readBearer(value);
  } catch {
    throw new VaultError('unauthenticated');
  }
}

export const SECRET_HEADERS: Readonly<Record<SecretRule, string>> = {
  capture_secret: 'X-Vault-Capture-Secret',
  retrieve_secret: 'X-Vault-Retrieve-Secret',
};

/** Secrets are far shorter: a longer text is not encoded. */
const SECRET_CHARACTERS_MAX = 256;

/** The header of the secret of a route; undefined for a route without one. */
export function secretHeaderOf(auth: AuthRule): string | undefined {
  return auth === 'capture_secret' || auth === 'retrieve_secret' ? SECRET_HEADERS[auth] : undefined;
}

/** The secret of a request as UTF-8. A missing or overlong one is empty, which the service rejects like any wrong one. */
function readEndpointSecret(header: string, headers: Headers): SecretBytes {
  const text = headers.get(header) ?? '';
  return secretBytes(text.length > SECRET_CHARACTERS_MAX ? '' : text);
}
