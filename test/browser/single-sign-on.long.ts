/** Signing in with OpenID Connect in a real browser: a server with real settings, a provider of another site, and the cookies between. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core';
import { startProvider, type TestProvider } from '../account/oidc/provider.ts';
import { writePrivate } from '../helpers/config.ts';
import { freePort } from '../helpers/free-port.ts';
import { run } from '../helpers/packages.ts';
import { portOf, type Server, spawnServer } from '../helpers/server-process.ts';
import { thirdPartyTrust } from '../helpers/third-party.ts';
import { launchChromium } from './chromium.ts';

const ROOT = join(import.meta.dir, '..', '..');
const STARTED_MS = 120_000;
const port = freePort();
const console_ = `http://localhost:${port}`;
const folder = mkdtempSync(join(tmpdir(), 'cv-sso-'));
const printed: string[] = [];
let provider: TestProvider;
let server: Server;
let browser: Browser;
let context: BrowserContext;

declare const location: { href: string };

beforeAll(async () => {
  await run([process.execPath, join(ROOT, 'scripts/build-console.ts'), '--if-changed'], ROOT);
  provider = await startProvider({
    people: { ada: { name: 'Ada Lovelace', groups: ['staff'] }, eve: { groups: [] } },
    redirectUri: `${console_}/console/oidc/callback`,
    signOutUri: `${console_}/console`,
    host: '127.0.0.1',
  });
  const { authority } = await thirdPartyTrust();
  server = spawnServer(
    {
      VAULT_PORT: String(port),
      VAULT_DATA_DIR: join(folder, 'data'),
      VAULT_CONSOLE_URL: console_,
      VAULT_PROXY_CA_FILE: writePrivate(join(folder, 'ca.pem'), authority.pem),
      VAULT_OIDC_ISSUER: provider.issuer,
      VAULT_OIDC_CLIENT_ID: provider.clientId,
      VAULT_OIDC_CLIENT_SECRET_FILE: writePrivate(join(folder, 'secret'), `${provider.clientSecret}\n`),
      VAULT_OIDC_ROLES: 'groups=staff:owner:support,groups=others:no-such-account:admin',
    },
    folder,
  );
  [browser] = await Promise.all([launchChromium(), portOf(server, printed)]);
  // The authority of the provider is one of this test alone.
  context = await browser.newContext({ ignoreHTTPSErrors: true });
}, STARTED_MS);

afterAll(async () => {
  await browser.close();
  server.kill('SIGTERM');
  await server.exited;
  await provider.stop();
  rmSync(folder, { recursive: true });
}, STARTED_MS);

/** A page of the console that reports what its policy forbids. */
async function openPage(): Promise<{ readonly page: Page; readonly faults: string[] }> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${console_}/console`);
  return { page, faults };
}

/** Begins a sign-in as a script of the console does, and goes to the provider, which leads back. */
async function begin(page: Page): Promise<void> {
  const back = page.waitForResponse((response) =>
    response.url().startsWith(`${console_}/console/oidc/callback`),
  );
  await page.evaluate(async () => {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch('/v1/person/signin/oidc', { method: 'POST', headers, body: '{}' });
    location.href = Object(await response.json()).url;
  });
  expect((await back).status()).toBe(200);
}

/** The same, until the page at the end has opened the console. */
async function signIn(page: Page): Promise<void> {
  const isConsole = (frame: Frame): boolean => frame.url() === `${console_}/console`;
  const opened = page.waitForEvent('framenavigated', isConsole);
  await begin(page);
  await opened;
  await page.waitForLoadState();
}

/** The reply to a request of a page of the console, with the cookies of the browser. */
function ask(page: Page, path: string): Promise<{ readonly status: number; readonly text: string }> {
  return page.evaluate(async (at) => {
    const response = await fetch(at);
    return { status: response.status, text: await response.text() };
  }, path);
}

test('the start prints the address of the console at which people sign in', () => {
  expect(printed.join('')).toContain(`Console ${console_}/console\n`);
});

test('a person comes back from another site signed in, with a strict cookie', async () => {
  provider.person = 'ada';
  const { page, faults } = await openPage();
  await signIn(page);
  const { status, text } = await ask(page, '/v1/person/self');
  expect([status, JSON.parse(text)]).toMatchObject([
    200,
    { name: 'Ada Lovelace', role: 'support', oidc: true },
  ]);
  const cookies = await context.cookies(console_);
  expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])).toEqual([
    ['vault_session', true, 'Strict'],
  ]);
  expect(await page.evaluate('document.cookie')).toBe('');
  expect(faults).toEqual([]);
  await page.close();
});

test('the address with the code is not in the history', async () => {
  const { page } = await openPage();
  await signIn(page);
  await page.goBack();
  expect(page.url()).not.toContain('/oidc/callback');
  await page.close();
});

test('a sign-out ends the session at the provider too, which leads back', async () => {
  const { page } = await openPage();
  await signIn(page);
  const url = await page.evaluate(async () => {
    const response = await fetch('/v1/person/self/session', { method: 'DELETE' });
    return Object(await response.json()).sign_out_url;
  });
  expect(await context.cookies(console_)).toEqual([]);
  await page.goto(url);
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.waitForURL(`${console_}/console`);
  expect((await ask(page, '/v1/person/self')).status).toBe(401);
  await page.close();
});

test('somebody without a role reads why, and finds the way back', async () => {
  await context.clearCookies();
  provider.person = 'eve';
  const { page, faults } = await openPage();
  await begin(page);
  await page.getByRole('heading', { name: 'You have no access here' }).waitFor();
  expect((await context.cookies(console_)).map(({ name }) => name)).toEqual([]);
  await page.getByRole('link', { name: 'Back to the sign-in' }).click();
  await page.waitForURL(`${console_}/console`);
  expect(faults).toEqual([]);
  await page.close();
});

test('the start names an account of a role that does not exist, and no secret', () => {
  const log = printed.join('');
  expect(log).toContain('"event":"oidc_account_unknown","account":"no-such-account"');
  expect(log).toContain('"event":"oidc_signin_failed"');
  expect(log).not.toContain(provider.clientSecret);
});
