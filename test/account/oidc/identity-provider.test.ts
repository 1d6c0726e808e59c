/** What the vault believes of a provider of OpenID Connect: a real one over TLS, and what attackers and faults make of its replies. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createHmac, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { Secret } from '../../../server/core/secret.ts';
import type { OidcRole } from '../../../server/core/settings.ts';
import { IdentityProvider, type SignedIn } from '../../../server/outbound/identity-provider.ts';
import { SignInFailure } from '../../../server/outbound/sign-in-failure.ts';
import { thirdPartyTrust } from '../../helpers/third-party.ts';
import { newAuthority } from '../../outbound/certificates.ts';
import { type Forgery, type Interference, startProvider, type TestProvider, visit } from './provider.ts';

const CALLBACK = 'https://vault.example/console/oidc/callback';
const PEOPLE = {
  ada: { name: 'Ada', email: 'ada@shop.example', email_verified: true, groups: ['staff', 'admins'] },
};
const STAFF: OidcRole = { claim: 'groups', value: 'staff', account: 'shop', role: 'admin' };

let provider: TestProvider;
beforeAll(async () => {
  provider = await startProvider({
    people: PEOPLE,
    redirectUri: CALLBACK,
    signOutUri: 'https://vault.example/console',
  });
});
beforeEach(() => {
  provider.person = 'ada';
  provider.forgery = undefined;
  provider.interfere.clear();
});
afterAll(() => provider.stop());

interface ClientOptions {
  readonly at?: TestProvider;
  readonly roles?: readonly OidcRole[];
  readonly issuer?: string;
  readonly caPem?: string;
  readonly clientSecret?: string;
  readonly now?: () => number;
}

async function client({ at = provider, roles = [STAFF], now = Date.now, ...options }: ClientOptions = {}) {
  const { issuer = at.issuer, clientSecret = at.clientSecret } = options;
  const { caPem = (await thirdPartyTrust()).authority.pem } = options;
  const settings = { issuer, clientId: at.clientId, clientSecret: new Secret(clientSecret), roles };
  return new IdentityProvider(settings, caPem, CALLBACK, now);
}

function newProof(): Secret<string> {
  return new Secret(randomBytes(32).toString('base64url'));
}

/** Signs in, with a change to the query that the browser brings back. */
async function signIn(
  own: IdentityProvider,
  change: (query: URLSearchParams) => void = () => undefined,
): Promise<SignedIn> {
  const proof = newProof();
  const { searchParams } = new URL(await visit(await own.signInUrl(proof)));
  change(searchParams);
  return own.finish(`?${searchParams}`, proof);
}

/** How an attempt ended: `signed in`, or the failure with what the log has of it. */
async function outcomeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return 'signed in';
  } catch (error) {
    if (error instanceof SignInFailure) {
      return `${error.fault}: ${error.reason}`;
    }
    throw error;
  }
}

test('a person is what the verified ID token tells', async () => {
  const { iss, sub, claims } = await signIn(await client());
  expect({ iss, sub }).toEqual({ iss: provider.issuer, sub: 'ada' });
  expect(claims).toMatchObject(PEOPLE.ada);
});

test('the address at the provider has PKCE, state and nonce, and tells nothing of the proof', async () => {
  const proof = newProof();
  const url = new URL(await (await client()).signInUrl(proof));
  expect(url.searchParams.get('code_challenge_method')).toBe('S256');
  expect(url.searchParams.get('scope')).toBe('openid email profile groups');
  const values = ['state', 'nonce', 'code_challenge'].map((name) => url.searchParams.get(name));
  expect(new Set(values).size).toBe(3);
  for (const value of values) {
    expect(value).toMatch(/^[\w-]{43}$/);
  }
  expect(url.href).not.toContain(proof.expose());
});

const OTHER_KEY = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

