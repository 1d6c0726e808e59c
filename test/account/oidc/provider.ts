/** A real provider of OpenID Connect on this machine, over TLS, whose people sign in at once. */
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { thirdPartyTrust } from '../../helpers/third-party.ts';
import type { Credential } from '../../outbound/certificates.ts';
import { show } from './transcript.ts';

/** What the provider knows of a person, by its subject. */
export type People = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Changes an ID token before it is sent: its header and its claims. It is signed anew with the key of the provider, unless told otherwise. */
export interface Forgery {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: (claims: Record<string, unknown>) => Record<string, unknown>;
  readonly signature?: (signed: string) => string;
  readonly key?: KeyObject;
}

/** A reply of the provider in place of its own, for a path. */
export type Interference = (request: IncomingMessage, response: ServerResponse) => void;

export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who is signed in at the next visit; undefined: whoever refuses. */
  person: string | undefined;
  forgery: Forgery | undefined;
  /** Replies in place of those of the provider, by path. */
  readonly interfere: Map<string, Interference>;
  /** Requests so far, as `METHOD /path`. */
  readonly requests: string[];
  /** The key that signs ID tokens. */
  readonly key: () => KeyObject;
  /** Signs with a new key from now on, and publishes no other. */
  readonly rotate: () => void;
  readonly stop: () => Promise<void>;
}

export interface ProviderOptions {
  readonly people: People;
  readonly redirectUri: string;
  /** The host of its address; `localhost` when left out. */
  readonly host?: 'localhost' | '127.0.0.1';
  readonly signOutUri?: string;
  /** Settings of the provider over those of the tests. */
  readonly settings?: Configuration;
  /** Its certificate; one for `localhost` of the authority of third parties when left out. */
  readonly certificate?: Credential;
}

const CLIENT_ID = 'vault';
/** With characters that are escaped on the way. */
const CLIENT_SECRET = 'a secret of the client: %+&=';
const LIFETIME_SECONDS = 3_600;

function decodedPart(part: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
}

function encodedPart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function forged(token: string, own: KeyObject, { header, claims, signature, key = own }: Forgery): string {
  const [head, body] = token.split('.');
  const changed = decodedPart(body);
  const signed = `${encodedPart({ ...decodedPart(head), ...header })}.${encodedPart(claims?.(changed) ?? changed)}`;
  const made = createSign('sha256').update(signed).sign(key).toString('base64url');
  return `${signed}.${signature?.(signed) ?? made}`;
}

/** A request that the provider has answered. */
interface Exchange {
  readonly path: string;
  readonly method: string;
  readonly oidc?: { readonly params?: Readonly<Record<string, unknown>> };
  readonly body: unknown;
}

/** Shows what the vault sends to the provider for a code, and what it gets; of tokens their content alone. */
function showExchange({ path, method, oidc, body }: Exchange): void {
  if (path !== '/token') {
    show('', `  provider: ${method} ${path}`);
    return;
  }
  const { id_token: token, ...reply } = Object(body);
  const sent = Object.entries(oidc?.params ?? {}).filter(([, value]) => value !== undefined);
  show('', `  provider: ${method} ${path}`, ...sent.map(([name, value]) => `    > ${name}=${value}`));
  show(...Object.entries(reply).map(([name, value]) => `    < ${name}=${value}`));
  if (typeof token === 'string') {
    const [head, claims] = token.split('.');
    show(
      `    < id_token: ${JSON.stringify(decodedPart(head))} ${JSON.stringify(decodedPart(claims))} <signature>`,
    );
  }
}

let serial = 0;

function newKey(): { readonly key: KeyObject; readonly jwk: Record<string, unknown> } {
  serial += 1;
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { key, jwk: { ...key.export({ format: 'jwk' }), kid: `key-${serial}`, use: 'sig', alg: 'RS256' } };
}

