import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { createApp } from '../../server/boot/app.ts';
import { VaultError } from '../../server/core/errors.ts';
import { BodyHold } from '../../server/http/body-hold.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { Limiter } from '../../server/limits/limiter.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { createStubParts, type StubParts } from './stub-parts.ts';
import { type Talk, talkTo } from './talk.ts';

const MB = 1_048_576;

function createHolds() {
  const limiter = new Limiter({ threads: 1, unlocks: 1, guesses: 1 }, () => 0);
  return (...[owner, length, kind]: [owner: string, length: number, kind?: 'account']) =>
    new BodyHold(limiter, owner, length, kind);
}

const OVERLOADED = expect.objectContaining({ code: 'overloaded' });

describe('bodies', () => {
  test('have half of the memory for each source, and give back what is released', () => {
    const hold = createHolds();
    const holdMany = (source: string, times: number) => Array.from({ length: times }, () => hold(source, MB));
    const first = holdMany('a', 8);
    expect(() => hold('a', MB)).toThrow(OVERLOADED);
    holdMany('b', 8);
    expect(() => hold('c', MB)).toThrow(OVERLOADED);
    for (const held of first) {
      held.release();
      held.release();
    }
    holdMany('c', 8);
    expect(() => hold('c', MB)).toThrow(OVERLOADED);
  });

  test('that are short have room when the long ones have none', () => {
    const hold = createHolds();
    for (const source of ['a', 'b']) {
      for (let n = 0; n < 8; n++) {
        hold(source, MB);
      }
    }
    expect(hold('a', 65_536).units).toBe(65_536);
    expect(() => hold('a', 65_537)).toThrow(OVERLOADED);
  });

  test('whose length was not declared hold more as they come, and give back what they held', () => {
    const hold = createHolds();
    const held = hold('a', 0);
    held.grow(8_193);
    expect(held.units).toBe(16_384);
    held.grow(70_000);
    expect(held.units).toBe(70_000);
    for (let n = 0; n < 1_024; n++) {
      hold('a', 1);
    }
    while (held.units <= 2 * MB) {
      held.grow(held.units + 1);
    }
    expect(() => held.grow(7 * MB)).toThrow(OVERLOADED);
    held.release();
    hold('a', 8 * MB);
  });

  test('that are empty count, so that a source has only so many requests', () => {
    const hold = createHolds();
    for (let n = 0; n < 1_024; n++) {
      hold('a', 1);
    }
    expect(() => hold('a', 1)).toThrow(OVERLOADED);
    hold('b', 1);
  });
});

describe('slow bodies that have filled the memory', () => {
  const fill = (hold: ReturnType<typeof createHolds>, owners: readonly string[], each: number) => {
    const cut: string[] = [];
    for (const owner of owners) {
      for (let n = 0; n < each; n++) {
        hold(owner, 1).wait(() => cut.push(`${owner}${n}`));
      }
    }
    return cut;
  };

  test('make room for others: the oldest body of the source that holds most is cut off', () => {
    const hold = createHolds();
    const cut = fill(hold, ['a', 'b'], 1_024);
    for (let n = 0; n < 100; n++) {
      hold('c', 1);
    }
    expect(cut).toHaveLength(100);
    expect(cut.slice(0, 3)).toEqual(['a0', 'b0', 'a1']);
  });

  test('make none for a source that would hold as much as those that hold most', () => {
    const hold = createHolds();
    const cut = fill(hold, ['a', 'b', 'c', 'd'], 512);
    fill(hold, ['e'], 409);
    expect(cut).toHaveLength(409);
    expect(() => hold('e', 1)).toThrow(OVERLOADED);
  });

  test('hold nothing more when they were cut off, and give it back once', () => {
    const hold = createHolds();
    const held = hold('a', 4 * MB);
    held.wait(() => undefined);
    hold('a', 4 * MB).wait(() => undefined);
    hold('b', 8 * MB);
    hold('c', 4 * MB);
    expect(() => held.grow(8 * MB)).toThrow(OVERLOADED);
    held.release();
    held.release();
    expect(() => hold('c', 4 * MB)).toThrow(OVERLOADED);
  });

  test('are not cut off when they have come', () => {
    const hold = createHolds();
    const all = Array.from({ length: 16 }, (_, n) => hold(n % 2 === 0 ? 'a' : 'b', MB));
    for (const held of all) {
      held.wait(() => undefined);
      held.arrived();
    }
    expect(() => hold('c', MB)).toThrow(OVERLOADED);
  });

  test('leave accounts their own memory', () => {
    const hold = createHolds();
    fill(hold, ['a', 'b'], 1_024);
    for (let n = 0; n < 64; n++) {
      hold('a', MB, 'account');
    }
    expect(() => hold('a', MB, 'account')).toThrow(OVERLOADED);
    hold('b', 64 * MB, 'account');
  });
});

