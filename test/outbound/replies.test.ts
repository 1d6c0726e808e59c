import { afterAll, describe, expect, test } from 'bun:test';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import type { OutboundFailure, OutboundResult } from '../../server/outbound/call.ts';
import {
  type Answer,
  always,
  caPem,
  good,
  localOutbound,
  OK,
  postTo,
  startListener,
  startTarget,
  stopTargets,
} from './target.ts';

afterAll(stopTargets);

const outbound = localOutbound({ caPem });
const MIB = 1_048_576;

/** Sends one request to a target that answers so, waits until the connection is gone, and gives both ends. */
async function talk(answer: Answer, changes: Parameters<typeof postTo>[1] = {}, sender = outbound) {
  const target = await startTarget(good, answer);
  const startedAt = performance.now();
  const outcome = await sender.send(postTo(target.port, changes));
  const ms = performance.now() - startedAt;
  await target.end();
  return { outcome, target, ms };
}

function withBody(body: Uint8Array, ...headers: string[]): Uint8Array {
  const head = ['HTTP/1.1 200 OK', `Content-Length: ${body.length}`, ...headers].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
}

function bodyOf(outcome: OutboundResult): string {
  return outcome.ok ? Buffer.from(outcome.body).toString() : outcome.code;
}

const BROKEN_OFF = {
  ok: false,
  code: 'target_unreachable',
  sent: true,
  reason: 'broken_off',
} as const;

describe('what the target gets', () => {
  test('is the request, our own headers around it, and nothing else', async () => {
    const headers: [string, string][] = [
      ['Content-Type', 'text/plain'],
      ['X-A', '1'],
      ['x-a', '2'],
      ['X-Name', 'José'],
      ['__proto__', 'a'],
    ];
    const { target } = await talk(always(OK), { headers });
    const lines = [
      'POST /pay?x=1 HTTP/1.1',
      `Host: target.example:${target.port}`,
      ...headers.map(([name, value]) => `${name}: ${value}`),
      'User-Agent: cardvault',
      'Accept-Encoding: identity',
      'Content-Length: 16',
      'Connection: keep-alive',
    ];
    expect(target.received()).toBe(`${lines.join('\r\n')}\r\n\r\n4111111111111111`);
  });
  test("keeps the caller's own User-Agent and Accept-Encoding", async () => {
    const headers: [string, string][] = [
      ['user-agent', 'shop/2'],
      ['ACCEPT-ENCODING', 'gzip'],
    ];
    const { target } = await talk(always(OK), { headers });
    expect(target.received().match(/^(?:user-agent|accept-encoding): .*$/gim)).toEqual([
      'user-agent: shop/2',
      'ACCEPT-ENCODING: gzip',
    ]);
  });
  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'PUT', 'PATCH'] as const)(
    '%s without a body',
    async (method) => {
      const { target, outcome } = await talk(always('HTTP/1.1 204 No Content\r\n\r\n'), {
        method,
        body: undefined,
      });
      expect(outcome).toMatchObject({ ok: true, status: 204 });
      expect(target.received()).toStartWith(`${method} /pay?x=1 HTTP/1.1\r\n`);
      expect(target.received()).not.toContain('chunked');
      expect(target.received().includes('Content-Length: 0')).toBe(method.startsWith('P'));
    },
  );
  test.each(['GET', 'DELETE', 'PUT'] as const)('%s with a body', async (method) => {
    const { target } = await talk(always(OK), { method });
    expect(target.received()).toContain('Content-Length: 16\r\n');
    expect(target.received()).toEndWith('\r\n\r\n4111111111111111');
  });
  test('a header that is refused stops everything', async () => {
    const target = await startTarget(good, always(OK));
    const call = postTo(target.port, { headers: [['X-A', 'a\r\nHost: b']] });
    expect(await outbound.send(call).catch((error: unknown) => error)).toMatchObject({
      code: 'invalid_request',
      field: 'headers[0]',
    });
    expect(target.connections()).toBe(0);
  });
});