/** Starts a provider on this machine, at a free port. */
export async function startProvider({
  people,
  redirectUri,
  signOutUri,
  settings,
  certificate,
  host = 'localhost',
}: ProviderOptions): Promise<TestProvider> {
  const credential = certificate ?? (await thirdPartyTrust()).credential;
  let callback: ReturnType<Provider['callback']> = () => Promise.resolve();
  const server = createServer({ cert: credential.certPem, key: credential.keyPem }, (request, response) => {
    const path = new URL(request.url ?? '/', 'https://localhost').pathname;
    own.requests.push(`${request.method} ${path}`);
    const interference = own.interfere.get(path);
    if (interference === undefined) {
      callback(request, response).catch(() => response.destroy());
    } else {
      interference(request, response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A TCP server has this form of address.
  const { port } = server.address() as AddressInfo;
  const issuer = `https://${host}:${port}`;
  let key: KeyObject;

  const interact = async (
    provider: Provider,
    ctx: Pick<KoaContextWithOIDC, 'req' | 'res'>,
  ): Promise<void> => {
    const { prompt, grantId, params } = await provider.interactionDetails(ctx.req, ctx.res);
    if (own.person === undefined) {
      const refused = { error: 'access_denied', error_description: '<script>alert(1)</script>' };
      return provider.interactionFinished(ctx.req, ctx.res, refused, { mergeWithLastSubmission: false });
    }
    if (prompt.name === 'login') {
      return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: own.person } });
    }
    const found = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const grant =
      found ?? new provider.Grant({ accountId: own.person, clientId: String(params['client_id']) });
    grant.addOIDCScope(String(params['scope']));
    return provider.interactionFinished(ctx.req, ctx.res, { consent: { grantId: await grant.save() } });
  };

  const open = (): void => {
    const made = newKey();
    key = made.key;
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: signOutUri === undefined ? [] : [signOutUri],
        },
      ],
      jwks: { keys: [made.jwk] },
      cookies: { keys: ['a key of the cookies of the provider'] },
      pkce: { required: () => true },
      scopes: ['openid', 'email', 'profile', 'groups'],
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['name', 'preferred_username'],
        groups: ['groups'],
      },
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...people[sub] }) }),
      ttl: {
        ...{ AccessToken: LIFETIME_SECONDS, AuthorizationCode: 60, Grant: LIFETIME_SECONDS },
        ...{ IdToken: LIFETIME_SECONDS, Interaction: LIFETIME_SECONDS, Session: LIFETIME_SECONDS },
      },
      ...settings,
    });
    provider.use(async (ctx, next) => {
      if (ctx.path.startsWith('/interaction/')) {
        return interact(provider, ctx);
      }
      await next();
      showExchange(ctx);
      const token = ctx.path === '/token' ? Object(ctx.body).id_token : undefined;
      if (typeof token === 'string' && own.forgery !== undefined) {
        ctx.body = { ...Object(ctx.body), id_token: forged(token, key, own.forgery) };
      }
    });
    callback = provider.callback();
  };

  const own: TestProvider = {
    ...{ issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
    person: undefined,
    forgery: undefined,
    interfere: new Map(),
    requests: [],
    key: () => key,
    rotate: open,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
  open();
  return own;
}

/** The cookies of a browser, by origin. */
type Jar = Map<string, Map<string, string>>;

/** A browser at the provider: follows redirects with its cookies until one leads to another origin, and returns where. */
export async function visit(start: string, jar: Jar = new Map()): Promise<string> {
  const { authority } = await thirdPartyTrust();
  const { origin } = new URL(start);
  const cookies = jar.get(origin) ?? new Map<string, string>();
  jar.set(origin, cookies);
  let url = start;
  for (let steps = 0; steps < 10 && new URL(url).origin === origin; steps += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      tls: { ca: authority.pem },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) {
      throw new Error(`the provider answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
    }
    url = new URL(location, url).href;
  }
  return url;
}