describe('slow bodies', () => {
  const parts = createStubParts();
  const http = { ...parts.http, trustedProxies: ['127.0.0.1/32'] };
  let server: ReturnType<typeof listen>;
  let port: number | undefined;
  beforeAll(() => {
    const options = { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 };
    server = listen(createApp({ ...parts, http }), options);
    ({ port } = server);
  });
  afterAll(() => server.stop(true));

  const request = (from: string, body: string, length = body.length) =>
    `POST /v1/capture/${ENDPOINT.id} HTTP/1.1\r\nHost: vault.test\r\nX-Forwarded-For: ${from}\r\n` +
    `X-Vault-Capture-Secret: ${ENDPOINT.secret}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${body}`;

  test.each([
    ['two addresses', (n: number) => `198.51.100.${n % 2}`],
    ['one network of a thousand sources', (n: number) => `2001:db8:0:${(n % 1_000).toString(16)}::1`],
  ])('of %s leave room to another one', async (_, from) => {
    const slow: net.Socket[] = [];
    let ended = 0;
    const full = Promise.withResolvers<void>();
    for (let n = 0; n < 2_100; n++) {
      const socket = net.connect(port ?? 0, '127.0.0.1', () => socket.write(request(from(n), '{', 100)));
      socket.on('data', () => {
        ended += 1;
        if (ended > 20) {
          full.resolve();
        }
      });
      socket.on('error', () => undefined);
      slow.push(socket);
    }
    await full.promise;
    const { text } = await talkTo(port, request('192.0.2.1', '{"card_number":"4111111111111111"}'));
    expect(text).toStartWith('HTTP/1.1 200 ');
    for (const socket of slow) {
      socket.destroy();
    }
  });
});

describe('wrong credentials', () => {
  let parts: StubParts;
  let server: ReturnType<typeof listen>;
  let signIns = 0;
  const verdict = Promise.withResolvers<never>();
  verdict.promise.catch(() => undefined);

  beforeAll(() => {
    const stubs = createStubParts();
    const signIn: StubParts['signIns']['signIn'] = () => {
      signIns += 1;
      return verdict.promise;
    };
    parts = { ...stubs, signIns: Object.assign(stubs.signIns, { signIn }) };
    server = listen(createApp(parts), { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  });
  afterAll(() => server.stop(true));

  const HEAD = `Host: vault.test\r\nAuthorization: Basic ${btoa('shop:wrong')}\r\n`;
  const statusOf = ({ text }: Talk) => text.slice(9, 12);

  test('with long bodies hold a part of the memory while they are verified; the others are refused at once', async () => {
    const bytes = `POST /v1/retrieve/iframe HTTP/1.1\r\n${HEAD}Content-Length: ${MB}\r\n\r\n${' '.repeat(MB)}`;
    const before = process.memoryUsage.rss();
    const refused = Promise.withResolvers<void>();
    let left = 32;
    const talks = Array.from({ length: 40 }, async () => {
      const talk = await talkTo(server.port, bytes);
      left -= 1;
      if (left === 0) {
        refused.resolve();
      }
      return talk;
    });
    await refused.promise;
    expect(signIns).toBe(8);
    // The sender's copies are in this process too.
    expect(process.memoryUsage.rss() - before).toBeLessThan(40 * MB + 64 * MB);
    const health = await fetch(`http://127.0.0.1:${server.port}/health/live`);
    expect(health.status).toBe(200);
    verdict.reject(new VaultError('unauthenticated'));
    const done = await Promise.all(talks);
    expect(done.every(({ isClosed }) => isClosed)).toBe(true);
    const statuses = done.map(statusOf);
    expect(statuses.filter((status) => status === '503')).toHaveLength(32);
    expect(statuses.filter((status) => status === '401')).toHaveLength(8);
  });

  test('are verified before a long body has come', async () => {
    const { text, isClosed } = await talkTo(
      server.port,
      `POST /v1/retrieve/iframe HTTP/1.1\r\n${HEAD}Content-Length: 65537\r\n\r\n{`,
    );
    expect(text).toStartWith('HTTP/1.1 401 ');
    expect(text).toContain('Connection: close');
    expect(isClosed).toBe(true);
  });

  test('leave the memory as it was', () => {
    expect(Array.from({ length: 8 }, () => new BodyHold(parts.limiter, '127.0.0.1', MB))).toHaveLength(8);
  });
});
