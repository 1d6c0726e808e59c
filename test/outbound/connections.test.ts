import { afterAll, describe, expect, test } from 'bun:test';
import { ConnectionPool } from '../../server/outbound/connections.ts';
import { asClientCert } from './certificates.ts';
import {
  type Answer,
  always,
  authority,
  caPem,
  good,
  localOutbound,
  OK,
  postTo,
  startTarget,
  stopTargets,
} from './target.ts';

afterAll(stopTargets);

/** One answer after the other, over all connections. */
function inTurns(...answers: Answer[]): Answer {
  let at = 0;
  return (socket, text) => {
    answers[Math.min(at, answers.length - 1)]?.(socket, text);
    at += 1;
  };
}

describe('a connection is used again', () => {
  test('by the next request of its owner, not by one at the same time', async () => {
    const target = await startTarget(good, always(OK));
    const { send } = localOutbound({ caPem });
    for (let i = 0; i < 5; i += 1) {
      expect(await send(postTo(target.port))).toMatchObject({ ok: true });
    }
    expect(target.connections()).toBe(1);
    await Promise.all([send(postTo(target.port)), send(postTo(target.port))]);
    expect(target.connections()).toBe(2);
  });

  test('for a second; then it is closed', async () => {
    const target = await startTarget(good, always(OK));
    const { send } = localOutbound({ caPem });
    await send(postTo(target.port));
    const from = performance.now();
    await target.quiet();
    expect(performance.now() - from).toBeWithin(500, 3_000);
    expect(await send(postTo(target.port))).toMatchObject({ ok: true });
    expect(target.connections()).toBe(2);
  });

  test('but for those beyond the 64 that wait for one name', async () => {
    const waiting: (() => void)[] = [];
    // All requests are on their way before the first is answered.
    const target = await startTarget(good, (socket) => {
      waiting.push(() => socket.write(OK));
      if (waiting.length === 70) {
        waiting.splice(0).forEach((answer) => void answer());
      }
    });
    const { send } = localOutbound({ caPem });
    for (const connections of [70, 76]) {
      const replies = await Promise.all(Array.from({ length: 70 }, () => send(postTo(target.port))));
      expect(replies.filter(({ ok }) => ok)).toHaveLength(70);
      expect(target.connections()).toBe(connections);
    }
  });

  test('and each request is limited as if it was the first', async () => {
    const body = 'x'.repeat(900);
    const target = await startTarget(
      good,
      always(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    const limits = { replyBodyBytes: 1_000, replyHeaderBytes: 500 };
    const { send } = localOutbound({ caPem, limits });
    for (let i = 0; i < 10; i += 1) {
      expect(await send(postTo(target.port))).toMatchObject({ ok: true });
    }
    expect(target.connections()).toBe(1);
  });
});

describe('a connection is not used again', () => {
  test('by another owner, nor for another host', async () => {
    const names = [
      { type: 'dns', value: 'target.example' },
      { type: 'dns', value: 'other.example' },
    ] as const;
    const target = await startTarget(await authority.issue({ names }), always(OK));
    const { send } = localOutbound({ caPem });
    await send(postTo(target.port));
    await send(postTo(target.port, { owner: 'somebody else' }));
    await send(postTo(target.port, { url: `https://other.example:${target.port}/` }));
    expect(target.connections()).toBe(3);
  });

  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS'] as const)(
    'with or after a body of %s, which some targets leave unread',
    async (method) => {
      const target = await startTarget(good, always('HTTP/1.1 204 No Content\r\n\r\n'));
      const { send } = localOutbound({ caPem });
      await send(postTo(target.port, { method, body: undefined }));
      await send(postTo(target.port, { method, body: Buffer.alloc(0) }));
      expect(target.connections()).toBe(1);
      await send(postTo(target.port, { method }));
      expect(target.connections()).toBe(2);
      expect(target.received()).toEndWith('Connection: close\r\n\r\n4111111111111111');
      await send(postTo(target.port, { method }));
      expect(target.connections()).toBe(3);
    },
  );

  test('with or after a client certificate', async () => {
    const ask = { requestCert: true, ca: caPem, rejectUnauthorized: false };
    const target = await startTarget(good, always(OK), ask);
    const { send } = localOutbound({ caPem });
    const clientCert = asClientCert(await authority.issue({ use: 'clientAuth' }));
    await send(postTo(target.port));
    await send(postTo(target.port, { clientCert }));
    await send(postTo(target.port, { clientCert }));
    expect(target.connections()).toBe(3);
  });

  test('when the name stands for other addresses, or for refused ones', async () => {
    const target = await startTarget(good, always(OK));
    let answer = ['127.0.0.1'];
    const { send } = localOutbound({ caPem, resolve: async () => answer });
    await send(postTo(target.port));
    answer = ['127.0.0.1', '127.0.0.2'];
    await send(postTo(target.port));
    expect(target.connections()).toBe(2);
    answer = ['127.0.0.2', '127.0.0.1'];
    await send(postTo(target.port));
    expect(target.connections()).toBe(2);
    answer = ['127.0.0.1', '10.0.0.1'];
    expect(await send(postTo(target.port))).toMatchObject({ code: 'destination_refused', sent: false });
    answer = ['127.0.0.2'];
    expect(await send(postTo(target.port))).toMatchObject({ code: 'target_unreachable', sent: false });
  });

  test.each<[string, Answer]>([
    ['the target closes', always('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')],
    ['has no end of its reply but its own', (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nok')],
    ['brought more than its reply', always(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`)],
    [
      'ends while it waits',
      (socket) => {
        socket.write(OK);
        setTimeout(() => socket.end(), 20);
      },
    ],
    [
      'brings bytes that nobody has asked for',
      (socket) => {
        socket.write(OK);
        setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged'), 20);
      },
    ],
  ])('that %s', async (_name, answer) => {
    const target = await startTarget(good, inTurns(answer, always(OK)));
    const { send } = localOutbound({ caPem });
    await send(postTo(target.port));
    await target.quiet();
    expect(await send(postTo(target.port))).toMatchObject({ ok: true, body: Buffer.from('ok') });
    expect(target.connections()).toBe(2);
  });
});

test('a handshake that is told of again sends nothing again', async () => {
  const target = await startTarget(good, always(OK));
  const opened = Promise.withResolvers<void>();
  let times = 0;
  const { socket } = new ConnectionPool().acquire(
    undefined,
    () => ({ host: '127.0.0.1', port: target.port, rejectUnauthorized: false }),
    {
      onOpen: () => {
        times += 1;
        opened.resolve();
      },
      onData: () => undefined,
      onClosing: () => undefined,
      onLost: () => undefined,
    },
  );
  await opened.promise;
  // As the runtime does where a peer of TLS 1.2 negotiates anew.
  socket.emit('secureConnect');
  expect(times).toBe(1);
  socket.destroy();
});

test('a body after a reply to HEAD is not the next reply', async () => {
  const body = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';
  const inTwo: Answer = (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
    setTimeout(() => socket.write(body), 20);
  };
  const late: Answer = (socket) => setTimeout(() => socket.write(OK), 60);
  const target = await startTarget(good, inTurns(inTwo, late));
  const { send } = localOutbound({ caPem });
  await send(postTo(target.port, { method: 'HEAD', body: undefined }));
  expect(await send(postTo(target.port))).toMatchObject({ ok: true, body: Buffer.from('ok') });
});

describe('a connection that was used before', () => {
  test('and breaks under a request may have brought it to the target', async () => {
    const target = await startTarget(
      good,
      inTurns(always(OK), (socket) => socket.destroy()),
    );
    const { send } = localOutbound({ caPem });
    await send(postTo(target.port));
    const failure = { ok: false, code: 'target_unreachable', sent: true, reason: 'broken_off' };
    expect(await send(postTo(target.port))).toMatchObject(failure);
    expect(target.connections()).toBe(1);
  });

  test('serves the next request while a reply that cannot be decoded is given up', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4000\r\n\r\n';
    const slow: Answer = (socket) => setTimeout(() => socket.write(OK), 100);
    const target = await startTarget(good, inTurns(always(head + 'x'.repeat(4_000)), slow));
    const { send } = localOutbound({ caPem });
    const bad = send(postTo(target.port));
    await Bun.sleep(50);
    const next = send(postTo(target.port));
    expect(await bad).toMatchObject({ ok: false, code: 'target_unreachable' });
    expect(await next).toMatchObject({ ok: true });
  });
});
