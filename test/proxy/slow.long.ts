/** What third parties that are slow come to. The time is real here: all of it passes at once. */
import { describe, expect, test } from 'bun:test';
import type { Answer } from '../helpers/clients.ts';
import {
  attemptsBilled,
  type Item,
  jobsDone,
  newItem,
  type OrderChanges,
  proxyPost,
  requestTo,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { type Act, SILENT } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';

const SLOW_MS = 90_000;

// With the pauses of a server.
const { vault, party, freshPath, orderTo } = await openProxySetting({ proxy: { retryMs: undefined } });

async function timed(
  act: Act,
  changes: OrderChanges = {},
): Promise<{ item: Item; answer: Answer; seconds: number; calls: number }> {
  const [path, item] = [freshPath(act), await newItem(vault)];
  const from = performance.now();
  const answer = await proxyPost(item, orderTo(path, changes));
  const seconds = (performance.now() - from) / 1_000;
  return { item, answer, seconds, calls: party.calls(path).length };
}

describe.concurrent('20 seconds are all that a synchronous request has', () => {
  test.each(['POST', 'PUT'])(
    'when the third party is silent: %s',
    async (method) => {
      const { item, answer, seconds, calls } = await timed(SILENT, { method });
      expect([answer.outcome, calls]).toEqual(['504 target_timeout', 1]);
      expect(seconds).toBeGreaterThan(19.5);
      expect(seconds).toBeLessThan(35);
      expect(await attemptsBilled(vault, item.account)).toBe(1);
    },
    SLOW_MS,
  );

  test(
    'when the third party never ends its reply',
    async () => {
      const held: Act = { body: 'x', unfinished: 'held' };
      const { answer, seconds } = await timed(held, { method: 'GET', body: undefined });
      expect(answer.outcome).toMatch(/^50[24] /);
      expect(seconds).toBeLessThan(35);
    },
    SLOW_MS,
  );

  test(
    'however long the third party asks to wait: then its reply is the answer',
    async () => {
      const { answer, seconds, calls } = await timed({
        status: 503,
        headers: [['Retry-After', '50']],
        body: 'later',
      });
      expect(answer.json).toMatchObject({ status_code: 503, body: 'later' });
      expect(calls).toBe(1);
      expect(seconds).toBeLessThan(35);
    },
    SLOW_MS,
  );

  test(
    'for all attempts together',
    async () => {
      const { item, answer, seconds, calls } = await timed({ status: 500, body: 'no' });
      expect(answer.json).toMatchObject({ status_code: 500, body: 'no' });
      // Pauses of at least 0.5, 1, 2, 4 and 8 seconds: never more than six attempts.
      expect(calls).toBeWithin(4, 7);
      expect(seconds).toBeLessThan(35);
      expect(await attemptsBilled(vault, item.account)).toBe(calls);
    },
    SLOW_MS,
  );
});

describe.concurrent('slow receivers of webhooks', () => {
  test(
    'are given up after 10 seconds, and called again',
    async () => {
      const item = await newItem(vault);
      party.script('/quick', 200);
      const receiver = createReceiver(party, SILENT, 200);
      const webhook = { ...receiver.webhook, max_attempts: 2 };
      await proxyPost(item, { request: requestTo(party.url('/quick')), webhook });
      const [first, second] = [await receiver.next(), await receiver.next()];
      const seconds = (second.received.at - first.received.at) / 1_000;
      expect(seconds).toBeGreaterThan(10);
      expect(seconds).toBeLessThan(30);
      await jobsDone(vault, item.account);
      expect(receiver.events()).toHaveLength(2);
    },
    SLOW_MS,
  );
});
