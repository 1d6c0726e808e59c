import { AsyncLocalStorage } from 'node:async_hooks';
import type { Elysia } from 'elysia';
import type { AppDeps } from '../../server/boot/app.ts';
import { createApp } from '../../server/boot/app.ts';
import type { ErrorBody } from '../../server/schema/common.ts';
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

/** What a browser says of a request of the console. */
export const OF_CONSOLE = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' } as const;

/** A path of the table as a request has it: its parameters name the endpoint that there is. */
export function samplePath(path: string): string {
  return path.replaceAll(/\{\w+\}/g, ENDPOINT.id);
}

/** The parts of the client whose request is being answered. */
const answering = new AsyncLocalStorage<StubParts>();

/** What an application reads while it is built: a client with another one needs an application of its own. */
const READ_ONCE = ['http', 'formPages'] as const;

/** A part that is looked up in those of the client that asks, whenever it is used. */
function delegateOf(name: keyof StubParts, part: object): unknown {
  const own = (): object => Reflect.get(answering.getStore() ?? {}, name);
  return typeof part === 'function'
    ? (...given: unknown[]) => Reflect.apply(own() as () => unknown, undefined, given)
    : new Proxy(part, { get: (_, method) => Reflect.get(own(), method) });
}

let sharedApp: Elysia | undefined;

/** The application that clients of this process share: building one takes longer than most requests. */
function getSharedApp(): Elysia {
  const parts = createStubParts();
  const delegates = Object.entries(parts)
    .filter(([name]) => !READ_ONCE.some((fixed) => fixed === name))
    .map(([name, part]) => [name, delegateOf(name as keyof StubParts, part)]);
  sharedApp ??= createApp({ ...parts, ...Object.fromEntries(delegates) });
  return sharedApp;
}

/** An application over stub services, as a client in the same process. */
export function createClient(override: Partial<AppDeps> = {}, makeApp?: (parts: AppDeps) => Elysia): Client {
  const parts = createStubParts(override);
  const isOwn = makeApp !== undefined || READ_ONCE.some((name) => name in override);
  const app = isOwn ? (makeApp ?? createApp)(parts) : getSharedApp();
  return {
    parts,
    lastInput: () => parts.asked.at(-1)?.input,
    send: (method, target, init = {}) => {
      const headers = new Headers({ authorization: AUTHORIZATION });
      for (const [name, value] of new Headers(init.headers)) {
        headers.set(name, value);
      }
      const host = headers.get('x-test-host') ?? 'localhost';
      headers.delete('x-test-host');
      const request = new Request(`http://${host}${target}`, { ...init, method, headers });
      return answering.run(parts, async () => answerOf(await app.handle(request), method));
    },
  };
}

async function answerOf(response: Response, method: string): Promise<Answer> {
  // As on a socket, where the runtime omits the body of a reply to HEAD.
  const text = method === 'HEAD' ? '' : await response.text();
  const isRefusal = !response.ok && text.startsWith('{');
  const { status, headers } = response;
  return { status, headers, text, error: isRefusal ? JSON.parse(text) : {} };
}
