import { createHmac } from 'node:crypto';
import { getCACertificates } from 'node:tls';
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  clockSkew,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  ResponseBodyError,
  type ServerMetadata,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import type { Clock } from '../core/clock.ts';
import type { Secret } from '../core/secret.ts';
import type { OidcSettings } from '../core/settings.ts';
import { createAddressPolicy } from './addresses.ts';
import type { FailureReason, OutboundFailure } from './call.ts';
import { createOutbound } from './https.ts';
import { SignInFailure, type SignInFault } from './sign-in-failure.ts';

/** Time limit of one request to the provider, and the largest reply. */
const CALL_MS = 5_000;
const REPLY_BYTES_MAX = 262_144;
/** The time in which the provider's addresses and abilities are not asked for again. */
const KEPT_MS = 600_000;
/** How far the clock of the provider may be off. */
const TOLERANCE_SECONDS = 60;
/** The operator has named the provider, so its address needs no further permission. */
const EVERY_ADDRESS = ['0.0.0.0/0', '::/0'];

/** A request to the provider that got no reply. */
class NoReply extends Error {
  constructor(
    readonly code: OutboundFailure['code'],
    readonly reason: FailureReason | undefined,
  ) {
    super(code);
  }
}

/** Somebody whom the provider has signed in. */
export interface SignedIn {
  readonly iss: string;
  readonly sub: string;
  /** Those of the ID token, and those that only its userinfo has. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What the errors of OAuth mean to a person: those of set-up are `refused`, as any other is. */
const OAUTH_FAULTS: ReadonlyMap<string, SignInFault> = new Map([
  ['access_denied', 'denied'],
  ['login_required', 'denied'],
  ['consent_required', 'denied'],
  ['interaction_required', 'denied'],
  ['account_selection_required', 'denied'],
  ['invalid_grant', 'expired'],
  ['server_error', 'unavailable'],
  ['temporarily_unavailable', 'unavailable'],
  ['invalid_request', 'refused'],
  ['invalid_client', 'refused'],
  ['unauthorized_client', 'refused'],
  ['unsupported_response_type', 'refused'],
  ['unsupported_grant_type', 'refused'],
  ['invalid_scope', 'refused'],
]);

function ofOAuth(error: string): SignInFailure {
  const fault = OAUTH_FAULTS.get(error);
  return fault === undefined
    ? new SignInFailure('refused', 'unknown_error')
    : new SignInFailure(fault, error);
}

function noReplyIn(error: unknown): NoReply | undefined {
  return error instanceof NoReply ? error : error instanceof Error ? noReplyIn(error.cause) : undefined;
}

/** The failure behind an error of the library, whose message and cause may hold tokens. */
function failureOf(error: unknown): unknown {
  const unanswered = noReplyIn(error);
  if (unanswered !== undefined) {
    const { code, reason } = unanswered;
    return new SignInFailure('unavailable', reason === undefined ? code : `${code}_${reason}`);
  }
  if (error instanceof AuthorizationResponseError) {
    return ofOAuth(error.error);
  }
  if (error instanceof ResponseBodyError) {
    return error.status >= 500 ? new SignInFailure('unavailable', 'server_error') : ofOAuth(error.error);
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    return new SignInFailure('refused', 'invalid_client');
  }
  if (error instanceof ClientError) {
    const isDown = error.cause instanceof Response && error.cause.status >= 500;
    return new SignInFailure(
      isDown ? 'unavailable' : 'refused',
      error.code?.toLowerCase() ?? 'invalid_reply',
    );
  }
  return error;
}

async function within<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failureOf(error);
  }
}

/** A text that only who has the proof can make; it does not tell the proof. */
function derived(proof: Secret<string>, what: 'state' | 'nonce' | 'verifier'): string {
  return createHmac('sha256', proof.expose()).update(what).digest('base64url');
}

/** True for an address that a browser or the vault may be sent to. Metadata of a provider may have anything in its place. */
function isHttps(url: unknown): boolean {
  return typeof url === 'string' && URL.parse(url)?.protocol === 'https:';
}

function listOf(metadata: unknown, otherwise: readonly string[]): readonly unknown[] {
  return Array.isArray(metadata) ? metadata : otherwise;
}

function bodyOf(body: Parameters<CustomFetch>[1]['body']): Uint8Array | undefined {
  return body instanceof URLSearchParams ? Buffer.from(body.toString()) : undefined;
}

function withoutEmail({ email: _, email_verified: __, ...others }: SignedIn['claims']): SignedIn['claims'] {
  return others;
}

/** The claims of both, where an address counts as verified only by the word that came with it. */
function merged(token: SignedIn['claims'], info: SignedIn['claims']): SignedIn['claims'] {
  return token['email'] === undefined
    ? { ...info, ...withoutEmail(token) }
    : { ...withoutEmail(info), ...token };
}

/**
 * The provider of OpenID Connect, with its requests: https alone, verified against the authorities of the system, the built-in
 * ones and `caPem`, at any address, within limits of time and size. It is first asked at the first sign-in. All methods reject
 * with `SignInFailure`.
 */
export class IdentityProvider {
  private readonly fetch: CustomFetch;
  private known: { readonly sinceMs: number; readonly metadata: ServerMetadata } | undefined;
  private asked: Promise<ServerMetadata> | undefined;