describe('an ID token is refused', () => {
  const forgeries: Readonly<Record<string, readonly [Forgery, string]>> = {
    'for another client': [{ claims: (c) => ({ ...c, aud: 'other' }) }, 'oauth_jwt_claim_comparison_failed'],
    'for several clients, made for another': [
      { claims: (c) => ({ ...c, aud: ['vault', 'other'], azp: 'other' }) },
      'oauth_jwt_claim_comparison_failed',
    ],
    'of another issuer': [
      { claims: (c) => ({ ...c, iss: 'https://evil.example' }) },
      'oauth_jwt_claim_comparison_failed',
    ],
    'of another sign-in (nonce)': [
      { claims: (c) => ({ ...c, nonce: 'n'.repeat(43) }) },
      'oauth_jwt_claim_comparison_failed',
    ],
    'without a nonce': [{ claims: ({ nonce: _, ...c }) => c }, 'oauth_invalid_response'],
    'without a subject': [{ claims: ({ sub: _, ...c }) => c }, 'oauth_invalid_response'],
    'that ended before the tolerance of clocks': [
      { claims: (c) => ({ ...c, exp: inSeconds(-90) }) },
      'oauth_jwt_timestamp_check_failed',
    ],
    'that begins after the tolerance of clocks': [
      { claims: (c) => ({ ...c, nbf: inSeconds(90) }) },
      'oauth_jwt_timestamp_check_failed',
    ],
    'without a signature (alg none)': [
      { header: { alg: 'none' }, signature: () => '' },
      'oauth_invalid_response',
    ],
    'signed with the client secret': [
      {
        header: { alg: 'HS256', kid: undefined },
        signature: (text) => createHmac('sha256', provider.clientSecret).update(text).digest('base64url'),
      },
      'oauth_invalid_response',
    ],
    'signed with the public key as a secret': [
      {
        header: { alg: 'HS256' },
        signature: (text) =>
          createHmac('sha256', createPublicKey(provider.key()).export({ type: 'spki', format: 'pem' }))
            .update(text)
            .digest('base64url'),
      },
      'oauth_invalid_response',
    ],
    'signed by another key': [{ key: OTHER_KEY }, 'oauth_invalid_response'],
    'signed by a key that the provider does not have': [
      { key: OTHER_KEY, header: { kid: 'evil' } },
      'oauth_key_selection_failed',
    ],
    'that brings its own key': [
      {
        key: OTHER_KEY,
        header: {
          kid: undefined,
          jwk: OTHER_KEY.export({ format: 'jwk' }),
          jku: 'https://evil.example/jwks',
        },
      },
      'oauth_invalid_response',
    ],
    'with an unknown critical header': [{ header: { crit: ['x'], x: 1 } }, 'oauth_unsupported_operation'],
    'whose claims were changed after it was signed': [
      { signature: () => Buffer.alloc(256, 1).toString('base64url') },
      'oauth_invalid_response',
    ],
  };
  for (const [what, [forgery, reason]] of Object.entries(forgeries)) {
    test(what, async () => {
      provider.forgery = forgery;
      expect(await outcomeOf(signIn(await client()))).toBe(`refused: ${reason}`);
    });
  }

  test('and not within the tolerance of clocks', async () => {
    provider.forgery = { claims: (c) => ({ ...c, exp: inSeconds(-30), nbf: inSeconds(30) }) };
    expect(await outcomeOf(signIn(await client()))).toBe('signed in');
  });
});

describe('a reply that a browser brings is refused', () => {
  const changes: Readonly<Record<string, readonly [(query: URLSearchParams) => void, string]>> = {
    'of another issuer (mix-up)': [
      (q) => q.set('iss', 'https://evil.example'),
      'refused: oauth_invalid_response',
    ],
    'without its issuer': [(q) => q.delete('iss'), 'refused: oauth_invalid_response'],
    'with two issuers': [(q) => q.append('iss', 'https://evil.example'), 'refused: oauth_invalid_response'],
    'of another sign-in (state)': [(q) => q.set('state', 's'.repeat(43)), 'refused: oauth_invalid_response'],
    'without its state': [(q) => q.delete('state'), 'refused: oauth_invalid_response'],
    'with an unknown code': [(q) => q.set('code', 'c'.repeat(43)), 'expired: invalid_grant'],
    'without a code': [(q) => q.delete('code'), 'refused: oauth_invalid_response'],
    'with a token in it': [(q) => q.set('id_token', 'x'), 'refused: oauth_unsupported_operation'],
    'whose person has refused': [(q) => q.set('error', 'access_denied'), 'denied: access_denied'],
    'with an error of set-up': [(q) => q.set('error', 'invalid_scope'), 'refused: invalid_scope'],
    'with text in place of an error': [(q) => q.set('error', '<script>'), 'refused: unknown_error'],
    'with the name of a member of all objects': [
      (q) => q.set('error', 'constructor'),
      'refused: unknown_error',
    ],
    'of a provider that is down': [
      (q) => q.set('error', 'temporarily_unavailable'),
      'unavailable: temporarily_unavailable',
    ],
  };
  for (const [what, [change, outcome]] of Object.entries(changes)) {
    test(what, async () => {
      expect(await outcomeOf(signIn(await client(), change))).toBe(outcome);
    });
  }

  test('the second time (replayed code)', async () => {
    const own = await client();
    const proof = newProof();
    const { search } = new URL(await visit(await own.signInUrl(proof)));
    expect(await outcomeOf(own.finish(search, proof))).toBe('signed in');
    expect(await outcomeOf(own.finish(search, proof))).toBe('expired: invalid_grant');
  });

  test('with the code of somebody else (code injection, PKCE)', async () => {
    const own = await client();
    const stolen = new URL(await visit(await own.signInUrl(newProof()))).searchParams.get('code') ?? '';
    expect(await outcomeOf(signIn(own, (query) => query.set('code', stolen)))).toBe('expired: invalid_grant');
  });
});

