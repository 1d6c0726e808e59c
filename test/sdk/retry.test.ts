import { describe, expect, test } from 'bun:test';
import type { ApiCall } from '../../sdk/transport/call.ts';
import { VaultApiError, VaultConnectionError, VaultTimeoutError } from '../../sdk/transport/errors.ts';
import { createTransport } from '../../sdk/transport/transport.ts';
import {
  type Answer,
  closedBaseUrl,
  closingAfterEach,
  createTestClock,
  failureOf,
  json,
  openPeer,
  openRawPeer,
  refusal,
} from './peer.ts';

const LIMIT_MS = 60_000;
const READ: ApiCall = { method: 'GET', path: ['vault'], repeat: 'always' };
const WRITE: ApiCall = { method: 'POST', path: ['vault'], repeat: 'keyed', body: '{}' };
const CHANGE: ApiCall = { method: 'PUT', path: ['key'], repeat: 'when_rejected', body: '{}' };

const keep = closingAfterEach();

function transportTo(baseUrl: string, retries?: number) {
  const time = createTestClock(LIMIT_MS);
  const options = { baseUrl, authorization: 'Basic c2hvcDpw', timeoutMs: LIMIT_MS, retries };
  return { ...time, transport: createTransport(options, time.clock) };
}

function setUp(answers: Answer[], retries?: number) {
  const peer = keep(openPeer(...answers));
  return { peer, ...transportTo(peer.baseUrl, retries) };
}

function setUpRaw(...scripts: Parameters<typeof openRawPeer>) {
  const peer = keep(openRawPeer(...scripts));
  return { peer, ...transportTo(peer.baseUrl) };
}

function keyOf(seen: { headers: Headers } | undefined): string | null | undefined {
  return seen?.headers.get('idempotency-key');
}

describe('an attempt that the service refused for now', () => {
  test.each([
    [429, 'too_many_failures'],
    [503, 'overloaded'],
    [503, 'store_unavailable'],
  ])('%d %s is repeated after Retry-After and a growing pause', async (status, code) => {
    const refused = refusal(status, code, { 'Retry-After': '2' });
    const { transport, pausesMs, peer } = setUp([refused, refused, json({ ok: 1 })]);
    expect((await transport.send(READ)).text).toBe('{"ok":1}');
    expect(peer.seen).toHaveLength(3);
    expect(pausesMs).toEqual([2125, 2250]);
  });

  test('is repeated without Retry-After too', async () => {
    const { transport, pausesMs } = setUp([refusal(503, 'overloaded'), json(1)]);
    await transport.send(READ);
    expect(pausesMs).toEqual([125]);
  });

  test('is repeated after a Retry-After that is a date', async () => {
    const from = Date.now();
    const date = new Date(from + 20_000).toUTCString();
    const { transport, pausesMs } = setUp([refusal(503, 'overloaded', { 'Retry-After': date }), json(1)]);
    await transport.send(READ);
    // The date is cut to the second; by when it is read, some of the time has passed.
    expect(pausesMs[0]).toBeWithin(19_125 - (Date.now() - from), 20_126);
  });

  test('is not repeated when the wait would outlast the limit', async () => {
    const { transport, pausesMs, peer } = setUp([
      refusal(429, 'too_many_failures', { 'Retry-After': '900' }),
    ]);
    const error = await failureOf(transport.send(READ));
    expect(error).toBeInstanceOf(VaultApiError);
    expect(error).toMatchObject({ status: 429, retryAfterSeconds: 900 });
    expect(peer.seen).toHaveLength(1);
    expect(pausesMs).toEqual([]);
  });

  test('is repeated for 15 s at least unless the client says otherwise, as long as a restart takes', async () => {
    const { transport, pausesMs, peer } = setUp(Array<Answer>(20).fill(refusal(503, 'overloaded')));
    expect(await failureOf(transport.send(READ))).toMatchObject({ status: 503, code: 'overloaded' });
    expect(peer.seen.length).toBe(pausesMs.length + 1);
    expect(pausesMs.reduce((sum, ms) => sum + ms, 0)).toBeWithin(15_000, 33_000);
  });

  test('is given up after the set number of repeats', async () => {
    const { transport, peer } = setUp(Array<Answer>(9).fill(refusal(503, 'overloaded')), 2);
    expect(await failureOf(transport.send(READ))).toMatchObject({ status: 503, code: 'overloaded' });
    expect(peer.seen).toHaveLength(3);
  });

  test('is never repeated with retries: 0, which then needs no idempotency key', async () => {
    const { transport, peer } = setUp([refusal(503, 'overloaded')], 0);
    expect(await failureOf(transport.send(WRITE))).toBeInstanceOf(VaultApiError);
    expect(peer.seen).toHaveLength(1);
    expect(keyOf(peer.seen[0])).toBeNull();
  });
});

describe('any other refusal', () => {
  test.each([400, 401, 403, 404, 405, 409, 410, 413, 500, 502, 504])('%d is final', async (status) => {
    const { transport, peer } = setUp([refusal(status, 'some_code')]);
    expect(await failureOf(transport.send(WRITE))).toMatchObject({ status, code: 'some_code' });
    expect(peer.seen).toHaveLength(1);
  });

  test('a redirect is not followed, so that no header goes astray', async () => {
    const { transport, peer } = setUp([
      () => new Response(null, { status: 307, headers: { Location: '/elsewhere' } }),
    ]);
    expect(await failureOf(transport.send(READ))).toMatchObject({ status: 307, code: 'unknown' });
    expect(peer.seen).toHaveLength(1);
  });
});

