import { afterAll, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import type { StreamingRequest } from '../../server/outbound/call.ts';
import {
  type Answer,
  always,
  caPem,
  good,
  localOutbound,
  OK,
  postTo,
  startTarget,
  stopTargets,
} from './target.ts';

afterAll(stopTargets);

const MIB = 1_048_576;
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

function streamFrom(port: number, changes: Partial<StreamingRequest> = {}): StreamingRequest {
  return { ...postTo(port), ...changes, stream: true };
}

/** Sends a streaming request to a target that answers so, and gives the target and the reply. */
async function open(answer: Answer, changes: Partial<StreamingRequest> = {}) {
  const target = await startTarget(good, answer);
  const { send } = localOutbound({ caPem });
  const reply = await send(streamFrom(target.port, changes));
  if (!reply.ok) {
    throw new TypeError(reply.code);
  }
  const { body } = reply;
  if (body instanceof Uint8Array) {
    throw new TypeError('not streamed');
  }
  return { target, send, reply: { ...reply, body } };
}

async function readAll(body: ReadableStream<Uint8Array> | Uint8Array): Promise<string> {
  const pieces = body instanceof Uint8Array ? [body] : await Array.fromAsync(body);
  return Buffer.concat(pieces).toString('latin1');
}

/** Writes until the socket takes no more, again and again; counts what it has taken. */
function pour(head: string, bytesMax: number) {
  let bytes = 0;
  const answer: Answer = (socket) => {
    socket.write(head);
    const more = (): void => {
      while (bytes < bytesMax && !socket.destroyed) {
        bytes += 16_384;
        if (!socket.write(Buffer.alloc(16_384, 'a'))) {
          return;
        }
      }
    };
    socket.on('drain', more);
    more();
  };
  return { answer, bytes: () => bytes };
}

/** Waits until the target can write no more, or has written all. */
async function stalled(bytes: () => number): Promise<void> {
  for (let before = -1; before !== bytes(); ) {
    before = bytes();
    await Bun.sleep(50);
  }
}

describe('a bare request', () => {
  test('has its own headers in their order, and what HTTP needs', async () => {
    const target = await startTarget(good, always(OK));
    const headers: [string, string][] = [
      ['x-B', '1'],
      ['X-a', '2'],
      ['x-b', '3'],
      ['ACCEPT', '*/*'],
    ];
    const { send } = localOutbound({ caPem });
    expect(await send(postTo(target.port, { headers, bare: true }))).toMatchObject({ ok: true });
    const lines = [
      'POST /pay?x=1 HTTP/1.1',
      `Host: target.example:${target.port}`,
      ...headers.map(([name, value]) => `${name}: ${value}`),
      'Content-Length: 16',
      'Connection: keep-alive',
    ];
    expect(target.received()).toBe(`${lines.join('\r\n')}\r\n\r\n4111111111111111`);
  });
});

describe('a streamed reply', () => {
  test('comes at its head, its body as it is sent', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { reply } = await open((socket) => {
      socket.write(`${CHUNKED.replace('200', '203')}2\r\nab\r\n`);
      void asked.then(() => socket.write('2\r\ncd\r\n0\r\n\r\n'));
    });
    expect(reply).toMatchObject({ status: 203, headers: [['Transfer-Encoding', 'chunked']] });
    const reader = reply.body.getReader();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('ab');
    ask();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('cd');
    expect((await reader.read()).done).toBe(true);
  });

  test('is not decoded', async () => {
    const packed = gzipSync('packed');
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
    const { reply } = await open(always(Buffer.concat([Buffer.from(head), packed])));
    expect(await readAll(reply.body)).toBe(packed.toString('latin1'));
  });

  test('in a content coding is read whole and decoded for who asks for that', async () => {
    const target = await startTarget(good, (socket, request) => {
      const coding = /coding=(\S*)/.exec(request)?.[1] ?? '';
      const packed = coding === '' ? Buffer.from('packed') : gzipSync('packed');
      const head = coding === '' ? '' : `Content-Encoding: ${coding}\r\n`;
      socket.write(`HTTP/1.1 200 OK\r\n${head}Content-Length: ${packed.length}\r\n\r\n`);
      socket.write(packed);
    });
    const { send } = localOutbound({ caPem });
    const ask = async (coding: string) => {
      const url = `https://target.example:${target.port}/?coding=${coding}`;
      const reply = await send(streamFrom(target.port, { url, decodes: true }));
      return reply.ok
        ? [reply.body.constructor.name, reply.headers.length, await readAll(reply.body)]
        : reply;
    };
    expect(await ask('')).toEqual(['ReadableStream', 1, 'packed']);
    expect(await ask('gzip')).toEqual(['Buffer', 1, 'packed']);
    expect(await ask('x-own')).toEqual(['Buffer', 2, gzipSync('packed').toString('latin1')]);
  });

  test.each([
    ['of nothing', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['up to the end of the connection', 'HTTP/1.1 200 OK\r\n\r\nall of it', 'all of it'],
  ])('may be %s', async (_name, raw, body) => {
    const { reply } = await open((socket) => socket.end(raw));
    expect(await readAll(reply.body)).toBe(body);
  });

  test('leaves its connection for the next request when it has come in whole', async () => {
    const { target, send, reply } = await open(always(OK));
    expect(await readAll(reply.body)).toBe('ok');
    const next = await send(streamFrom(target.port));
    expect(next.ok && (await readAll(next.body))).toBe('ok');
    expect(await send(postTo(target.port))).toMatchObject({ ok: true, body: Buffer.from('ok') });
    expect(target.connections()).toBe(1);
  });

  test('of 1 MiB is whole, however late it is read', async () => {
    const { answer, bytes } = pour(`HTTP/1.1 200 OK\r\nContent-Length: ${MIB}\r\n\r\n`, MIB);
    const { reply } = await open(answer);
    await stalled(bytes);
    expect(await readAll(reply.body)).toBe('a'.repeat(MIB));
  });

  test('that nobody takes is not read on', async () => {
    const { answer, bytes } = pour(`HTTP/1.1 200 OK\r\nContent-Length: ${16 * MIB}\r\n\r\n`, 16 * MIB);
    const target = await startTarget(good, answer);
    const { send } = localOutbound({ caPem, limits: { replyBodyBytes: 64 * MIB } });
    const reply = await send(streamFrom(target.port, { deadlineMs: 50_000 }));
    await stalled(bytes);
    // The rest is in buffers of the system, which take some megabytes.
    expect(bytes()).toBeLessThan(12 * MIB);
    expect(reply.ok && (await readAll(reply.body)).length).toBe(16 * MIB);
  });

  test('that is cancelled ends its connection', async () => {
    const { target, reply } = await open((socket) => socket.write(`${CHUNKED}2\r\nab\r\n`));
    await reply.body.cancel();
    await target.quiet();
    expect(target.connections()).toBe(1);
  });
});

describe('the body of a streamed reply fails', () => {
  test.each<[string, string, Answer]>([
    ['when it is cut short', 'outcome_unknown', (socket) => socket.end(`${CHUNKED}5\r\nok`)],
    ['when its framing is broken', 'outcome_unknown', always(`${CHUNKED}2\r\nok\r\nno length\r\n`)],
    ['at its limit', 'reply_too_large', pour('HTTP/1.1 200 OK\r\n\r\n', 4 * MIB).answer],
    ['at the limit of its pieces', 'reply_too_large', always(`${CHUNKED}${'1\r\na\r\n'.repeat(70_000)}`)],
    ['at the deadline', 'target_timeout', always(`${CHUNKED}2\r\nok\r\n`)],
  ])('%s, and its connection ends', async (_name, code, answer) => {
    const { target, reply } = await open(answer, { deadlineMs: 1_500 });
    const error = await readAll(reply.body).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'VaultError', code });
    await target.quiet();
  });

  test('at the deadline, also where nobody reads it', async () => {
    const { target } = await open(always(`${CHUNKED}2\r\nok\r\n`), { deadlineMs: 500 });
    await target.quiet();
    expect(target.connections()).toBe(1);
  });
});

test.each<[string, Answer]>([
  ['none', (socket) => socket.destroy()],
  ['one with a status that is none', always(OK.replace('200', '600'))],
])('a stream fails before its head when there is %s', async (_name, answer) => {
  const target = await startTarget(good, answer);
  const { send } = localOutbound({ caPem });
  expect(await send(streamFrom(target.port))).toEqual({
    ...{ ok: false, code: 'target_unreachable', sent: true, reason: 'broken_off' },
  });
});