describe('replies come as they are', () => {
  test('with their headers in order and as spelt', async () => {
    const raw =
      'HTTP/1.1 418 Teapot\r\nX-B: 1\r\nx-a: 2\r\nSet-Cookie: a=b\r\nX-B: 3\r\n__proto__: c\r\nContent-Length: 2\r\n\r\nhi';
    const { outcome } = await talk(always(raw));
    expect(outcome).toEqual({
      ok: true,
      status: 418,
      headers: [
        ['X-B', '1'],
        ['x-a', '2'],
        ['Set-Cookie', 'a=b'],
        ['X-B', '3'],
        ['__proto__', 'c'],
        ['Content-Length', '2'],
      ],
      body: Buffer.from('hi'),
    });
  });
  test.each([301, 302, 303, 307, 308])('a redirect with %d is not followed', async (status) => {
    const next = await startListener();
    for (const to of [`https://127.0.0.1:${next.port}/`, `http://localhost:${next.port}/`, '/again']) {
      const extra = `Refresh: 0;url=${to}\r\nAlt-Svc: h2=":${next.port}"\r\nLink: <${to}>; rel=preload`;
      const raw = `HTTP/1.1 ${status} X\r\nLocation: ${to}\r\n${extra}\r\nContent-Length: 0\r\n\r\n`;
      const { outcome, target } = await talk(always(raw));
      expect(outcome).toMatchObject({ ok: true, status, body: Buffer.alloc(0) });
      expect(outcome.ok && outcome.headers[0]).toEqual(['Location', to]);
      expect(target.connections()).toBe(1);
    }
    expect(next.connections()).toBe(0);
  });
  test.each([
    ['gzip', gzipSync('packed')],
    ['X-GZIP', gzipSync('packed')],
    ['deflate', deflateSync('packed')],
    ['br', brotliCompressSync('packed')],
    ['identity', Buffer.from('packed')],
    ['some-other', Buffer.from('packed')],
  ])('unpacked from %s', async (coding, packed) => {
    const { outcome } = await talk(always(withBody(packed, `Content-Encoding: ${coding}`)));
    expect(bodyOf(outcome)).toBe('packed');
  });
  test('a HEAD has no body, whatever its headers say', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99999999\r\n\r\n';
    const { outcome } = await talk(always(head), { method: 'HEAD', body: undefined });
    expect(outcome).toMatchObject({ ok: true, status: 200, body: Buffer.alloc(0) });
  });
});

/** Writes again and again as fast as the other end reads, until it is gone. */
function flood(start: string, again: string): Answer {
  return (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(again)) {
        // until the buffer is full
      }
    };
    socket.on('drain', more);
    socket.write(start);
    more();
  };
}

const zeros = Buffer.alloc(64 * MIB);
const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const lump = 'a'.repeat(65_536);

describe('a reply of more than 1 MiB is too large', () => {
  const tooLarge: OutboundFailure = { ok: false, code: 'reply_too_large', sent: true };
  test.each<[string, Answer]>([
    ['by one byte', always(withBody(Buffer.alloc(MIB + 1)))],
    ['without an end, in chunks', flood(CHUNKED, `10000\r\n${lump}\r\n`)],
    ['without an end, up to the end of the connection', flood('HTTP/1.1 200 OK\r\n\r\n', lump)],
    ['unpacked from gzip', always(withBody(gzipSync(zeros), 'Content-Encoding: gzip'))],
    ['unpacked from deflate', always(withBody(deflateSync(zeros), 'Content-Encoding: deflate'))],
    ['unpacked from br', always(withBody(brotliCompressSync(zeros, fast), 'Content-Encoding: br'))],
  ])('%s', async (_name, answer) => {
    const before = process.memoryUsage.rss();
    expect((await talk(answer)).outcome).toEqual(tooLarge);
    expect(process.memoryUsage.rss() - before).toBeLessThan(32 * MIB);
  });
  test('1 MiB to the byte is not', async () => {
    expect((await talk(always(withBody(Buffer.alloc(MIB))))).outcome).toMatchObject({ ok: true });
    const packed = withBody(gzipSync(zeros.subarray(0, MIB)), 'Content-Encoding: gzip');
    expect((await talk(always(packed))).outcome).toMatchObject({ ok: true });
  });
});

