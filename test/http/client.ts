import type { Elysia } from 'elysia';
import { createApp } from '../../server/http/app.ts';
import type { HttpParts } from '../../server/http/plugins/http-parts.ts';
import type { ErrorBody } from '../../server/http/schema/common.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { AUTHORIZATION, createStubParts, type StubParts } from './stub-parts.ts';

/** A reply as tests look at it; `error` is the body of a refusal. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly error: Partial<ErrorBody>;
}

export interface Client {
  readonly parts: StubParts;
  /** Sends a request in process, with good credentials unless `headers` say otherwise, to the host of `x-test-host`. */
  readonly send: (method: string, target: string, init?: RequestInit) => Promise<Answer>;
  /** What the last service call was given. */
  readonly lastInput: () => unknown;
}

/** A path of the table as a request has it: its parameters name the endpoint that there is. */
export function samplePath(path: string): string {
  return path.replaceAll(/\{\w+\}/g, ENDPOINT.id);
}

/** An application over stub services, as a client in the same process. */
export function createClient(
  override: Partial<HttpParts> = {},
  makeApp: (parts: HttpParts) => Elysia = createApp,
): Client {
  const parts = createStubParts(override);
  const app = makeApp(parts);
  return {
    parts,
    lastInput: () => parts.asked.at(-1)?.input,
    send: async (method, target, init = {}) => {
      const headers = new Headers({ authorization: AUTHORIZATION });
      for (const [name, value] of new Headers(init.headers)) {
        headers.set(name, value);
      }
      const host = headers.get('x-test-host') ?? 'localhost';
      headers.delete('x-test-host');
      const response = await app.handle(new Request(`http://${host}${target}`, { ...init, method, headers }));
      // As on a socket, where the runtime omits the body of a reply to HEAD.
      const text = method === 'HEAD' ? '' : await response.text();
      const isRefusal = !response.ok && text.startsWith('{');
      return {
        status: response.status,
        headers: response.headers,
        text,
        error: isRefusal ? JSON.parse(text) : {},
      };
    },
  };
}