  constructor(
    private readonly settings: OidcSettings,
    caPem: string | undefined,
    /** The address that the provider sends browsers back to. */
    private readonly redirectUri: string,
    private readonly now: Clock,
  ) {
    const { send } = createOutbound({
      policy: createAddressPolicy({ allow: EVERY_ADDRESS }),
      caPem: [...getCACertificates('system'), caPem ?? ''].join('\n'),
      limits: { replyBodyBytes: REPLY_BYTES_MAX },
    });
    this.fetch = async (url, { method, headers, body }) => {
      const reply = await send({
        owner: 'oidc',
        url,
        method: method === 'POST' ? 'POST' : 'GET',
        headers: Object.entries(headers),
        body: bodyOf(body),
        deadlineMs: CALL_MS,
      });
      if (!reply.ok) {
        throw new NoReply(reply.code, reply.reason);
      }
      const { status } = reply;
      const isEmpty = status === 204 || status === 205 || status === 304;
      return new Response(isEmpty ? null : Buffer.from(reply.body), {
        status,
        headers: reply.headers.map(([name, value]): [string, string] => [name, value]),
      });
    };
  }

  /** True if it need not be asked before somebody goes there. */
  isKnown(): boolean {
    return this.known !== undefined && performance.now() - this.known.sinceMs < KEPT_MS;
  }

  /** The address at the provider where a browser signs in for this proof. */
  async signInUrl(proof: Secret<string>): Promise<string> {
    const config = await this.configure();
    const url = buildAuthorizationUrl(config, {
      redirect_uri: this.redirectUri,
      scope: this.scopesOf(config.serverMetadata()),
      state: derived(proof, 'state'),
      nonce: derived(proof, 'nonce'),
      code_challenge: await calculatePKCECodeChallenge(derived(proof, 'verifier')),
      code_challenge_method: 'S256',
    });
    return url.href;
  }

  /** Who has signed in: exchanges the code in the query of the reply, which the browser brings, for a verified ID token. */
  async finish(query: string, proof: Secret<string>): Promise<SignedIn> {
    const config = await this.configure();
    const url = new URL(this.redirectUri);
    url.search = query;
    const tokens = await within(
      authorizationCodeGrant(config, url, {
        expectedState: derived(proof, 'state'),
        expectedNonce: derived(proof, 'nonce'),
        pkceCodeVerifier: derived(proof, 'verifier'),
        idTokenExpected: true,
      }),
    );
    const token = tokens.claims();
    if (token === undefined) {
      throw new SignInFailure('refused', 'no_id_token');
    }
    const { iss, sub } = token;
    const isMissing = this.settings.roles.some(({ claim }) => !Object.hasOwn(token, claim));
    if (!isMissing || config.serverMetadata().userinfo_endpoint === undefined) {
      return { iss, sub, claims: token };
    }
    const info = await within(fetchUserInfo(config, tokens.access_token, sub));
    return { iss, sub, claims: merged(token, info) };
  }

  /** The address at the provider that ends its own session, and leads to `returnUri`; undefined if it has none, or is down. */
  async signOutUrl(returnUri: string): Promise<string | undefined> {
    try {
      const config = await this.configure();
      return isHttps(config.serverMetadata().end_session_endpoint)
        ? buildEndSessionUrl(config, { post_logout_redirect_uri: returnUri }).href
        : undefined;
    } catch (error) {
      if (error instanceof SignInFailure) {
        return undefined;
      }
      throw error;
    }
  }

  /** The usual scopes, and those with the name of a claim that decides, as far as the provider has them. */
  private scopesOf({ scopes_supported }: ServerMetadata): string {
    const wanted = new Set(['openid', 'email', 'profile', ...this.settings.roles.map(({ claim }) => claim)]);
    const supported = listOf(scopes_supported, ['email', 'profile']);
    return [...wanted].filter((scope) => scope === 'openid' || supported.includes(scope)).join(' ');
  }

  /** A configuration of one sign-in: it has no keys of the provider yet, so that new and withdrawn ones count at once. */
  private async configure(): Promise<Configuration> {
    const metadata = await this.discovered();
    const skew = Math.round((this.now() - Date.now()) / 1_000);
    const config = new Configuration(
      metadata,
      this.settings.clientId,
      { [clockSkew]: skew, [clockTolerance]: TOLERANCE_SECONDS },
      this.clientAuth(metadata),
    );
    config[customFetch] = this.fetch;
    enableNonRepudiationChecks(config);
    return config;
  }

  /** The way that RFC 6749 requires of every provider, unless this one tells that it has only the other. */
  private clientAuth({ token_endpoint_auth_methods_supported }: ServerMetadata): ClientAuth {
    const methods = listOf(token_endpoint_auth_methods_supported, []);
    const isPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    const secret = this.settings.clientSecret.expose();
    return isPost ? ClientSecretPost(secret) : ClientSecretBasic(secret);
  }

  /** One request at a time, repeated after a failure at the next sign-in. */
  private async discovered(): Promise<ServerMetadata> {
    const { known } = this;
    if (known !== undefined && this.isKnown()) {
      return known.metadata;
    }
    this.asked ??= within(this.discover())
      .then((metadata) => {
        this.known = { sinceMs: performance.now(), metadata };
        return metadata;
      })
      .finally(() => {
        this.asked = undefined;
      });
    return this.asked;
  }

  private async discover(): Promise<ServerMetadata> {
    const { issuer, clientId } = this.settings;
    const config = await discovery(new URL(issuer), clientId, undefined, undefined, {
      [customFetch]: this.fetch,
    });
    const metadata = config.serverMetadata();
    // The library compares less exactly, and knows services whose tokens have other issuers.
    if (metadata.issuer !== issuer) {
      throw new SignInFailure('refused', 'other_issuer');
    }
    const { authorization_endpoint, token_endpoint, jwks_uri } = metadata;
    if (![authorization_endpoint, token_endpoint, jwks_uri].every(isHttps)) {
      throw new SignInFailure('refused', 'incomplete_metadata');
    }
    return metadata;
  }
}
