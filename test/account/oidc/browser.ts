/** The browser of a person: its cookies at the vault and at the provider, and the console that sends its requests. */
import { type Answer, answerOf, type Handle } from '../../helpers/clients.ts';
import { visit } from './provider.ts';
import { show } from './transcript.ts';

export interface Browser {
  /** Cookies at the vault, by name. */
  readonly cookies: Map<string, string>;
  /** Every `Set-Cookie` of the vault so far. */
  readonly setCookies: string[];
  /** Sends a request of the console, with the cookies. */
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
  /** Opens an address of the vault that another site leads to: without the cookies that are strict. */
  readonly open: (url: string) => Promise<Answer>;
  /** Begins a sign-in and visits the provider; the address that the provider leads back to. */
  readonly leave: () => Promise<string>;
  /** Signs in; the page of the vault at the end. */
  readonly signIn: () => Promise<Answer>;
}

/** A browser without cookies. */
export function newBrowser(handle: Handle, origin = 'http://localhost'): Browser {
  const cookies = new Map<string, string>();
  const strict = new Set<string>();
  const setCookies: string[] = [];
  const jar = new Map<string, Map<string, string>>();

  const keep = (response: Response): void => {
    for (const line of response.headers.getSetCookie()) {
      setCookies.push(line);
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0(;|$)/i.test(line)) {
        cookies.delete(name);
      } else {
        cookies.set(name, value);
        (/samesite=strict/i.test(line) ? strict : new Set<string>()).add(name);
      }
    }
  };
  const request = async (url: string, init: RequestInit, isLed: boolean): Promise<Answer> => {
    const sent = [...cookies].filter(([name]) => !isLed || !strict.has(name));
    const headers = new Headers(init.headers);
    if (sent.length > 0) {
      headers.set('Cookie', sent.map(([name, value]) => `${name}=${value}`).join('; '));
    }
    const { pathname, search } = new URL(url);
    show(
      '',
      `> ${init.method ?? 'GET'} ${pathname}${search}`,
      ...[...headers].map(([name, value]) => `>   ${name}: ${value}`),
    );
    // Whatever ends TLS before the vault passes plain HTTP on.
    const response = await handle(new Request(url.replace(/^https:/, 'http:'), { ...init, headers }));
    keep(response);
    const answer = await answerOf(response);
    show(`< ${answer.status}`, ...[...answer.headers].map(([name, value]) => `<   ${name}: ${value}`));
    show(
      ...answer.text
        .split('\n')
        .slice(-16)
        .map((line) => `<   ${line.slice(0, 400)}`),
    );
    return answer;
  };

  const own: Browser = {
    cookies,
    setCookies,
    send: (method, path, body, headers = {}) =>
      request(
        `${origin}${path}`,
        {
          method,
          headers: {
            Origin: origin,
            'Sec-Fetch-Site': 'same-origin',
            ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        },
        false,
      ),
    open: (url) =>
      request(url, { headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' } }, true),
    leave: async () => {
      const begun = await own.send('POST', '/v1/person/signin/oidc', {});
      if (begun.status !== 200) {
        throw new Error(`the sign-in did not begin: ${begun.outcome}`);
      }
      const back = await visit(begun.as<{ url: string }>().url, jar);
      show('', `  The provider leads the browser to ${back}`);
      return back;
    },
    signIn: async () => own.open(await own.leave()),
  };
  return own;
}
