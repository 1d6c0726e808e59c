import { VaultError } from '../core/errors.ts';
import { type SecretBytes, secretBytes } from '../core/secret.ts';
import { joinNames } from '../schema/other-name.ts';
import { authorizeCall } from './authorize.ts';
import type { MountedRoute } from './compile.ts';
import type { HttpContext } from './context.ts';
import { checkKeyHeaders } from './key-header.ts';
import { readPassphrase } from './passphrase.ts';
import { type Call, hasKeyHeader } from './route.ts';

/** The percent-decoded parameters of the path; null for one that is not percent-encoded UTF-8. */
export type PathParams = Readonly<Record<string, string | null>> | undefined;

const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Secrets are far shorter: a longer text is not encoded. */
const SECRET_CHARACTERS_MAX = 256;

/** The secret of an endpoint in an Authorization header: after `Bearer`, or as the password of `Basic` with any name. */
const BEARER = /^bearer +(v[cr]s1_[\w-]+)$/i;
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const PASSWORD = /^[^:]*:(v[cr]s1_[\w-]+)$/;

function secretIn(authorization: string): string | undefined {
  const [, encoded] = BASIC.exec(authorization) ?? [];
  return encoded === undefined
    ? BEARER.exec(authorization)?.[1]
    : PASSWORD.exec(Buffer.from(encoded, 'base64').toString('latin1'))?.[1];
}

/**
 * The secret of a request as UTF-8, from its own header or from Authorization, which may hold something else for another server.
 * A missing or overlong one is empty, which the service rejects like any wrong one. Throws for two different ones.
 */
function readEndpointSecret(header: string, headers: Headers): SecretBytes {
  const own = headers.get(header);
  const authorization = headers.get('authorization');
  const other = authorization === null ? undefined : secretIn(authorization);
  if (own !== null && other !== undefined && own !== other) {
    throw new VaultError('conflicting_parameters', { field: 'header.Authorization' });
  }
  const text = own ?? other ?? '';
  return secretBytes(text.length > SECRET_CHARACTERS_MAX ? '' : text);
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

/** Decodes an admitted request: others learn nothing of a route's checks. Returns a promise if a thread parses the body. */
export function readCall(
  mounted: MountedRoute,
  ctx: HttpContext,
  params: PathParams,
  bytes: Uint8Array | undefined,
): Call | Promise<Call> {
  const { route, secretHeader } = mounted;
  const { request } = ctx;
  const { headers } = request;
  const query = route.passesQuery === true ? {} : mounted.decodeQuery(request.url);
  joinNames(mounted.pairs.query, query, 'query', ctx);
  if (hasKeyHeader(route)) {
    checkKeyHeaders(headers, ctx);
  }
  const inQuery = query['passphrase'];
  if (inQuery !== undefined) {
    query['passphrase'] = undefined;
  }
  const passphrase = readPassphrase(route, typeof inQuery === 'string' ? inQuery : undefined, headers);
  if (route.idempotent) {
    ctx.idempotencyKey = readIdempotencyKey(headers);
  }
  const made = {
    ctx,
    secret: secretHeader === undefined ? undefined : readEndpointSecret(secretHeader, headers),
    params: readParams(mounted.paramNames, params),
    query,
    passphrase,
    body: bytes && mounted.decodeBody(bytes, ctx.account?.aid ?? ''),
    request,
  };
  // The values follow the rules that the handler's type is derived from.
  const call = made as unknown as Call;
  const finish = (): Call => {
    // A checked body with such members is an object.
    joinNames(mounted.pairs.body, made.body as Record<string, unknown>, 'body', ctx);
    authorizeCall(route, call);
    return call;
  };
  if (made.body instanceof Promise) {
    return made.body.then((body) => {
      made.body = body;
      return finish();
    });
  }
  return finish();
}
