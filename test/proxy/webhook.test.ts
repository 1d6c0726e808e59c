import { afterAll, describe, expect, test } from 'bun:test';
import { webhooks } from '../../sdk/index.ts';
import { jobsDone, newItem, proxyPost, RETRY_MS, requestTo, settled } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import type { Act, Received } from '../helpers/third-party.ts';
import { createReceiver, expectedSignature, type Receiver } from '../helpers/webhook.ts';
import { startListener, stopTargets } from '../outbound/target.ts';

const { vault, party, item } = await openProxySetting();
party.script('/target', { status: 200, body: 'done' });
party.script('/elsewhere', 200);
afterAll(stopTargets);

interface Told {
  readonly receiver: Receiver;
  readonly calls: readonly Received[];
}

/** All the calls of one webhook to a receiver with these acts, once the request is done with. */
async function told(acts: Act[], webhook: object = { max_attempts: 3 }): Promise<Told> {
  const receiver = createReceiver(party, ...acts);
  const order = { request: requestTo(party.url('/target')), webhook: { ...receiver.webhook, ...webhook } };
  await settled(proxyPost(item, order), receiver);
  await jobsDone(vault, item.account);
  return { receiver, calls: receiver.events().map(({ received }) => received) };
}

describe.concurrent('calls of a webhook', () => {
  test('are as many as the account prefers, where the order does not say', async () => {
    const [item, receiver] = [await newItem(vault), createReceiver(party, 500, 500, 500, 500)];
    await item.account.sdk.admin.setPreference({ key: 'webhook_max_attempts', value: 2 });
    const request = requestTo(party.url('/target'));
    await settled(proxyPost(item, { request, webhook: receiver.webhook }), receiver);
    await jobsDone(vault, item.account);
    expect(receiver.events()).toHaveLength(2);
  });

  test.each<[string, Act]>([
    ...[201, 202, 204, 400, 410, 429, 500].map((status): [string, Act] => [String(status), status]),
    ['a reset', 'reset'],
    ['a reply that breaks off', { body: 'x', unfinished: 'cut' }],
    ['a redirect, which is not followed', { status: 307, headers: [['Location', party.url('/elsewhere')]] }],
  ])('do not end with %s, but with 200', async (_, act) => {
    expect((await told([act, 200])).calls).toHaveLength(2);
    expect(party.calls('/elsewhere')).toEqual([]);
  });

  test.each([1, 2])('are never more than max_attempts=%d', async (max_attempts) => {
    expect((await told([500], { max_attempts })).calls).toHaveLength(max_attempts);
    expect((await told([200], { max_attempts })).calls).toHaveLength(1);
  });

  test('come with pauses that grow, with the same bytes under the same id', async () => {
    const { calls, receiver } = await told([500, 500, 200]);
    const [first = 0, second = 0, third = 0] = calls.map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(RETRY_MS - 1);
    expect(third - second).toBeGreaterThanOrEqual(2 * RETRY_MS - 1);
    expect(new Set(calls.map(({ text }) => text)).size).toBe(1);
    expect(new Set(receiver.events().map(({ id }) => id)).size).toBe(1);
    for (const { header } of calls) {
      expect(Math.abs(Number(header('webhook-timestamp')) - Date.now() / 1_000)).toBeLessThan(60);
    }
  });

  test('that reach nobody count as well, and the request is sent no more', async () => {
    const [item, listener] = [await newItem(vault), await startListener()];
    const url = `https://127.0.0.1:${listener.port}/`;
    party.script('/told-nobody', 200);
    const request = requestTo(party.url('/told-nobody'));
    await proxyPost(item, { request, webhook: { url, max_attempts: 2 } });
    await party.call('/told-nobody');
    await jobsDone(vault, item.account);
    expect([listener.connections(), party.calls('/told-nobody').length]).toEqual([2, 1]);
  });
});

describe.concurrent('a call', () => {
  test.each(['a plain secret', 'x', 'größe & 秘密 😀', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])(
    'is signed under its secret: %p',
    async (secret) => {
      const { calls } = await told([500, 200], { secret });
      expect(calls).toHaveLength(2);
      for (const call of calls) {
        expect(call.header('webhook-signature')).toBe(expectedSignature(secret, call));
        const inHeader = Buffer.from(call.header('x-vault-webhook-secret') ?? '', 'latin1').toString();
        expect(inHeader).toBe(secret);
        const { headers, text } = call;
        const event = await webhooks.verify(Object.fromEntries(headers), text, secret);
        expect(event).toMatchObject({ body: 'done', status_code: 200 });
      }
    },
  );

  test('says nothing of the item, the account or the request', async () => {
    const { calls } = await told([200]);
    const [call] = calls;
    const whole = `${call?.head}\n${call?.text}`;
    for (const text of [item.token, item.account.name, '4111111111111111', '7391', 'authorization']) {
      expect(whole.toLowerCase()).not.toContain(text.toLowerCase());
    }
  });
});

test('a reply that is no text is told as text, by its charset where it is known', async () => {
  const bytes = Buffer.from([0x67, 0x72, 0xf6, 0xdf, 0x65]);
  for (const [type, expected] of [
    ['text/plain; charset=iso-8859-1', 'größe'],
    ['text/plain', 'gr\ufffd\ufffde'],
  ] as const) {
    const receiver = createReceiver(party);
    party.script('/bytes', { headers: [['Content-Type', type]], body: bytes });
    const order = { request: requestTo(party.url('/bytes')), webhook: receiver.webhook };
    expect((await settled(proxyPost(item, order), receiver)).json['body']).toBe(expected);
  }
});
