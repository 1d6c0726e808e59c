import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { createApp } from '../../server/http/app.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { createBodyBudget } from '../../server/http/plugins/body-budget.ts';
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
    let held = hold('a', 0);
    held = grow(held, 8_193);
    expect(held.bytes).toBe(16_384);
    held = grow(held, 70_000);
    expect(held.bytes).toBe(70_000);
    for (let n = 0; n < 1_024; n++) {
      hold('a', 1);
    }
    while (held.bytes <= 2 * MB) {
      held = grow(held, held.bytes + 1);
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

describe('wrong credentials', () => {
  let parts: StubParts;
  let server: ReturnType<typeof listen>;
  let signIns = 0;
  const verdict = Promise.withResolvers<never>();
  verdict.promise.catch(() => undefined);

  beforeAll(() => {
    const stubs = createStubParts();
    const signIn: StubParts['accounts']['signIn'] = () => {
      signIns += 1;
      return verdict.promise;
    };
    parts = { ...stubs, accounts: { ...stubs.accounts, signIn } };
    server = listen(createApp(parts), { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  });
  afterAll(() => server.stop(true));

  const HEAD = `Host: vault.test\r\nAuthorization: Basic ${btoa('shop:wrong')}\r\n`;
  const statusOf = ({ text }: Talk) => text.slice(9, 12);

  test('with long bodies hold a part of the budget while they are verified; the others are refused at once', async () => {
    const bytes = `POST /v1/key HTTP/1.1\r\n${HEAD}Content-Length: ${MB}\r\n\r\n${' '.repeat(MB)}`;
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
      `POST /v1/key HTTP/1.1\r\n${HEAD}Content-Length: 65537\r\n\r\n{`,
    );
    expect(text).toStartWith('HTTP/1.1 401 ');
    expect(text).toContain('Connection: close');
    expect(isClosed).toBe(true);
  });

  test('leave the budget as it was', () => {
    expect(Array.from({ length: 8 }, () => parts.bodies.hold('127.0.0.1', MB))).toHaveLength(8);
  });
});
