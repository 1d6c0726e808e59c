/** Signing in at the console with OpenID Connect: a real vault, a real provider over TLS, and the browser of a person between them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createApp } from '../../../server/boot/app.ts';
import { Secret } from '../../../server/core/secret.ts';
import type { OidcRole } from '../../../server/core/settings.ts';
import { entriesOf, lineOf } from '../../helpers/audit.ts';
import { type AccountClient, answerOf } from '../../helpers/clients.ts';
import { thirdPartyTrust } from '../../helpers/third-party.ts';
import { openTestVault, type TestVault, type VaultSettings } from '../../helpers/vault.ts';
import { type Browser, newBrowser } from './browser.ts';
import { startProvider, type TestProvider, visit } from './provider.ts';

const ORIGIN = 'http://localhost';
const CALLBACK = `${ORIGIN}/console/oidc/callback`;
const PEOPLE: Record<string, Record<string, unknown>> = {};

let provider: TestProvider;
let vault: TestVault;
let shop: AccountClient;

function settingsFor(at: TestProvider, roles: readonly OidcRole[]): NonNullable<VaultSettings['oidc']> {
  const { issuer, clientId, clientSecret } = at;
  return { issuer, clientId, clientSecret: new Secret(clientSecret), roles };
}

beforeAll(async () => {
  provider = await startProvider({ people: PEOPLE, redirectUri: CALLBACK, signOutUri: `${ORIGIN}/console` });
  const { authority } = await thirdPartyTrust();
  const roles: OidcRole[] = [];
  vault = await openTestVault({
    proxy: { caPem: authority.pem },
    jobs: false,
    oidc: settingsFor(provider, roles),
  });
  shop = await vault.account();
  roles.push(
    { claim: 'groups', value: 'owners', account: shop.name, role: 'owner' },
    { claim: 'groups', value: 'staff', account: shop.name, role: 'support' },
    { claim: 'groups', value: 'lost', account: 'nobody', role: 'admin' },
    { claim: 'email', value: 'eve@shop.example', account: shop.name, role: 'auditor' },
  );
});
afterAll(async () => {
  await vault.close();
  await provider.stop();
});
beforeEach(() => {
  provider.forgery = undefined;
  provider.interfere.clear();
  vault.events.length = 0;
});

let people = 0;

/** A person whom the provider knows and lets in, and a browser. */
function somebody(claims: Record<string, unknown> = { groups: ['staff'] }): {
  readonly sub: string;
  readonly browser: Browser;
} {
  people += 1;
  const sub = `person-${people}`;
  PEOPLE[sub] = { name: `Person ${people}`, ...claims };
  provider.person = sub;
  return { sub, browser: newBrowser(vault.handle) };
}

interface WhoAmI {
  readonly account: string;
  readonly person: { readonly id: string; readonly name: string; readonly role: string };
}

async function whoIs(browser: Browser): Promise<WhoAmI['person'] | undefined> {
  const answer = await browser.send('GET', '/v1/whoami');
  return answer.status === 200 ? answer.as<WhoAmI>().person : undefined;
}

function failures(): readonly unknown[] {
  return vault.events
    .filter(({ event }) => event === 'oidc_signin_failed')
    .map(({ fault, reason }) => [fault, reason].join(' '));
}

test('a person signs in, acts for the account, and is in its security log', async () => {
  const { browser } = somebody();
  const page = await browser.signIn();
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.text).toContain("<script>location.replace('/console');</script>");
  const person = await whoIs(browser);
  expect(person).toMatchObject({ name: `Person ${people}`, role: 'support' });
  const listed = (await shop.send('GET', '/person')).as<{ id: string; oidc?: boolean }[]>();
  expect(listed.find(({ id }) => id === person?.id)?.oidc).toBe(true);
  const entries = await entriesOf(shop, { actor: `person/${person?.id}` });
  expect(entries.map(lineOf)).toContain(`person.signin success person/${person?.id}`);
  expect((await browser.send('POST', '/v1/rule', {})).outcome).toBe('403 not_allowed');
});

