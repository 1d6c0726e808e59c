/** The other end of the wire for the SDK's tests: it answers as a test says and remembers what it was sent. */

import { afterEach } from 'bun:test';
import type { Socket } from 'bun';
import type { RetryClock } from '../../sdk/transport/limit.ts';

export interface Seen {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

export type Answer = (seen: Seen) => Response | Promise<Response>;

export interface Peer {
  readonly baseUrl: string;
  readonly seen: Seen[];
  readonly close: () => Promise<void>;
}

/** Gives each request the next answer; one request too many is told so by a status that no test expects. */
export function openPeer(...answers: Answer[]): Peer {
  const seen: Seen[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const answer = answers[seen.length];
      const { method, url, headers } = request;
      const arrived = { method, url: new URL(url), headers, body: await request.text() };
      seen.push(arrived);
      return answer === undefined ? new Response('unexpected request', { status: 599 }) : answer(arrived);
    },
  });
  return { baseUrl: `http://127.0.0.1:${server.port}`, seen, close: () => server.stop(true) };
}

/** Keeps what a test of the calling file opens, to close it behind that test. */
export function closingAfterEach() {
  const opened: { readonly close: () => unknown }[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0)) {
      await each.close();
    }
  });
  return <Opened extends { readonly close: () => unknown }>(each: Opened): Opened => {
    opened.push(each);
    return each;
  };
}

/** What a call fails with; throws when it does not. */
export async function failureOf(call: Promise<unknown> | (() => unknown)): Promise<unknown> {
  try {
    await (call instanceof Promise ? call : call());
  } catch (error) {
    return error;
  }
  throw new Error('The call was expected to fail.');
}

export function json(body: unknown, headers: Record<string, string> = {}): Answer {
  return () => Response.json(body, { headers });
}

export function refusal(
  status: number,
  code: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Answer {
  const body = { error: 'A sentence.', code, request_id: 'req-1', ...more };
  return () => Response.json(body, { status, headers });
}

/** A peer that speaks raw bytes: each connection gets the next script, written once its request has come. */
export function openRawPeer(...scripts: ((socket: Socket<undefined>) => void)[]) {
  const requests: string[] = [];
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket, bytes) => {
        const script = scripts[requests.length];
        requests.push(bytes.toString());
        if (script === undefined) {
          socket.terminate();
        } else {
          script(socket);
        }
      },
    },
  });
  return {
    baseUrl: `http://127.0.0.1:${listener.port}`,
    requests,
    close: () => listener.stop(true),
  };
}

export const HEAD_CHUNKED =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n';

export function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** An address of the loopback interface where nothing listens. */
export function closedBaseUrl(): string {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } });
  const { port } = listener;
  listener.stop(true);
  return `http://127.0.0.1:${port}`;
}

/**
 * A clock on which pauses pass at once and are noted, and the time limit, known by its length, comes only when
 * a test says so.
 */
export function createTestClock(limitMs: number) {
  const pausesMs: number[] = [];
  let nowMs = 0;
  let limit = (): void => {};
  const clock: RetryClock = {
    nowMs: () => nowMs,
    random: () => 0,
    after: (ms, run) => {
      if (ms === limitMs) {
        limit = run;
        return () => {
          limit = () => {};
        };
      }
      pausesMs.push(ms);
      nowMs += ms;
      queueMicrotask(run);
      return () => {};
    },
  };
  return { clock, pausesMs, elapse: () => limit() };
}
