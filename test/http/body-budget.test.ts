import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { createApp } from '../../server/boot/app.ts';
import { VaultError } from '../../server/core/errors.ts';
import { type BodyBudget, createBodyBudget } from '../../server/http/body-budget.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { Admission } from '../../server/limits/admission.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { createStubParts, type StubParts } from './stub-parts.ts';
import { type Talk, talkTo } from './talk.ts';

const MB = 1_048_576;

describe('a budget', () => {
  test('has half for each source, and gives back what is released', () => {
    const { hold, release } = createBodyBudget();
    const take = (source: string, times: number) => Array.from({ length: times }, () => hold(source, MB));
    const first = take('a', 8);
    expect(() => hold('a', MB)).toThrow(expect.objectContaining({ code: 'overloaded' }));
    take('b', 8);
    expect(() => hold('c', MB)).toThrow(expect.objectContaining({ code: 'overloaded' }));
    for (const held of first) {
      release(held);
    }
    take('c', 8);
    expect(() => hold('c', MB)).toThrow(VaultError);
  });

  test('has room for short bodies when the long ones have none', () => {
    const { hold } = createBodyBudget();
    for (const source of ['a', 'b']) {
      for (let n = 0; n < 8; n++) {
        hold(source, MB);
      }
    }
    expect(hold('a', 65_536).bytes).toBe(65_536);
    expect(() => hold('a', 65_537)).toThrow(VaultError);
  });

  test('grows with a body whose length was not declared, and gives back what it held', () => {
    const { hold, grow, release } = createBodyBudget();
    const held = hold('a', 0);
    grow(held, 8_193);
    expect(held.bytes).toBe(16_384);
    grow(held, 70_000);
    expect(held.bytes).toBe(70_000);
    for (let n = 0; n < 1_024; n++) {
      hold('a', 1);
    }
    while (held.bytes <= 2 * MB) {
      grow(held, held.bytes + 1);
    }
    expect(() => grow(held, 7 * MB)).toThrow(VaultError);
    release(held);
    hold('a', 8 * MB);
  });

  test('counts a request without a body, so that a source has only so many', () => {
    const { hold } = createBodyBudget();
    for (let n = 0; n < 1_024; n++) {
      hold('a', 1);
    }
    expect(() => hold('a', 1)).toThrow(VaultError);
    hold('b', 1);
  });
});

describe('a budget that slow bodies have filled', () => {
  const fill = (budget: BodyBudget, owners: readonly string[], each: number) => {
    const cut: string[] = [];
    for (const owner of owners) {
      for (let n = 0; n < each; n++) {
        budget.wait(budget.hold(owner, 1), () => cut.push(`${owner}${n}`));
      }
    }
    return cut;
  };

  test('has room for others: the oldest body of who holds most is cut off', () => {
    const budget = createBodyBudget();
    const cut = fill(budget, ['a', 'b'], 1_024);
    for (let n = 0; n < 100; n++) {
      budget.hold('c', 1);
    }
    expect(cut).toHaveLength(100);
    expect(cut.slice(0, 3)).toEqual(['a0', 'b0', 'a1']);
  });

  test('has none for who would hold as much as those who hold most', () => {
    const budget = createBodyBudget();
    const cut = fill(budget, ['a', 'b', 'c', 'd'], 512);
    fill(budget, ['e'], 409);
    expect(cut).toHaveLength(409);
    expect(() => budget.hold('e', 1)).toThrow(expect.objectContaining({ code: 'overloaded' }));
  });

  test('cuts nobody off who does not wait for a body', () => {
    const budget = createBodyBudget();
    for (let n = 0; n < 2_048; n++) {
      budget.hold(n % 2 === 0 ? 'a' : 'b', 1);
    }
    expect(() => budget.hold('c', 1)).toThrow(VaultError);
  });

  test('takes nothing more for a body that was cut off, and gives it back once', () => {
    const budget = createBodyBudget();
    const held = budget.hold('a', 4 * MB);
    budget.wait(held, () => undefined);
    budget.wait(budget.hold('a', 4 * MB), () => undefined);
    budget.hold('b', 8 * MB);
    budget.hold('c', 4 * MB);
    expect(() => budget.grow(held, 8 * MB)).toThrow(VaultError);
    budget.release(held);
    budget.release(held);
    expect(() => budget.hold('c', 4 * MB)).toThrow(VaultError);
  });

  test('has its own room for accounts', () => {
    const budget = createBodyBudget();
    fill(budget, ['a', 'b'], 1_024);
    for (let n = 0; n < 64; n++) {
      budget.hold('a', MB, 'account');
    }
    expect(() => budget.hold('a', MB, 'account')).toThrow(VaultError);
    budget.hold('b', 64 * MB, 'account');
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

describe('a body without room', () => {
  test('is thrown away before its rejection is held back', async () => {
    const parts = createStubParts();
    const events: string[] = [];
    const holdBack = async (): Promise<void> => void events.push('held back');
    const app = createApp({ ...parts, admission: Object.assign(new Admission(() => 0), { holdBack }) });
    for (let n = 0; n < 128; n++) {
      parts.bodies.hold('127.0.0.1', 65_536);
    }
    const body = new ReadableStream({ cancel: () => void events.push('thrown away') });
    const headers = { 'Content-Length': '60000', Authorization: `Basic ${btoa('shop:wrong')}` };
    const reply = await app.fetch(new Request('http://vault.test/v1/key', { method: 'POST', headers, body }));
    expect(reply.status).toBe(503);
    expect(events).toEqual(['thrown away', 'held back']);
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

  test('with long bodies hold a part of the budget while they are verified; the others are refused at once', async () => {
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

  test('leave the budget as it was', () => {
    expect(Array.from({ length: 8 }, () => parts.bodies.hold('127.0.0.1', MB))).toHaveLength(8);
  });
});
