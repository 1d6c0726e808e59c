/** People who use the console with software authenticators, through the routes that browsers use. */
import type { Role } from '../../../server/core/roles.ts';
import { type AccountClient, type Answer, answerOf, type Handle, type Query } from '../../helpers/clients.ts';
import { invite, tokenOf } from '../../helpers/people.ts';
import {
  type Algorithm,
  type CreationOptions,
  type RequestOptions,
  SoftwareAuthenticator,
  type Wrong,
} from './authenticator.ts';

export const ORIGIN = 'http://localhost';

/** A browser that shows the console. */
export interface Browser {
  /** Sends a request as the console does, with the cookie that it has; `headers` replace its own. */
  readonly send: (
    method: string,
    path: string,
    sending?: {
      readonly body?: unknown;
      readonly query?: Query;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ) => Promise<Answer>;
  /** The cookie of its session, as `name=value`; empty if it has none. */
  readonly cookie: () => string;
  /** The whole `Set-Cookie` of the last reply that had one. */
  readonly setCookie: () => string;
}

export function openBrowser(handle: Handle): Browser {
  let setCookie = '';
  const cookie = (): string => setCookie.split(';')[0] ?? '';
  return {
    cookie,
    setCookie: () => setCookie,
    async send(method, path, { body, query = {}, headers = {} } = {}) {
      const url = new URL(`${ORIGIN}/v1${path}`);
      for (const [name, value] of Object.entries(query)) {
        url.searchParams.set(name, String(value));
      }
      const all = new Headers({ origin: ORIGIN, 'sec-fetch-site': 'same-origin', 'user-agent': 'tests/1.0' });
      if (body !== undefined) {
        all.set('content-type', 'application/json');
      }
      if (cookie() !== '') {
        all.set('cookie', cookie());
      }
      for (const [name, value] of Object.entries(headers)) {
        all.set(name, value);
      }
      const init: RequestInit = { method, headers: all };
      if (body !== undefined) {
        init.body = typeof body === 'string' ? body : JSON.stringify(body);
      }
      const response = await handle(new Request(url.href, init));
      setCookie = response.headers.get('set-cookie') ?? setCookie;
      return answerOf(response);
    },
  };
}

/** Options to sign in; throws unless the answer is 200. */
export async function signInOptions(browser: Browser): Promise<RequestOptions> {
  return succeeded(await browser.send('POST', '/person/signin/options', { body: {} })).as<{
    options: RequestOptions;
  }>().options;
}

export async function signIn(
  browser: Browser,
  key: SoftwareAuthenticator,
  wrong: Wrong = {},
): Promise<Answer> {
  const response = key.get(await signInOptions(browser), wrong);
  return browser.send('POST', '/person/signin', { body: { response } });
}

/** Options to accept an invitation; throws unless the answer is 200. */
export async function invitationOptions(browser: Browser, token: string): Promise<CreationOptions> {
  return succeeded(await browser.send('POST', '/person/invitation/options', { body: { token } })).as<{
    options: CreationOptions;
  }>().options;
}

export async function accept(
  browser: Browser,
  token: string,
  key: SoftwareAuthenticator,
  wrong: Wrong = {},
): Promise<Answer> {
  const response = key.create(await invitationOptions(browser, token), wrong);
  return browser.send('POST', '/person/invitation', { body: { token, response } });
}

/** Adds a passkey to the person of a browser. */
export async function addPasskey(
  browser: Browser,
  key: SoftwareAuthenticator,
  wrong: Wrong = {},
): Promise<Answer> {
  const options = succeeded(await browser.send('POST', '/person/self/passkey/options', { body: {} }));
  const response = key.create(options.as<{ options: CreationOptions }>().options, wrong);
  return browser.send('POST', '/person/self/passkey', { body: { name: 'another', response } });
}

/** The token of a new invitation of a new person. */
export async function newInvitation(account: AccountClient, role: Role = 'support') {
  const invited = await invite(account, role);
  return { id: invited.id, token: tokenOf(invited).expose() };
}

export interface Member {
  readonly id: string;
  readonly browser: Browser;
  readonly key: SoftwareAuthenticator;
}

/** A person who has accepted an invitation. */
export async function newMember(
  handle: Handle,
  account: AccountClient,
  {
    role = 'owner',
    algorithm = 'ES256',
    counter = 0,
  }: { readonly role?: Role; readonly algorithm?: Algorithm; readonly counter?: number } = {},
): Promise<Member> {
  const { id, token } = await newInvitation(account, role);
  const browser = openBrowser(handle);
  const key = new SoftwareAuthenticator(ORIGIN, algorithm, { counter });
  succeeded(await accept(browser, token, key));
  return { id, browser, key };
}

export function succeeded(answer: Answer): Answer {
  if (answer.status !== 200) {
    throw new Error(`The vault answered ${answer.status} ${answer.text}`);
  }
  return answer;
}
