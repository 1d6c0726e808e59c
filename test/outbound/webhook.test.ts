import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { Secret } from '../../server/core/secret.ts';
import { isDelivered, type WebhookMessage, webhookHeaders } from '../../server/outbound/webhook.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The published example of Standard Webhooks. */
const KEY = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const CALL: WebhookMessage = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestampSeconds: 1614265330,
  body: bytes('{"test": 2432232314}'),
};
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

function headersWith(secret: string, call: Partial<WebhookMessage> = {}) {
  return Object.fromEntries(webhookHeaders({ ...CALL, ...call, secret: new Secret(secret) }));
}

describe('the headers of a webhook call', () => {
  test('hold the secret, and the signature of the published example', () => {
    expect(headersWith(`whsec_${KEY}`)).toEqual({
      'Content-Type': 'application/json',
      'X-Vault-Webhook-Secret': `whsec_${KEY}`,
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': SIGNATURE,
    });
  });

  test('hold neither secret nor signature where there is no secret', () => {
    const unsigned = [
      ['Content-Type', 'application/json'],
      ['webhook-id', 'msg_p5jXN8AQM9LWM0D4loKWxJek'],
      ['webhook-timestamp', '1614265330'],
    ] as const;
    expect(webhookHeaders(CALL)).toEqual(unsigned);
    expect(webhookHeaders({ ...CALL, secret: undefined })).toEqual(unsigned);
  });

  test.each([KEY, 'x', 'two words', 'Schlüssel', '鍵', '🔑 à', 'WHSEC_not', 'whsec', `whsk_${KEY}`])(
    'sign with the UTF-8 of %p as the key',
    (secret) => {
      const body = bytes('{"é":"\u2028"}');
      const content = Buffer.concat([bytes('evt_1.1700000000.'), body]);
      const mac = createHmac('sha256', Buffer.from(secret, 'utf8')).update(content).digest('base64');
      const headers = headersWith(secret, { id: 'evt_1', timestampSeconds: 1_700_000_000, body });
      expect(headers['webhook-signature']).toBe(`v1,${mac}`);
    },
  );
});

describe('no call has', () => {
  test.each([
    ...['', ' ', ' x', 'x ', 'a\r\nb', 'a\nb', 'a\0b', '\t', 'x\t', 'a\tb', '\x7f', '\ud800', 'x\udc00'],
    ...['whsec_AAAA ', 'whsec_AAAA\n'],
  ])('the secret %j, which the error does not repeat', (secret) => {
    expect(() => headersWith(secret)).toThrow('The secret of a webhook must be valid in a header.');
  });

  test.each(['', 'a.b', 'a b', 'a\r\nX: y', 'é', 'x'.repeat(129)])('the id %j', (id) => {
    expect(() => webhookHeaders({ ...CALL, id })).toThrow(TypeError);
  });

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('the time %p', (timestampSeconds) => {
    expect(() => webhookHeaders({ ...CALL, timestampSeconds })).toThrow(TypeError);
  });
});

test('a secret of any length is checked in time that grows with it alone', () => {
  const cpuMs = startCpuClock();
  expect(() => headersWith(`${'a '.repeat(200_000)}\n`)).toThrow(TypeError);
  expect(cpuMs()).toBeLessThan(1000);
});

test('200 alone ends the calls', () => {
  const statuses = Array.from({ length: 900 }, (_, index) => index + 100);
  expect(statuses.filter(isDelivered)).toEqual([200]);
});
