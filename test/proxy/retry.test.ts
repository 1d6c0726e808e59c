import { afterAll, describe, expect, test } from 'bun:test';
import type { Answer, Query } from '../helpers/clients.ts';
import {
  acceptedId,
  attemptsBilled,
  CHARGED,
  type Item,
  jobsDone,
  newItem,
  type OrderChanges,
  proxyPost,
  RETRY_MS,
  requestTo,
  settled,
  sourcesOf,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import type { Act, Received } from '../helpers/third-party.ts';
import { createReceiver, type WebhookEvent } from '../helpers/webhook.ts';
import { startListener, stopTargets } from '../outbound/target.ts';

const { vault, party, newParty, freshPath, orderTo } = await openProxySetting();
afterAll(stopTargets);

interface Run {
  readonly item: Item;
  readonly answer: Answer;
  readonly calls: readonly Received[];
}

/** Sends to acts, synchronously, from an account of its own, so that what is billed and logged can be counted. */
async function run(acts: Act[], changes: OrderChanges = {}, query: Query = {}): Promise<Run> {
  const [item, path] = [await newItem(vault), freshPath(...acts)];
  const answer = await proxyPost(item, orderTo(path, changes), { attempts: 2, ...query });
  const calls = party.calls(path);
  expect(await attemptsBilled(vault, item.account)).toBe(calls.length);
  expect((await sourcesOf(item)).filter((source) => source === 'decrypt proxy')).toHaveLength(calls.length);
  return { item, answer, calls };
}

/** The same, told to a webhook. */
async function runLater(
  acts: Act[],
  changes: OrderChanges = {},
  query: Query = {},
): Promise<{ readonly event: WebhookEvent; readonly calls: readonly Received[] }> {
  const [item, path, receiver] = [await newItem(vault), freshPath(...acts), createReceiver(party)];
  const webhook = { ...receiver.webhook, metadata: { order: 7, ref: 'mine' } };
  const order = { request: requestTo(party.url(path), changes), webhook };
  const event = await settled(proxyPost(item, order, { attempts: 2, ...query }), receiver);
  await jobsDone(vault, item.account);
  const calls = party.calls(path);
  expect(await attemptsBilled(vault, item.account)).toBe(calls.length);
  expect(receiver.events()).toHaveLength(1);
  return { event, calls };
}

function shown({ outcome, json }: Answer): unknown {
  return outcome === '200' ? [Object(json).status_code, Object(json).body] : outcome;
}

describe.concurrent('a request that failed is sent again', () => {
  test.each([429, 500, 502, 503, 599])('after %d, under the same id, with the same bytes', async (status) => {
    const headers = [{ 'Idempotency-Key': 'charge 1' }];
    const { answer, calls } = await run([status, { body: 'paid' }], { headers });
    expect(shown(answer)).toEqual([200, 'paid']);
    expect(calls.map(({ text }) => text)).toEqual([CHARGED, CHARGED]);
    const [first, second] = calls;
    expect(first?.head).toBe(second?.head ?? '');
    expect(first?.header('idempotency-key')).toBe('charge 1');
  });

  test('with pauses that grow', async () => {
    const { calls } = await run([500, 500, 200], {}, { attempts: 3 });
    const [first = 0, second = 0, third = 0] = calls.map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(RETRY_MS - 1);
    expect(third - second).toBeGreaterThanOrEqual(2 * RETRY_MS - 1);
  });

  test('no earlier than Retry-After asks for', async () => {
    const { calls } = await run([{ status: 503, headers: [['Retry-After', '1']] }, 200]);
    const [first = 0, second = 0] = calls.map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(990);
  });

  test.each([1, 2])(
    'no more often than attempts=%d says; then the last reply is the answer',
    async (attempts) => {
      const acts = [{ status: 503, body: 'first' }, { status: 500, body: 'second' }, 200];
      const { answer, calls } = await run(acts, {}, { attempts });
      expect(calls).toHaveLength(attempts);
      expect(shown(answer)).toEqual(attempts === 1 ? [503, 'first'] : [500, 'second']);
    },
  );

  test('when its connection broke before anything of it was sent', async () => {
    const [own, item] = [await newParty(), await newItem(vault)];
    own.script('/late', { body: 'paid' });
    own.refuse(1);
    const order = { request: requestTo(own.url('/late')), synchronous: true };
    expect(shown(await proxyPost(item, order, { attempts: 2 }))).toEqual([200, 'paid']);
    expect([own.connections(), own.calls('/late').length]).toEqual([2, 1]);
    expect(await attemptsBilled(vault, item.account)).toBe(2);
  });

  test.each<[string, OrderChanges]>([
    ...['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'].map((method): [string, OrderChanges] => [
      `is a ${method}, which may be repeated`,
      { method, body: undefined },
    ]),
    ['has an Idempotency-Key of its own', { headers: [{ 'idempotency-KEY': 'a' }] }],
  ])('when its outcome is unknown and it %s', async (_, changes) => {
    const { answer, calls } = await run(['reset', 200], changes);
    expect([answer.outcome, calls.length]).toEqual(['200', 2]);
  });
});

describe.concurrent('a request that nobody answered', () => {
  test.each<[string, Act, OrderChanges]>([
    ['after a byte of a POST left', 'reset', {}],
    ['after a byte of a PATCH left', 'reset', { method: 'PATCH' }],
    ['when the reply broke off', { body: 'half', unfinished: 'cut' }, {}],
  ])('is not sent again %s', async (_, act, changes) => {
    const { answer, calls } = await run([act, 200], changes);
    expect([answer.outcome, calls.length]).toEqual(['502 outcome_unknown', 1]);
  });

  test('is refused as unreachable when nothing of it ever left', async () => {
    const item = await newItem(vault);
    const listener = await startListener();
    const url = `https://127.0.0.1:${listener.port}/`;
    const answer = await proxyPost(item, { request: requestTo(url), synchronous: true }, { attempts: 2 });
    expect([answer.outcome, listener.connections()]).toEqual(['502 target_unreachable', 2]);
    expect(await attemptsBilled(vault, item.account)).toBe(2);
  });
});

describe.concurrent('an asynchronous request', () => {
  test('is sent again, and its webhook told once', async () => {
    const { event, calls } = await runLater([500, { body: 'paid' }]);
    expect(event.json).toMatchObject({ status_code: 200, body: 'paid', order: 7, ref: 'mine' });
    expect(calls.map(({ text }) => text)).toEqual([CHARGED, CHARGED]);
    expect(new Set(calls.map(({ header }) => header('x-vault-request-id')))).toEqual(new Set([event.id]));
  });

  test('that was never answered well tells its last reply', async () => {
    const { event, calls } = await runLater([{ status: 500, body: 'a' }, { status: 503, body: 'b' }, 200]);
    expect(event.json).toMatchObject({ status_code: 503, body: 'b' });
    expect(calls).toHaveLength(2);
  });

  test('whose outcome is unknown says so, with its metadata, and is not repeated', async () => {
    const { event, calls } = await runLater(['reset', 200]);
    expect(event.json).toEqual({
      error: expect.stringMatching(/\.$/),
      code: 'outcome_unknown',
      order: 7,
      ref: 'mine',
    });
    expect(calls).toHaveLength(1);
  });

  test('that reached nobody says so', async () => {
    const [item, receiver, listener] = [await newItem(vault), createReceiver(party), await startListener()];
    const request = requestTo(`https://127.0.0.1:${listener.port}/`);
    const answer = await proxyPost(item, { request, webhook: receiver.webhook }, { attempts: 2 });
    const { id, json } = await receiver.next();
    expect([id, json['code'], listener.connections()]).toEqual([acceptedId(answer), 'target_unreachable', 2]);
    await jobsDone(vault, item.account);
    expect(await attemptsBilled(vault, item.account)).toBe(2);
  });
});