test('a new key of the provider counts at once, and the former no more', async () => {
  const own = await client();
  expect(await outcomeOf(signIn(own))).toBe('signed in');
  const former = provider.key();
  provider.rotate();
  expect(await outcomeOf(signIn(own))).toBe('signed in');
  provider.forgery = { key: former };
  expect(await outcomeOf(signIn(own))).toBe('refused: oauth_invalid_response');
});

describe('a provider', () => {
  const plain =
    (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Interference =>
    (_request, response) =>
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);
  const endless: Interference = (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    const write = (): void => {
      if (!response.destroyed && response.write(' '.repeat(65_536))) {
        setImmediate(write);
      }
    };
    response.on('drain', write);
    write();
  };
  const DISCOVERY = '/.well-known/openid-configuration';

  const faults: Readonly<Record<string, readonly [path: string, Interference, outcome: string]>> = {
    'that fails at discovery': [DISCOVERY, plain(503, '{}'), 'unavailable: oauth_response_is_not_conform'],
    'without discovery': [DISCOVERY, plain(404, '{}'), 'refused: oauth_response_is_not_conform'],
    'that sends elsewhere': [
      DISCOVERY,
      plain(302, '', { Location: 'https://evil.example/' }),
      'refused: oauth_response_is_not_conform',
    ],
    'that talks without end': [DISCOVERY, endless, 'unavailable: reply_too_large'],
    'that talks HTML': [
      DISCOVERY,
      plain(200, '<p>', { 'Content-Type': 'text/html' }),
      'refused: oauth_response_is_not_json',
    ],
    'that is another one': [
      DISCOVERY,
      plain(200, JSON.stringify({ issuer: 'https://evil.example' })),
      'refused: oauth_json_attribute_comparison_failed',
    ],
    'whose keys are gone': ['/jwks', plain(500, '{}'), 'unavailable: oauth_response_is_not_conform'],
    'whose token endpoint fails': [
      '/token',
      plain(502, 'Bad gateway'),
      'unavailable: oauth_response_is_not_conform',
    ],
    'whose token endpoint hangs up': [
      '/token',
      (request) => request.socket.destroy(),
      'unavailable: target_unreachable_broken_off',
    ],
    'whose token endpoint is silent': ['/token', () => undefined, 'unavailable: target_timeout'],
    'that gives no ID token': [
      '/token',
      plain(200, JSON.stringify({ access_token: 'a', token_type: 'Bearer' })),
      'refused: oauth_invalid_response',
    ],
  };
  for (const [what, [path, interference, outcome]] of Object.entries(faults)) {
    test(what, async () => {
      provider.interfere.set(path, interference);
      const own = await client();
      expect(await outcomeOf(signIn(own))).toBe(outcome);
      // It is asked again when it is back.
      provider.interfere.clear();
      expect(await outcomeOf(signIn(own))).toBe('signed in');
    }, 20_000);
  }

  /** The metadata of the provider with changes. */
  async function tellMetadata(changes: Readonly<Record<string, unknown>>): Promise<void> {
    const { authority } = await thirdPartyTrust();
    const own = await fetch(`${provider.issuer}${DISCOVERY}`, { tls: { ca: authority.pem } });
    provider.interfere.set(
      DISCOVERY,
      plain(200, JSON.stringify({ ...Object(await own.json()), ...changes })),
    );
  }

  const incomplete: readonly Readonly<Record<string, unknown>>[] = [
    { token_endpoint: 'http://localhost:1/token' },
    { jwks_uri: 'http://localhost:1/jwks' },
    { authorization_endpoint: 'javascript:alert(1)' },
    { authorization_endpoint: undefined },
    { authorization_endpoint: 5 },
    { token_endpoint: 'https://' },
  ];
  for (const changes of incomplete) {
    test(`whose metadata has ${JSON.stringify(changes)}`, async () => {
      await tellMetadata(changes);
      expect(await outcomeOf(signIn(await client()))).toBe('refused: incomplete_metadata');
    });
  }

  test('whose lists are none', async () => {
    await tellMetadata({ scopes_supported: 5, token_endpoint_auth_methods_supported: 'client_secret_post' });
    expect(await outcomeOf(signIn(await client()))).toBe('signed in');
  });

  test('gets the client secret in the way that it takes', async () => {
    const sent = async (methods: unknown): Promise<string> => {
      await tellMetadata({ token_endpoint_auth_methods_supported: methods });
      let way = '';
      provider.interfere.set('/token', ({ headers }, response) => {
        way = headers.authorization?.startsWith('Basic ') ? 'header' : 'body';
        response.writeHead(503).end();
      });
      await outcomeOf(signIn(await client()));
      return way;
    };
    expect(await sent(undefined)).toBe('header');
    expect(await sent(['client_secret_post', 'client_secret_basic'])).toBe('header');
    expect(await sent(['client_secret_post', 'private_key_jwt'])).toBe('body');
  });

  test('without a way out that a browser may take has none', async () => {
    for (const url of ['http://localhost:1/out', 'javascript:alert(1)', 5, 'https://']) {
      await tellMetadata({ end_session_endpoint: url });
      expect(await (await client()).signOutUrl('https://vault.example/console')).toBeUndefined();
    }
  });

  test('whose certificate nobody has vouched for', async () => {
    const { pem } = await newAuthority('Another Root');
    expect(await outcomeOf(signIn(await client({ caPem: pem })))).toBe(
      'unavailable: target_unreachable_certificate',
    );
  });

  test('whose certificate is for another name', async () => {
    const { authority } = await thirdPartyTrust();
    const certificate = await authority.issue({ names: [{ type: 'dns', value: 'other.example' }] });
    const other = await startProvider({ people: PEOPLE, redirectUri: CALLBACK, certificate });
    expect(await outcomeOf(signIn(await client({ at: other })))).toBe(
      'unavailable: target_unreachable_certificate',
    );
    await other.stop();
  });

  test('that is not there', async () => {
    const issuer = 'https://localhost:1';
    expect(await outcomeOf(signIn(await client({ issuer })))).toBe(
      'unavailable: target_unreachable_connection',
    );
  });

  test('that does not know the client secret', async () => {
    const own = await client({ clientSecret: 'wrong' });
    expect(await outcomeOf(signIn(own))).toBe('refused: invalid_client');
  });

  test('is asked for its addresses once, by many at the same time', async () => {
    const own = await client();
    const before = provider.requests.length;
    await Promise.all([1, 2, 3, 4].map(() => own.signInUrl(newProof())));
    expect(provider.requests.slice(before)).toEqual([`GET ${DISCOVERY}`]);
  });
});