describe('headers of a reply end at 64 KB', () => {
  const headers = (count: number): string =>
    `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(993)}\r\n`.repeat(count)}Content-Length: 2\r\n\r\nok`;
  test('60 KB pass', async () => {
    const { outcome } = await talk(always(headers(60)));
    expect(outcome.ok && outcome.headers).toHaveLength(61);
  });
  test.each<[string, Answer]>([
    ['70 KB', always(headers(70))],
    ['without an end', flood('HTTP/1.1 200 OK\r\n', `X-A: ${lump.slice(0, 8192)}\r\n`)],
    ['a status line without an end', flood('HTTP/1.1 200 ', lump)],
  ])('%s do not', async (_name, answer) => {
    expect((await talk(answer)).outcome).toEqual(BROKEN_OFF);
  });
});

describe('a broken reply leaves the outcome unknown', () => {
  test.each<[string, Answer]>([
    ['none at all', (socket) => socket.destroy()],
    ['an end at once', (socket) => socket.end()],
    ['no HTTP', always('SSH-2.0-OpenSSH\r\n\r\n')],
    ['cut short', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok')],
    ['cut in its chunks', (socket) => socket.end(`${CHUNKED}5\r\nok`)],
    [
      'reset where only the end of the connection would be its end',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\nok');
        setTimeout(() => socket.resetAndDestroy(), 50);
      },
    ],
    ...['099', '600'].map((status): [string, Answer] => [
      `with the status ${status}`,
      always(OK.replace('200', status)),
    ]),
    ['that is no gzip', always(withBody(Buffer.from('packed'), 'Content-Encoding: gzip'))],
    ['half a gzip', always(withBody(gzipSync('packed').subarray(0, 15), 'Content-Encoding: gzip'))],
  ])('%s', async (_name, answer) => {
    expect((await talk(answer)).outcome).toEqual(BROKEN_OFF);
  });
});

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';

describe('what only comes to keep us busy ends at once', () => {
  const tooLarge: OutboundFailure = { ok: false, code: 'reply_too_large', sent: true };
  test.each<[string, Answer, OutboundFailure]>([
    ['Continue for ever', flood('', CONTINUE.repeat(1000)), BROKEN_OFF],
    ['early hints for ever', flood('', HINTS.repeat(1000)), BROKEN_OFF],
    ['nine early hints', always(HINTS.repeat(9)), BROKEN_OFF],
    ['chunks of extensions', flood(CHUNKED, `1;${lump.slice(0, 4000)}\r\na\r\n`), tooLarge],
    ['the length of a chunk', flood(CHUNKED, '0'.repeat(65_536)), tooLarge],
    ['chunks of a byte', flood(CHUNKED, '1\r\na\r\n'.repeat(10_000)), tooLarge],
  ])('%s', async (_name, answer, failed) => {
    const before = process.memoryUsage.rss();
    const { outcome, ms } = await talk(answer);
    expect(outcome).toEqual(failed);
    expect(ms).toBeLessThan(20_000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(48 * MIB);
  });
  test('eight early hints pass', async () => {
    expect(bodyOf((await talk(always(HINTS.repeat(8) + OK))).outcome)).toBe('ok');
  });
  test('60 KB in chunks of a byte, and 1 MiB in chunks of 32, pass', async () => {
    const bytes = `${CHUNKED}${'1\r\na\r\n'.repeat(60_000)}0\r\n\r\n`;
    expect(bodyOf((await talk(always(bytes))).outcome)).toBe('a'.repeat(60_000));
    const pieces = `${CHUNKED}${`20\r\n${'ab'.repeat(16)}\r\n`.repeat(32_768)}0\r\n\r\n`;
    expect(bodyOf((await talk(always(pieces))).outcome)).toBe('ab'.repeat(MIB / 2));
  });
});

describe('time runs out', () => {
  const timeout = (sent: boolean): OutboundFailure => ({ ok: false, code: 'target_timeout', sent });
  const dribble =
    (start: string, drop: string): Answer =>
    (socket) => {
      socket.write(start);
      const timer = setInterval(() => socket.write(drop), 20);
      socket.on('close', () => clearInterval(timer));
    };
  test.each<[string, Answer]>([
    ['silence', () => undefined],
    ['a body drop by drop', dribble('HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n', 'a')],
    ['headers drop by drop', dribble('HTTP/1.1 200 OK\r\nX-A: ', 'a')],
  ])('%s, after the request', async (_name, answer) => {
    const { outcome, ms } = await talk(answer, { deadlineMs: 300 });
    expect(outcome).toEqual(timeout(true));
    expect(ms).toBeWithin(290, 20_000);
  });
  test('a handshake that does not come, before the request, with the connection closed', async () => {
    const closed = Promise.withResolvers<void>();
    const mute = await startListener((socket) => socket.on('close', () => closed.resolve()).resume());
    const impatient = localOutbound({ caPem, limits: { connectMs: 200 } });
    const startedAt = performance.now();
    expect(await impatient.send(postTo(mute.port))).toEqual(timeout(false));
    expect(performance.now() - startedAt).toBeWithin(190, 9_000);
    await closed.promise;
    expect(await outbound.send(postTo(mute.port, { deadlineMs: 100 }))).toEqual(timeout(false));
  });
  test('a name that nobody answers for', async () => {
    const never = () => new Promise<readonly string[]>(() => undefined);
    const slow = localOutbound({ caPem, resolve: never, limits: { dnsMs: 50 } });
    expect(await slow.send(postTo(443))).toEqual(timeout(false));
    expect(await localOutbound({ caPem, resolve: never }).send(postTo(443, { deadlineMs: 50 }))).toEqual(
      timeout(false),
    );
  });
  test('the limit of the connection does not end a slow reply', async () => {
    const target = await startTarget(good, (socket) => setTimeout(() => socket.write(OK), 400));
    const sender = localOutbound({ caPem, limits: { connectMs: 250 } });
    expect(await sender.send(postTo(target.port))).toMatchObject({ ok: true });
  });
});