test('the cookies are for the browser alone', async () => {
  const { browser } = somebody();
  await browser.signIn();
  const [begun, ended, session] = browser.setCookies;
  expect(begun).toMatch(/^vault_signin=[\w-]{70,90}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
  expect(ended).toBe('vault_signin=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0');
  expect(session).toMatch(/^vault_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
});

test('over HTTPS they have the prefix that binds them to the host', async () => {
  const origin = 'https://vault.example';
  const other = await startProvider({ people: PEOPLE, redirectUri: `${origin}/console/oidc/callback` });
  const { authority } = await thirdPartyTrust();
  const roles: OidcRole[] = [{ claim: 'sub', value: 'ada', account: shop.name, role: 'admin' }];
  const second = await vault.secondServer({
    proxy: { caPem: authority.pem },
    oidc: settingsFor(other, roles),
    people: { consoleUrl: origin, flaw: undefined, hasPasswords: true },
  });
  other.person = 'ada';
  const browser = newBrowser(second.handle, origin);
  await browser.signIn();
  expect(browser.setCookies[0]).toMatch(
    /^__Host-vault_signin=[\w-]{70,90}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
  );
  expect(await whoIs(browser)).toMatchObject({ name: 'ada', role: 'admin' });
  await second.close();
  await other.stop();
});

describe('the page at the end', () => {
  test('runs no code but its own, is in no frame, and is stored nowhere', async () => {
    const { browser } = somebody();
    const { headers } = await browser.signIn();
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('shows nothing of what a provider or a link says', async () => {
    const { browser } = somebody();
    provider.person = undefined;
    const back = await browser.leave();
    expect(decodeURIComponent(back)).toContain('<script>alert(1)</script>');
    const page = await browser.open(`${back}&error_uri=javascript:alert(2)`);
    expect(page.text).toContain('The sign-in was refused');
    expect(page.text).not.toContain('alert(');
    expect(failures()).toEqual(['denied access_denied']);
  });

  test('leads back where it failed, with a reference that the log has', async () => {
    const { browser } = somebody({ groups: ['other'] });
    const page = await browser.signIn();
    expect(page.status).toBe(200);
    expect(page.text).toContain('You have no access here');
    expect(page.text).toContain('<a href="/console">Back to the sign-in</a>');
    const [event] = vault.events.filter(({ event: name }) => name === 'oidc_signin_failed');
    expect(event).toEqual({
      event: 'oidc_signin_failed',
      request_id: page.headers.get('x-request-id'),
      fault: 'no_access',
      claims: 'groups',
    });
    expect(page.text).toContain(`Reference: ${event?.['request_id']}`);
  });
});

describe('nobody is signed in', () => {
  /** What became of a visit of the callback: the fault in the log, and that nobody has a session. */
  async function refused(browser: Browser, url: string): Promise<unknown> {
    const page = await browser.open(url);
    expect(page.status).toBe(200);
    expect(browser.cookies.has('vault_session')).toBe(false);
    return failures();
  }

  test('without the cookie', async () => {
    const { browser } = somebody();
    const back = await browser.leave();
    browser.cookies.clear();
    expect(await refused(browser, back)).toEqual(['expired unknown_sign_in']);
  });

  test('in another browser, which has begun its own sign-in (forged sign-in)', async () => {
    const attacker = somebody();
    const back = await attacker.browser.leave();
    const victim = somebody();
    await victim.browser.leave();
    expect(await refused(victim.browser, back)).toEqual(['refused oauth_invalid_response']);
  });

  test('with a cookie that the vault has not made', async () => {
    const { browser } = somebody();
    const back = await browser.leave();
    browser.cookies.set('vault_signin', 'x'.repeat(43));
    expect(await refused(browser, back)).toEqual(['expired unknown_sign_in']);
  });

  test('with two cookies, of which one was slipped in', async () => {
    const { browser } = somebody();
    const back = await browser.leave();
    browser.cookies.set(
      'vault_signin',
      `${browser.cookies.get('vault_signin')}; vault_signin=${'x'.repeat(43)}`,
    );
    expect(await refused(browser, back)).toEqual(['expired unknown_sign_in']);
  });

  test('a second time, with the cookie and the code of the first', async () => {
    const { browser } = somebody();
    const back = await browser.leave();
    const proof = browser.cookies.get('vault_signin') ?? '';
    await browser.open(back);
    browser.cookies.clear();
    browser.cookies.set('vault_signin', proof);
    expect(await refused(browser, back)).toEqual(['expired unknown_sign_in']);
  });

  test('twice at one instant, by two servers', async () => {
    const { authority } = await thirdPartyTrust();
    const second = await vault.secondServer({ proxy: { caPem: authority.pem } });
    const { browser } = somebody();
    const back = await browser.leave();
    const headers = { cookie: `vault_signin=${browser.cookies.get('vault_signin')}` };
    const pages = await Promise.all(
      [vault, second, vault, second].map(async ({ handle }) => handle(new Request(back, { headers }))),
    );
    const sessions = pages.filter(({ headers: got }) => got.getSetCookie().length === 2);
    expect(sessions).toHaveLength(1);
    await second.close();
  });

  test('after ten minutes', async () => {
    const { browser } = somebody();
    const back = await browser.leave();
    const { authority } = await thirdPartyTrust();
    const headers = { cookie: `vault_signin=${browser.cookies.get('vault_signin')}` };
    const pageAfter = async (ms: number): Promise<string> => {
      const later = await vault.secondServer({
        proxy: { caPem: authority.pem },
        now: () => Date.now() + ms,
      });
      const page = await (await later.handle(new Request(back, { headers }))).text();
      await later.close();
      return page;
    };
    expect(await pageAfter(10 * 60_000)).toContain('The sign-in is over');
    expect(await pageAfter(9 * 60_000)).not.toContain('The sign-in is over');
  });

  test('with a challenge of a passkey, which anybody gets', async () => {
    const { browser } = somebody();
    const back = await browser.leave();
    const begun = await browser.send('POST', '/v1/person/signin/options', {});
    const { options } = begun.as<{ options: { challenge: string } }>();
    browser.cookies.set('vault_signin', options.challenge);
    expect(await refused(browser, back)).toEqual(['expired unknown_sign_in']);
  });

  test('stores nothing before it is over', async () => {
    const before = await vault.raw.keys('{c:*');
    const { browser } = somebody();
    const back = await browser.leave();
    expect(await vault.raw.keys('{c:*')).toEqual(before);
    await browser.open(back);
    const [used = ''] = (await vault.raw.keys('{c:*')).filter((key) => !before.includes(key));
    expect(await vault.raw.pttl(used)).toBeGreaterThan(10 * 60_000);
  });

  test('by an ID token for another client, and the sign-in is used up', async () => {
    const { browser } = somebody();
    provider.forgery = { claims: (claims) => ({ ...claims, aud: 'other' }) };
    const back = await browser.leave();
    const proof = browser.cookies.get('vault_signin') ?? '';
    expect(await refused(browser, back)).toEqual(['refused oauth_jwt_claim_comparison_failed']);
    browser.cookies.set('vault_signin', proof);
    expect(await refused(browser, back)).toEqual([
      'refused oauth_jwt_claim_comparison_failed',
      'expired unknown_sign_in',
    ]);
  });

  test('by an address that is not verified', async () => {
    const { browser } = somebody({ email: 'eve@shop.example', email_verified: false });
    expect(await refused(browser, await browser.leave())).toEqual(['no_access ']);
  });

  test('for an account that does not exist', async () => {
    const { browser } = somebody({ groups: ['lost'] });
    expect(await refused(browser, await browser.leave())).toEqual(['no_access account_unknown']);
  });

  test('by a HEAD, which leaves the sign-in as it is', async () => {
    const { browser } = somebody();
    const back = await browser.leave();
    const headers = { cookie: `vault_signin=${browser.cookies.get('vault_signin')}` };
    const head = await vault.handle(new Request(back, { method: 'HEAD', headers }));
    expect([head.status, head.headers.getSetCookie()]).toEqual([200, []]);
    await browser.open(back);
    expect(await whoIs(browser)).toBeDefined();
  });

  test('by other methods', async () => {
    const answer = await answerOf(await vault.handle(new Request(CALLBACK, { method: 'POST' })));
    expect(answer.outcome).toBe('405 method_not_allowed');
  });
});

describe('the beginning', () => {
  const begin = async (headers: Readonly<Record<string, string>>, body = '{}') =>
    answerOf(
      await vault.handle(new Request(`${ORIGIN}/v1/person/signin/oidc`, { method: 'POST', headers, body })),
    );
  const JSON_TYPE = { 'Content-Type': 'application/json' };
  const OWN = { ...JSON_TYPE, 'Sec-Fetch-Site': 'same-origin' };

  test('is for pages of the console alone', async () => {
    expect((await begin(OWN)).outcome).toBe('200');
    expect((await begin({ ...JSON_TYPE, Origin: ORIGIN })).outcome).toBe('200');
    for (const headers of [
      { ...JSON_TYPE, 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' },
      { ...JSON_TYPE, 'Sec-Fetch-Site': 'same-site', Origin: 'https://sub.localhost' },
      { ...JSON_TYPE, Origin: 'null' },
      { ...OWN, Origin: 'http://127.0.0.1' },
      { 'Content-Type': 'text/plain', 'Sec-Fetch-Site': 'same-origin' },
    ]) {
      const answer = await begin(headers);
      expect([answer.outcome, answer.headers.getSetCookie()]).toEqual(['403 cross_site', []]);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test('is on the listener of the console alone, as is the end', async () => {
    const open = createApp(vault.parts, 'public');
    const body = { method: 'POST', headers: OWN, body: '{}' };
    const begun = await answerOf(await open.handle(new Request(`${ORIGIN}/v1/person/signin/oidc`, body)));
    const ended = await answerOf(await open.handle(new Request(CALLBACK)));
    expect([begun.outcome, ended.outcome]).toEqual(['404 not_found', '404 not_found']);
  });

  test('and the end count for the rate of the source', async () => {
    const { authority } = await thirdPartyTrust();
    const slow = await vault.secondServer({ proxy: { caPem: authority.pem }, ratePerSource: 1 });
    const visits = [1, 2].map(async () => answerOf(await slow.handle(new Request(CALLBACK))));
    expect((await Promise.all(visits)).map(({ outcome }) => outcome).sort()).toEqual([
      '200',
      '429 rate_limited',
    ]);
    const body = { method: 'POST', headers: OWN, body: '{}' };
    const begun = await slow.handle(new Request(`${ORIGIN}/v1/person/signin/oidc`, body));
    expect(begun.status).toBe(429);
    await slow.close();
  });

  test('takes no members', async () => {
    expect((await begin(OWN, '{"role":"owner"}')).outcome).toBe('400 unknown_parameter');
  });

  test('is not there without a provider, as the console reads', async () => {
    const plain = await vault.secondServer({ oidc: undefined });
    const waysAt = async ({ handle }: TestVault): Promise<unknown> =>
      (await answerOf(await handle(new Request(`${ORIGIN}/console/origins`)))).as<{ sign_in: unknown }>()
        .sign_in;
    expect(await waysAt(vault)).toEqual({ passkey: true, oidc: true, password: true });
    expect(await waysAt(plain)).toEqual({ passkey: true, oidc: false, password: true });
    const answer = await newBrowser(plain.handle).send('POST', '/v1/person/signin/oidc', {});
    expect([answer.outcome, answer.headers.getSetCookie()]).toEqual(['404 not_found', []]);
    const callback = await answerOf(await plain.handle(new Request(CALLBACK)));
    expect(callback.status).toBe(404);
    await plain.close();
  });

  test('says that the provider is down, and works when it is back', async () => {
    const { authority } = await thirdPartyTrust();
    const fresh = await vault.secondServer({ proxy: { caPem: authority.pem } });
    provider.interfere.set('/.well-known/openid-configuration', (request) => request.socket.destroy());
    const { browser } = somebody();
    const own = newBrowser(fresh.handle);
    const answer = await own.send('POST', '/v1/person/signin/oidc', {});
    expect([answer.outcome, answer.headers.getSetCookie()]).toEqual(['502 provider_unavailable', []]);
    provider.interfere.clear();
    await own.signIn();
    expect(await whoIs(own)).toBeDefined();
    await fresh.close();
    expect(await whoIs(browser)).toBeUndefined();
  });
});

test('a provider that goes down during a sign-in is told in plain words', async () => {
  const { browser } = somebody();
  const back = await browser.leave();
  provider.interfere.set('/token', (_request, response) => response.writeHead(503).end());
  const page = await browser.open(back);
  expect([page.status, page.text.includes('Your provider cannot be reached')]).toEqual([200, true]);
  expect(failures()).toEqual(['unavailable oauth_response_is_not_conform']);
});

test('a provider that hangs holds a few sign-ins of one address, and no other request', async () => {
  const { browser } = somebody();
  const others = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const each = newBrowser(vault.handle);
      return { each, back: await each.leave() };
    }),
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  provider.interfere.set(
    '/token',
    (_request, response) => void promise.then(() => response.writeHead(503).end()),
  );
  const pages = others.map(({ each, back }) => each.open(back));
  const first = await Promise.race(pages);
  expect(first.text).toContain('The vault cannot sign you in now');
  expect((await shop.send('GET', '/whoami')).status).toBe(200);
  expect((await browser.send('GET', '/v1/whoami')).status).toBe(401);
  resolve();
  await Promise.all(pages);
  expect(failures().filter((line) => line === 'busy overloaded')).toHaveLength(10);
  provider.interfere.clear();
  await browser.signIn();
  expect(await whoIs(browser)).toBeDefined();
});

describe('a person of the provider', () => {
  async function signedIn(claims?: Record<string, unknown>) {
    const { sub, browser } = somebody(claims);
    await browser.signIn();
    const id = (await whoIs(browser))?.id ?? '';
    return { sub, browser, id };
  }

  test('is the same one at each sign-in', async () => {
    const { sub, id } = await signedIn();
    provider.person = sub;
    PEOPLE[sub] = { name: 'Another name', groups: ['staff'] };
    const again = newBrowser(vault.handle);
    await again.signIn();
    expect(await whoIs(again)).toMatchObject({ id, name: 'Another name' });
  });

  test('has a name that any person could have, whatever the provider says', async () => {
    const names: readonly (readonly [unknown, string])[] = [
      ['Ada\n\u0000 Lovelace', 'Ada   Lovelace'],
      [`${'x'.repeat(127)}😀`, `${'x'.repeat(127)}\ufffd`],
      [' \t', 'ada'],
      [{ first: 'Ada' }, 'ada'],
      ['4111 1111 1111 1111', 'ada'],
    ];
    for (const [name, shown] of names) {
      const { browser } = await signedIn({ name, preferred_username: 'ada', groups: ['staff'] });
      expect((await whoIs(browser))?.name).toBe(shown);
    }
  });

  test('is not invited, and gets its role from the provider', async () => {
    const { id } = await signedIn();
    expect((await shop.send('POST', `/person/${id}/invite`)).outcome).toBe('409 person_of_provider');
    const body = { name: 'Ada', role: 'admin' };
    expect((await shop.send('PUT', `/person/${id}`, { body })).outcome).toBe('409 person_of_provider');
  });

  test('has the role that the provider tells now; a session with the former one ends', async () => {
    const { sub, browser } = await signedIn();
    PEOPLE[sub] = { groups: ['staff', 'owners'] };
    provider.person = sub;
    const again = newBrowser(vault.handle);
    await again.signIn();
    expect((await whoIs(again))?.role).toBe('owner');
    expect((await browser.send('GET', '/v1/whoami')).outcome).toBe('401 unauthenticated');
  });

  test('is deleted with its sessions, and comes back while the claims fit: with its keys, and masked', async () => {
    const { sub, browser, id } = await signedIn();
    await shop.key('first');
    const body = { name: 'Ada', role: 'support', keys: ['first'], unmasked: true };
    expect((await shop.send('PUT', `/person/${id}`, { body })).outcome).toBe('200');
    expect((await shop.send('DELETE', `/person/${id}`)).outcome).toBe('200');
    expect((await browser.send('GET', '/v1/whoami')).outcome).toBe('401 unauthenticated');
    expect((await shop.send('GET', `/person/${id}`)).outcome).toBe('404 person_not_found');
    provider.person = sub;
    const again = newBrowser(vault.handle);
    await again.signIn();
    expect(await whoIs(again)).toMatchObject({ id, role: 'support', keys: ['first'], unmasked: false });
    PEOPLE[sub] = { groups: [] };
    await shop.send('DELETE', `/person/${id}`);
    expect((await newBrowser(vault.handle).signIn()).text).toContain('You have no access here');
    expect((await shop.send('GET', `/person/${id}`)).outcome).toBe('404 person_not_found');
  });

  test('of a suspended account is told so, and is in its security log', async () => {
    const { sub, id } = await signedIn();
    await vault.opened.services.accounts.set(shop.name, { suspended: true });
    provider.person = sub;
    const page = await newBrowser(vault.handle).signIn();
    await vault.opened.services.accounts.set(shop.name, { suspended: false });
    expect(page.text).toContain('The account is suspended');
    expect(failures()).toEqual(['suspended ']);
    const [entry] = await entriesOf(shop, { actor: `person/${id}` });
    expect(entry).toMatchObject({ action: 'person.signin', outcome: 'account_suspended' });
  });

  test('signs out, at the provider too', async () => {
    const { browser } = await signedIn();
    const answer = await browser.send('DELETE', '/v1/person/self/session');
    const { sign_out_url: url = '' } = answer.as<{ sign_out_url?: string }>();
    const { origin, searchParams } = new URL(url);
    expect(origin).toBe(provider.issuer);
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: provider.clientId,
      post_logout_redirect_uri: `${ORIGIN}/console`,
    });
    expect(browser.cookies.has('vault_session')).toBe(false);
    expect(await whoIs(browser)).toBeUndefined();
    expect(await visit(url).catch(String)).toContain('200');
  });

  test('signs out where the provider is down', async () => {
    const { authority } = await thirdPartyTrust();
    const fresh = await vault.secondServer({ proxy: { caPem: authority.pem } });
    const { browser } = await signedIn();
    provider.interfere.set('/.well-known/openid-configuration', (_request, response) =>
      response.writeHead(503).end(),
    );
    const own = newBrowser(fresh.handle);
    own.cookies.set('vault_session', browser.cookies.get('vault_session') ?? '');
    const answer = await own.send('DELETE', '/v1/person/self/session');
    expect(answer.json).toEqual({ message: 'You are signed out.' });
    expect(await whoIs(browser)).toBeUndefined();
    await fresh.close();
  });
});

test('no code, token or proof is in a log, nor at rest', async () => {
  const { browser } = somebody();
  const tokens: string[] = [];
  provider.forgery = {
    signature: (signed) => {
      tokens.push(signed);
      return 'AAAA';
    },
  };
  const back = await browser.leave();
  const proof = browser.cookies.get('vault_signin') ?? '';
  const dumped = async () =>
    (
      await Promise.all(
        (await vault.raw.keys('*')).map(async (key) => [key, await vault.raw.dumpBuffer(key)]),
      )
    ).join();
  const atRest = await dumped();
  await browser.open(back);
  provider.forgery = undefined;
  const { searchParams } = new URL(back);
  const secrets = [
    proof,
    searchParams.get('code'),
    searchParams.get('state'),
    ...tokens,
    provider.clientSecret,
  ];
  expect(tokens).toHaveLength(1);
  const logged = JSON.stringify([vault.lines, vault.events]);
  const stored = atRest + (await dumped());
  for (const secret of secrets) {
    expect(secret?.length).toBeGreaterThan(20);
    expect(logged).not.toContain(secret ?? '');
    expect(stored).not.toContain(secret ?? '');
  }
  expect(logged).toContain('/console/oidc/callback');
});
