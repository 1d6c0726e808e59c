/** Replies that are long: more of one is read only where there is room for it. */
import { afterAll, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import {
  type Answer,
  always,
  caPem,
  good,
  localOutbound,
  postTo,
  startTarget,
  stopTargets,
} from './target.ts';

afterAll(stopTargets);

const { send } = localOutbound({ caPem });

function withBody(body: Uint8Array, ...headers: string[]): Uint8Array {
  const head = ['HTTP/1.1 200 OK', ...headers, `Content-Length: ${body.length}`].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
}

/** Sends one request, and counts how often its reply asks for room, which `turn` gives. */
async function ask(answer: Answer, turn?: Promise<void>, deadlineMs = 5_000) {
  const target = await startTarget(good, answer);
  let times = 0;
  const room = (): Promise<void> | undefined => {
    times += 1;
    return turn;
  };
  return { result: send(postTo(target.port, { room, deadlineMs })), times: () => times };
}

const long = Buffer.alloc(900_000, 'x');
const chunked: Answer = (socket) => {
  socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  for (let at = 0; at < 90; at++) {
    socket.write(`2710\r\n${'x'.repeat(10_000)}\r\n`);
  }
  socket.write('0\r\n\r\n');
};

test.each<[string, Answer, number]>([
  ['a short one', always(withBody(Buffer.from('ok'))), 0],
  ['one of 64 KB', always(withBody(Buffer.alloc(65_536))), 0],
  ['a longer one', always(withBody(Buffer.alloc(65_537))), 1],
  ['one in chunks', chunked, 1],
  ['a short one that is packed', always(withBody(gzipSync(long), 'Content-Encoding: gzip')), 1],
])('%s asks for room: %#', async (_name, answer, wanted) => {
  const { result, times } = await ask(answer);
  expect((await result).ok).toBe(true);
  expect(times()).toBe(wanted);
});

test.each<[string, Answer]>([
  ['a length', always(withBody(long))],
  ['chunks', chunked],
])('one with %s comes whole when there is room, and not before', async (_name, answer) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { result, times } = await ask(answer, promise);
  expect(await Promise.race([result, Bun.sleep(300).then(() => 'waits')])).toBe('waits');
  expect(times()).toBe(1);
  resolve();
  expect(await result).toMatchObject({ ok: true, body: long });
});

test('one that finds no room within its time fails as one that did not come', async () => {
  const { result } = await ask(always(withBody(long)), new Promise(() => undefined), 300);
  expect(await result).toEqual({ ok: false, code: 'target_timeout', sent: true });
});