describe('claims that the ID token lacks', () => {
  let quiet: TestProvider;
  let info: Record<string, unknown>;
  beforeAll(async () => {
    const people = { ada: PEOPLE.ada };
    quiet = await startProvider({ people, redirectUri: CALLBACK, settings: { conformIdTokenClaims: true } });
    quiet.person = 'ada';
  });
  beforeEach(() => {
    info = { sub: 'ada' };
    quiet.forgery = undefined;
    quiet.interfere.clear();
  });
  afterAll(() => quiet.stop());

  function tell(): void {
    quiet.interfere.set('/me', (_request, response) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(info)),
    );
  }

  test('are those of userinfo', async () => {
    const { claims } = await signIn(await client({ at: quiet }));
    expect(claims).toMatchObject(PEOPLE.ada);
  });

  test('are not asked for where none is needed', async () => {
    const before = quiet.requests.length;
    await signIn(await client({ at: quiet, roles: [{ ...STAFF, claim: 'sub', value: 'ada' }] }));
    expect(quiet.requests.slice(before)).not.toContain('GET /me');
  });

  test('of somebody else are refused', async () => {
    info = { sub: 'eve', groups: ['staff'] };
    tell();
    expect(await outcomeOf(signIn(await client({ at: quiet })))).toBe(
      'refused: oauth_json_attribute_comparison_failed',
    );
  });

  test('never verify an address that the ID token has', async () => {
    info = { sub: 'ada', email: 'ada@shop.example', email_verified: true, groups: [] };
    tell();
    quiet.forgery = { claims: (c) => ({ ...c, email: 'owner@shop.example' }) };
    const { claims } = await signIn(await client({ at: quiet }));
    expect(claims['email']).toBe('owner@shop.example');
    expect(claims['email_verified']).toBeUndefined();
  });

  test('never lend their verification to an address of userinfo', async () => {
    info = { sub: 'ada', email: 'owner@shop.example', groups: [] };
    tell();
    quiet.forgery = { claims: (c) => ({ ...c, email_verified: true }) };
    const { claims } = await signIn(await client({ at: quiet }));
    expect(claims['email']).toBe('owner@shop.example');
    expect(claims['email_verified']).toBeUndefined();
  });
});

test('the way out of the provider leads back, for a client without a token', async () => {
  const url = new URL((await (await client()).signOutUrl('https://vault.example/console')) ?? '');
  expect(url.origin).toBe(provider.issuer);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: 'vault',
    post_logout_redirect_uri: 'https://vault.example/console',
  });
});

test('there is no way out of a provider that is down', async () => {
  expect(
    await (await client({ issuer: 'https://localhost:1' })).signOutUrl('https://vault.example/console'),
  ).toBeUndefined();
});
