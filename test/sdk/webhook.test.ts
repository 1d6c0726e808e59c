import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createServer, request as nodeRequest } from 'node:http';
import { VaultError, VaultWebhookError, type WebhookHeaders, webhooks } from '../../sdk/index.ts';
import { Secret } from '../../server/core/secret.ts';
import { webhookBody } from '../../server/domain/proxy/webhook-body.ts';
import { webhookHeaders } from '../../server/outbound/webhook.ts';
import { UNUSABLE_SECRETS } from '../helpers/webhook.ts';

/** The published example of Standard Webhooks. */
const EXAMPLE = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  body: '{"test": 2432232314}',
  now: 1614265330_000,
} as const;
const SECONDS = 1614265330;
const SIGNATURE = EXAMPLE.headers['webhook-signature'];

const PLAIN = 'a plain secret';
const encoder = new TextEncoder();

/** A call as the vault makes it. */
function callOf(secret = PLAIN, body = '{"error":"e","code":"internal"}', timestampSeconds = SECONDS) {
  return {
    secret,
    headers: Object.fromEntries(
      webhookHeaders({
        id: 'evt_1',
        timestampSeconds,
        body: encoder.encode(body),
        secret: new Secret(secret),
      }),
    ),
    body,
    now: SECONDS * 1000,
  };
}

/** A webhook call with the secret and the clock to check it with. */
interface Received {
  readonly secret: string;
  readonly headers: WebhookHeaders;
  readonly body: string | Uint8Array | ArrayBuffer;
  readonly toleranceSeconds?: number | undefined;
  readonly now?: number | undefined;
}

function verify<Metadata extends object>({ headers, body, secret, ...options }: Received) {
  return webhooks.verify<Metadata>(headers, body, secret, options);
}

/** What a check ends with: `ok`, the code of a refusal, or `VaultError` for a call that makes no sense. */
async function outcomeOf(received: Received): Promise<string> {
  try {
    await verify(received);
    return 'ok';
  } catch (error) {
    expect(error).toBeInstanceOf(VaultError);
    return error instanceof VaultWebhookError ? error.code : (error as VaultError).name;
  }
}

function exampleWith(headers: WebhookHeaders): Promise<string> {
  return outcomeOf({ ...EXAMPLE, headers });
}

describe('a webhook call is believed', () => {
  test('as the published example has it', async () => {
    expect(await verify(EXAMPLE)).toEqual({ test: 2432232314 } as never);
  });

  test.each([
    PLAIN,
    'Schlüssel',
    '🔑 à',
    `whsec_${randomBytes(24).toString('base64')}`,
    `whsec_${randomBytes(65).toString('base64')}`,
  ])('when the vault made it under the secret %j', async (secret) =>
    expect(await outcomeOf(callOf(secret, '{"é":"🔑\u2028"}'))).toBe('ok'),
  );

  test('with its body as text, bytes, a part of a buffer, or an array buffer', async () => {
    const { secret, headers, body, now } = callOf(PLAIN, '{"é":1}');
    const bytes = encoder.encode(body);
    const part = Buffer.concat([Buffer.from('xx'), bytes, Buffer.from('yy')]).subarray(2, 2 + bytes.length);
    for (const form of [body, bytes, part, Uint8Array.from(bytes).buffer]) {
      expect(await outcomeOf({ secret, headers, body: form, now })).toBe('ok');
    }
  });

  test('with headers of fetch, of Node, and in any case', async () => {
    const { headers } = callOf();
    const forms: readonly WebhookHeaders[] = [
      new Headers(headers),
      new Request('https://shop.example', { headers }).headers,
      new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]])),
      { ...headers, 'x-other': ['a', 'b'], get: 'a header of this name', none: undefined },
    ];
    for (const form of forms) {
      expect(await outcomeOf({ ...callOf(), headers: form })).toBe('ok');
    }
  });

  test('with one signature that fits among others', async () => {
    const wrong = `v1,${randomBytes(32).toString('base64')}`;
    const list = `v1a,${randomBytes(64).toString('base64')} ${wrong} ${SIGNATURE} ${wrong}`;
    expect(await exampleWith({ ...EXAMPLE.headers, 'webhook-signature': list })).toBe('ok');
  });

  test('without the secret in clear, which a proxy may have taken away', async () => {
    const { 'X-Vault-Webhook-Secret': _, ...headers } = callOf().headers;
    expect(await outcomeOf({ ...callOf(), headers })).toBe('ok');
  });

  test('with the secret in clear read as UTF-8', async () => {
    const call = callOf('Schlüssel à');
    expect(call.headers['X-Vault-Webhook-Secret']).not.toBe(call.secret);
    const headers = { ...call.headers, 'X-Vault-Webhook-Secret': call.secret };
    expect(await outcomeOf({ ...call, headers })).toBe('ok');
  });
});

