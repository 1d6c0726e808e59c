import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type net from 'node:net';
import { createApp } from '../../server/boot/app.ts';
import { listen } from '../../server/http/listen/listen.ts';
import type { VaultTrees } from '../../server/vault/list/list.ts';
import { stub } from './stub-endpoints.ts';
import { AUTHORIZATION, createStubParts, type StubParts } from './stub-parts.ts';
import { type TalkArguments, talkTo } from './talk.ts';

const HEAD = `Host: vault.test\r\nAuthorization: ${AUTHORIZATION}\r\n`;
const STORE = `POST /v1/vault?user=u1&passphrase=pass HTTP/1.1\r\n${HEAD}`;
const WHOAMI = `GET /v1/whoami HTTP/1.1\r\n${HEAD}\r\n`;

let parts: StubParts;
let server: ReturnType<typeof listen>;
const treeOf = { stream: () => new ReadableStream<Uint8Array>() };

beforeAll(() => {
  const stubs = createStubParts();
  parts = {
    ...stubs,
    http: { ...stubs.http, bodyTimeoutMs: 200, trustedProxies: ['127.0.0.0/8'] },
    trees: stub<VaultTrees>({ list: async () => ({ stream: treeOf.stream() }) }),
  };
  server = listen(createApp(parts), { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
});
afterAll(() => server.stop(true));

function talk(...args: TalkArguments) {
  return talkTo(server.port, ...args);
}

/** Writes for as long as the other side takes it. */
function flood(piece: string) {
  return (socket: net.Socket) => {
    const pump = (): void => {
      while (socket.writable && socket.write(piece)) {}
      socket.once('drain', pump);
    };
    pump();
  };
}

const PIECE = `10000\r\n${' '.repeat(65_536)}\r\n`;

describe('413', () => {
  test('a length over the limit is refused without reading, and the connection ends', async () => {
    const { text, isClosed } = await talk(`${STORE}Content-Length: 262145\r\n\r\n{`);
    expect(text).toStartWith('HTTP/1.1 413 ');
    expect(text).toContain('"code":"body_too_large"');
    expect(text).toContain('Connection: close');
    expect(isClosed).toBe(true);
  });

  test('endless bodies are cut off at the limit and cost no memory', async () => {
    const before = process.memoryUsage.rss();
    const request = `${STORE}Transfer-Encoding: chunked\r\n\r\n`;
    const talks = await Promise.all(Array.from({ length: 40 }, () => talk(request, undefined, flood(PIECE))));
    for (const { text, isClosed } of talks) {
      // Those that find no room are refused before, and what a busy machine sends too slowly is cut off by time.
      expect(text).toMatch(/^HTTP\/1\.1 (400|413|503) /);
      expect(isClosed).toBe(true);
    }
    expect(talks.some(({ text }) => text.startsWith('HTTP/1.1 413 '))).toBe(true);
    expect(process.memoryUsage.rss() - before).toBeLessThan(64e6);
  });

  test('an endless body where none is taken ends the connection with the reply', async () => {
    const request = `GET /v1/whoami HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
    const { text, isClosed } = await talk(request, undefined, flood(PIECE));
    expect(text).toStartWith('HTTP/1.1 200 ');
    expect(isClosed).toBe(true);
  });
});

describe('400', () => {
  test.each([
    ['with a length', 'Content-Length: 10\r\n\r\n{"n"'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\n{"n"\r\n'],
  ])('a body that does not arrive in time, %s', async (_, rest) => {
    const { text, isClosed } = await talk(STORE + rest);
    expect(text).toStartWith('HTTP/1.1 400 ');
    expect(text).toContain('"field":"body"');
    expect(isClosed).toBe(true);
  });

  test('a body that comes a byte at a time does not get longer than the others', async () => {
    const { text } = await talk(`${STORE}Content-Length: 10000\r\n\r\n`, undefined, (socket) => {
      const timer = setInterval(() => socket.write(' '), 20);
      socket.on('close', () => clearInterval(timer));
    });
    expect(text).toStartWith('HTTP/1.1 400 ');
  });
});

describe('200', () => {
  const isAnswered = (text: string) => /\r\n\r\n.*\}$/s.test(text);

  test('a short host name', async () => {
    const { text } = await talk(
      `GET /v1/whoami HTTP/1.1\r\nHost: a\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`,
      isAnswered,
    );
    expect(text).toStartWith('HTTP/1.1 200 ');
  });

  test('a passphrase of 4096 characters in the query', async () => {
    const target = `/v1/vault?user=u1&token=tok&passphrase=${'p'.repeat(4096)}`;
    const { text } = await talk(`GET ${target} HTTP/1.1\r\n${HEAD}\r\n`, isAnswered);
    expect(text).toStartWith('HTTP/1.1 200 ');
  });

  test('a body at the limit, in chunks; the connection serves the next request', async () => {
    const body = `${PIECE.repeat(4)}0\r\n\r\n`;
    const bytes = `${STORE}Transfer-Encoding: chunked\r\n\r\n${body}${WHOAMI}`;
    const { text } = await talk(bytes, (got) => got.includes('"environment"'));
    expect(text.match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
  });

  test('the address is that which the trusted proxy names', async () => {
    await talk(`GET /v1/whoami HTTP/1.1\r\n${HEAD}X-Forwarded-For: 9.9.9.9, 203.0.113.7\r\n\r\n`, isAnswered);
    expect(parts.asked.at(-1)?.ctx?.ip).toBe('203.0.113.7');
  });

  test('a reply that fails half-way ends the connection and never the JSON', async () => {
    let pulls = 0;
    treeOf.stream = () =>
      new ReadableStream({
        pull: (controller) => {
          pulls += 1;
          if (pulls > 2) {
            throw new Error('canary-of-the-store');
          }
          controller.enqueue(new TextEncoder().encode('{"u1":['));
        },
      });
    const { text, isClosed } = await talk(`GET /v1/vault HTTP/1.1\r\n${HEAD}\r\n`);
    expect(isClosed).toBe(true);
    expect(text).not.toContain('\r\n0\r\n\r\n');
    expect(parts.lines.slice(-2)).toMatchObject([
      { event: 'unexpected_error', route: '/v1/vault', error: 'Error' },
      { event: 'reply_broken_off', route: '/v1/vault', code: 'internal' },
    ]);
    expect(JSON.stringify(parts.lines)).not.toContain('canary-of-the-store');
  });

  test('a client that goes away stops the work for it', async () => {
    const stopped = Promise.withResolvers<void>();
    treeOf.stream = () =>
      new ReadableStream({
        pull: async (controller) => {
          await Bun.sleep(1);
          controller.enqueue(new Uint8Array(65_536).fill(0x20));
        },
        cancel: () => stopped.resolve(),
      });
    await talk(`GET /v1/vault HTTP/1.1\r\n${HEAD}\r\n`, (text) => text.length > 1_000);
    await stopped.promise;
  });
});