describe('a connection that fails', () => {
  test('is tried again, then reported without the URL', async () => {
    const { transport, pausesMs } = transportTo(closedBaseUrl());
    const query = { number: '4000000000000002' };
    const error = await failureOf(transport.send({ ...READ, query }));
    expect(error).toBeInstanceOf(VaultConnectionError);
    expect(pausesMs).toEqual([125, 250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]);
    expect(Bun.inspect(error)).not.toMatch(/4000000000000002|127\.0\.0\.1/);
  });

  test('before the reply leads to a repeat under the same idempotency key', async () => {
    const { transport, peer } = setUpRaw(
      (socket) => socket.terminate(),
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}'),
    );
    expect((await transport.send(WRITE)).text).toBe('{}');
    const [first, second] = peer.requests.map((text) => /^idempotency-key: (.*)$/im.exec(text)?.[1]);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
  });

  test('in the middle of the reply leads to a repeat too', async () => {
    const { transport, peer } = setUpRaw(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{"half":');
        socket.flush();
        socket.end();
      },
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}'),
    );
    expect((await transport.send(READ)).text).toBe('{}');
    expect(peer.requests).toHaveLength(2);
  });

  test('that is still at work there, from a client that died, is waited for', async () => {
    const { transport, peer } = setUp([
      refusal(409, 'idempotency_conflict', { 'Retry-After': '1' }),
      refusal(409, 'idempotency_conflict', { 'Retry-After': '1' }),
      json({ token: 't' }),
    ]);
    expect((await transport.send(WRITE)).text).toBe('{"token":"t"}');
    expect(new Set(peer.seen.map(keyOf)).size).toBe(1);
  });

  test('an idempotency conflict with another request is final', async () => {
    const { transport, peer } = setUp([refusal(409, 'idempotency_conflict')]);
    const options = { idempotencyKey: 'order-1' };
    expect(await failureOf(transport.send({ ...WRITE, options }))).toMatchObject({ status: 409 });
    expect(keyOf(peer.seen[0])).toBe('order-1');
  });
});

describe('a change that must not happen twice', () => {
  test('is repeated where the service did nothing', async () => {
    const { transport, peer } = setUp([
      refusal(503, 'overloaded'),
      refusal(429, 'too_many_failures'),
      json({ done: true }),
    ]);
    expect((await transport.send(CHANGE)).text).toBe('{"done":true}');
    expect(peer.seen.map(keyOf)).toEqual([null, null, null]);
  });

  test('is not repeated where it may have happened', async () => {
    const { transport, peer } = setUp([refusal(503, 'store_unavailable')]);
    expect(await failureOf(transport.send(CHANGE))).toMatchObject({ code: 'store_unavailable' });
    expect(peer.seen).toHaveLength(1);

    const raw = setUpRaw((socket) => socket.terminate());
    expect(await failureOf(raw.transport.send(CHANGE))).toBeInstanceOf(VaultConnectionError);
    expect(raw.peer.requests).toHaveLength(1);
  });
});

describe('time and cancellation', () => {
  test('a reply that does not come in time is a timeout, and is not repeated', async () => {
    const arrived = Promise.withResolvers<void>();
    const { transport, peer, elapse } = setUp([
      () => {
        arrived.resolve();
        return new Promise<Response>(() => {});
      },
    ]);
    const failure = failureOf(transport.send(READ));
    await arrived.promise;
    elapse();
    expect(await failure).toBeInstanceOf(VaultTimeoutError);
    expect(await failure).toMatchObject({ timeoutMs: LIMIT_MS });
    expect(peer.seen).toHaveLength(1);
  });

  test("an aborted signal's reason is what the call throws, at any time", async () => {
    const reason = new Error('The shopper left.');
    const { transport, peer } = setUp([]);
    const gone = { ...READ, options: { signal: AbortSignal.abort(reason) } };
    expect(await failureOf(transport.send(gone))).toBe(reason);
    expect(peer.seen).toHaveLength(0);

    const controller = new AbortController();
    const slow = setUp([
      () => {
        controller.abort(reason);
        return new Promise<Response>(() => {});
      },
    ]);
    const { signal } = controller;
    expect(await failureOf(slow.transport.send({ ...READ, options: { signal } }))).toBe(reason);
  });

  test('an abort ends the pause before a repeat', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const peer = keep(openPeer(refusal(503, 'overloaded', { 'Retry-After': '50' })));
    const clock = {
      ...createTestClock(LIMIT_MS).clock,
      after: (ms: number) => {
        if (ms !== LIMIT_MS) {
          queueMicrotask(() => controller.abort(reason));
        }
        return () => {};
      },
    };
    const options = { baseUrl: peer.baseUrl, authorization: 'Basic c2hvcDpw', timeoutMs: LIMIT_MS };
    const { signal } = controller;
    const call = createTransport(options, clock).send({ ...READ, options: { signal } });
    expect(await failureOf(call)).toBe(reason);
    expect(peer.seen).toHaveLength(1);
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses a limit of %d ms', async (timeoutMs) => {
    const { transport } = setUp([]);
    const call = { ...READ, options: { timeoutMs } };
    expect(await failureOf(transport.send(call))).toMatchObject({ name: 'VaultError' });
  });
});