describe('time', () => {
  test.each([
    [0, undefined, 'ok'],
    [300, undefined, 'ok'],
    [-300, undefined, 'ok'],
    [301, undefined, 'timestamp_out_of_tolerance'],
    [-301, undefined, 'timestamp_out_of_tolerance'],
    [10, 9, 'timestamp_out_of_tolerance'],
    [0, 0, 'ok'],
    [1, 0, 'timestamp_out_of_tolerance'],
  ])('%d s after the call with a tolerance of %p: %s', async (late, toleranceSeconds, expected) => {
    const now = (SECONDS + late) * 1000 + 999;
    expect(await outcomeOf({ ...EXAMPLE, now, toleranceSeconds })).toBe(expected);
  });

  test('is that of the clock where none is given', async () => {
    const fresh = callOf(PLAIN, '{}', Math.floor(Date.now() / 1000));
    expect(await outcomeOf({ ...fresh, now: undefined })).toBe('ok');
    expect(await outcomeOf({ ...EXAMPLE, now: undefined })).toBe('timestamp_out_of_tolerance');
  });

  test('that is no number is never fresh', async () => {
    expect(await outcomeOf({ ...EXAMPLE, now: Number.NaN })).toBe('timestamp_out_of_tolerance');
    for (const toleranceSeconds of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(await outcomeOf({ ...EXAMPLE, toleranceSeconds })).toBe('VaultError');
    }
    for (const time of ['soon', '-1614265330', '1e9', '1614265330, 1614265330']) {
      expect(await exampleWith({ ...EXAMPLE.headers, 'webhook-timestamp': time })).toBe('header_malformed');
    }
  });
});

describe('a webhook call is refused', () => {
  const changed = (name: keyof typeof EXAMPLE.headers, value: string) =>
    exampleWith({ ...EXAMPLE.headers, [name]: value });

  test('when its id, time or body is another one', async () => {
    expect(await changed('webhook-id', 'msg_p5jXN8AQM9LWM0D4loKWxJeK')).toBe('signature_mismatch');
    expect(await changed('webhook-timestamp', '1614265331')).toBe('signature_mismatch');
    expect(await changed('webhook-timestamp', '01614265330')).toBe('signature_mismatch');
    for (const body of [
      '{"test": 2432232315}',
      '{"test":2432232314}',
      '',
      '{"test": 2432232314}\n',
      '\ufeff{}',
    ]) {
      expect(await outcomeOf({ ...EXAMPLE, body })).toBe('signature_mismatch');
    }
  });

  test('when parts of it moved over a dot', async () => {
    const headers = { ...EXAMPLE.headers, 'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330' };
    expect(await outcomeOf({ ...EXAMPLE, headers, body: EXAMPLE.body })).toBe('signature_mismatch');
  });

  test('whichever bit of the signature is flipped', async () => {
    const mac = Buffer.from(SIGNATURE.slice(3), 'base64');
    for (let bit = 0; bit < mac.length * 8; bit += 1) {
      const flipped = Buffer.from(mac);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(await changed('webhook-signature', `v1,${flipped.toString('base64')}`)).toBe(
        'signature_mismatch',
      );
    }
  });

  const mac = SIGNATURE.slice(3);
  test.each([
    ...[mac, 'v1,', `v1${mac}`, `V1,${mac}`, `v1a,${mac}`, `v1, ${mac}`, `${SIGNATURE}=`],
    ...[SIGNATURE.slice(0, -1), `${SIGNATURE},v1`, `x${SIGNATURE}`, SIGNATURE.replace('OE=', 'OF=')],
  ])('with the signature %j', async (signature) =>
    expect(await changed('webhook-signature', signature)).toBe('signature_mismatch'),
  );

  test('under another secret, or the same text as another kind of key', async () => {
    const { secret } = EXAMPLE;
    for (const other of [secret.slice(6), `whsec_${'A'.repeat(32)}`, 'x', `${secret.slice(0, -4)}AAAA`]) {
      expect(await outcomeOf({ ...EXAMPLE, secret: other })).toBe('signature_mismatch');
    }
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const)('without %s', async (name) => {
    const { [name]: _, ...others } = EXAMPLE.headers;
    expect(await exampleWith(others)).toBe('header_missing');
    expect(await exampleWith(new Headers(others))).toBe('header_missing');
    expect(await changed(name, '')).toBe('header_missing');
    expect(await exampleWith(Object.create({ ...EXAMPLE.headers }))).toBe('header_missing');
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const)(
    'with %s more than once',
    async (name) => {
      const value = EXAMPLE.headers[name];
      expect(await exampleWith({ ...EXAMPLE.headers, [name]: [value, value] })).toBe('header_malformed');
      expect(await exampleWith({ ...EXAMPLE.headers, [name.toUpperCase()]: value })).toBe('header_malformed');
    },
  );

  test('with id or time more than once in headers that fetch joins', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp']) {
      const headers = new Headers(EXAMPLE.headers);
      headers.append(name, headers.get(name) ?? '');
      expect(await exampleWith(headers)).toMatch(/^(?:signature_mismatch|header_malformed)$/);
    }
  });

  test.each(['', 'another', `${PLAIN} `, PLAIN.toUpperCase(), PLAIN.slice(1)])(
    'with %j as the secret in clear',
    async (shown) => {
      const headers = { ...callOf().headers, 'X-Vault-Webhook-Secret': shown };
      expect(await outcomeOf({ ...callOf(), headers })).toBe('secret_mismatch');
    },
  );

  test('with two secrets in clear', async () => {
    const headers = { ...callOf().headers, 'x-vault-webhook-secret': PLAIN };
    expect(await outcomeOf({ ...callOf(), headers })).toBe('header_malformed');
  });

  test.each(['', 'null', '[]', '7', '"text"', '{', '{} x', '\ufeff{}'])(
    'with %j as the signed body',
    async (body) => expect(await outcomeOf(callOf(PLAIN, body))).toBe('body_malformed'),
  );

  test('with a signed body that is not UTF-8', async () => {
    const body = Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d);
    const headers = Object.fromEntries(
      webhookHeaders({
        id: 'e',
        timestampSeconds: SECONDS,
        body,
        secret: new Secret(PLAIN),
      }),
    );
    expect(await outcomeOf({ ...callOf(), headers, body })).toBe('body_malformed');
  });
});

describe('a check that cannot be meant', () => {
  test.each(['', ...UNUSABLE_SECRETS, undefined, null, 7])('has the secret %p', async (secret) =>
    expect(await outcomeOf({ ...EXAMPLE, secret: secret as string })).toBe('VaultError'),
  );

  test.each([{ test: 2432232314 }, null, undefined, 7, [1]])('has the body %p', async (body) =>
    expect(await outcomeOf({ ...EXAMPLE, body: body as unknown as string })).toBe('VaultError'),
  );
});

test('no error holds the secret, the signature or the body', async () => {
  const canary = 'canary-secret';
  const error = await verify({ ...callOf(canary), body: '{"card":"4111111111111111"}' }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(VaultWebhookError);
  const shown = Bun.inspect({ error, text: String(error), json: JSON.stringify(error) });
  expect(shown).not.toMatch(/canary|4111|v1,/);
});

test('what the vault says arrives with the metadata beside it', async () => {
  const parts = { kind: 'post', headers: [['X-A', 'b']], statusCode: 402, body: 'declined' } as const;
  const body = new TextDecoder().decode(
    webhookBody(
      parts,
      new Map([
        ['order', '4711'],
        ['body', 'x'],
        ['__proto__', 'y'],
      ]),
    ),
  );
  const event = await verify<{ order: string }>(callOf(PLAIN, body));
  expect(event.order).toBe('4711');
  expect('error' in event ? event.code : event).toMatchObject({ body: 'declined', status_code: 402 });
  expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
  expect(Object.keys(event)).toContain('__proto__');
});

test('a receiver on Node sees each call as the vault made it', async () => {
  const outcomes: string[] = [];
  const server = createServer(async (incoming, reply) => {
    const { headers } = incoming;
    const body = Buffer.concat(await Array.fromAsync(incoming));
    outcomes.push(await outcomeOf({ ...callOf('🔑 Zoë à'), headers, body }));
    reply.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const { headers, body } = callOf('🔑 Zoë à');
    await new Promise<void>((resolve, reject) => {
      nodeRequest({ port, host: '127.0.0.1', method: 'POST', headers: { ...headers } }, (reply) =>
        reply.resume().on('end', resolve),
      )
        .on('error', reject)
        .end(Buffer.from(body));
    });
    expect(outcomes).toEqual(['ok']);
  } finally {
    server.close();
  }
});
