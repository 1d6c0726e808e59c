import { describe, expect, test } from 'bun:test';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { API, WEBHOOKS } from '../../server/boot/routes.ts';
import { buildOpenApi } from '../../server/http/openapi/document.ts';
import type { NetworkTokenInput, ProxyGetInput, ProxyPostInput } from '../../server/proxy/prepare.ts';
import { NetworkTokenBody, ProxyGetReply, ProxyOrder, ProxyPostReply } from '../../server/proxy/schema.ts';
import { createClient } from './client.ts';
import { ACCEPTED, PROXY_REPLY, textOf } from './stub-endpoints.ts';

const POST = '/v1/proxy/post?user=u1&token=tok';
const GET = '/v1/proxy/get?user=u1';
const NETWORK_TOKEN = '/v1/proxy/network_token?user=u1&token=tok&requester_id=sim';
const TARGETS = [POST, GET, NETWORK_TOKEN] as const;

/** Whatever the service makes of it: the shell passes it on. */
const BODY =
  '{"request":{"url":"https://pay.example.com","body":"{{n}}"},"big":123456789012345678901234567890}';
const PASSPHRASE = { 'X-Vault-Passphrase': 'pass' };

async function sent(target: string, headers: Record<string, string> = {}, body = BODY) {
  const client = createClient();
  const answer = await client.send('POST', target, { headers: { ...PASSPHRASE, ...headers }, body });
  return { client, answer };
}

describe('what the service is given', () => {
  test('of a request that is filled', async () => {
    const { client, answer } = await sent(`${POST}&reference=r&attempts=3&debug=t&rules=a,b`, {
      'Idempotency-Key': 'order-4711',
    });
    expect([answer.status, answer.text]).toEqual([200, PROXY_REPLY]);
    const { passphrase, body, ...input } = client.lastInput() as ProxyPostInput;
    expect(textOf(passphrase)).toBe('pass');
    expect(new TextDecoder().decode(body)).toBe(BODY);
    expect(input).toEqual({
      user: 'u1',
      token: 'tok',
      reference: 'r',
      attempts: 3,
      debug: true,
      allow_missing: false,
      rules: ['a', 'b'],
    });
    expect(client.parts.asked.at(-1)).toMatchObject({
      operation: 'proxyPost',
      ctx: { account: {}, source: 'proxy', idempotencyKey: 'order-4711' },
    });
  });

  test('of a request that says as little as it may', async () => {
    const { client } = await sent(POST);
    expect(client.lastInput()).toMatchObject({ attempts: 8, debug: false, rules: [] });
    expect(client.lastInput()).not.toHaveProperty('reference');
    expect(client.parts.asked.at(-1)?.ctx?.idempotencyKey).toBeUndefined();
  });

  test('of a request for data to store', async () => {
    const { client, answer } = await sent(`${GET}&smart_parse=true&attempts=16&rules=a&algorithm=luhn`);
    expect([answer.status, answer.text]).toEqual([200, ACCEPTED]);
    const { passphrase, body, ...input } = client.lastInput() as ProxyGetInput;
    expect(textOf(passphrase)).toBe('pass');
    expect(new TextDecoder().decode(body)).toBe(BODY);
    expect(input).toEqual({
      user: 'u1',
      algorithm: 'luhn',
      smart_parse: true,
      attempts: 16,
      rules: ['a'],
    });
  });

  test('of a request for a network token', async () => {
    const { client, answer } = await sent(`${NETWORK_TOKEN}&reference=r`);
    expect([answer.status, answer.text]).toEqual([200, ACCEPTED]);
    const { passphrase, body, ...input } = client.lastInput() as NetworkTokenInput;
    expect(textOf(passphrase)).toBe('pass');
    expect(new TextDecoder().decode(body)).toBe(BODY);
    expect(input).toEqual({
      user: 'u1',
      token: 'tok',
      reference: 'r',
      requester_id: 'sim',
    });
  });

  test('is told of an algorithm by either name', async () => {
    const asked = async (query: string) => {
      const { client } = await sent(`${GET}${query}`);
      return (client.lastInput() as ProxyGetInput).algorithm;
    };
    expect(await asked('')).toBeUndefined();
    expect(await asked('&tokenization_algorithm=uuid')).toBe('uuid');
    expect(await asked('&tokenization_algorithm=uuid&algorithm=uuid')).toBe('uuid');
  });
});

describe('refused before any service is asked', () => {
  test.each([
    [`${POST}&attempts=0`, 'invalid_request', 'query.attempts'],
    [`${POST}&attempts=17`, 'invalid_request', 'query.attempts'],
    [`${POST}&attempts=1.5`, 'invalid_request', 'query.attempts'],
    [`${POST}&attempts=1&attempts=1`, 'duplicate_parameter', 'query.attempts'],
    [`${POST}&debug=yes`, 'invalid_request', 'query.debug'],
    ['/v1/proxy/post?user=u1', 'invalid_request', 'query.token'],
    [`${GET}&smart_parse=2`, 'invalid_request', 'query.smart_parse'],
    [`${GET}&algorithm=rot13`, 'invalid_request', 'query.algorithm'],
    [`${GET}&algorithm=full&tokenization_algorithm=uuid`, 'conflicting_parameters', 'query.algorithm'],
    ['/v1/proxy/network_token?user=u1&token=tok', 'invalid_request', 'query.requester_id'],
  ])('%s: %s %s', async (target, code, field) => {
    const { client, answer } = await sent(target);
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({ code, field });
    expect(client.parts.asked.map(({ operation }) => operation)).toEqual(['signIn']);
  });

  test.each(TARGETS)('%s without a passphrase', async (target) => {
    const client = createClient();
    const answer = await client.send('POST', target, { body: BODY });
    expect(answer.error).toMatchObject({ code: 'invalid_request', field: 'query.passphrase' });
  });

  test.each(TARGETS)('%s with more than 1 MB', async (target) => {
    const { answer } = await sent(target, {}, 'x'.repeat(1_048_577));
    expect([answer.status, answer.error.code]).toEqual([413, 'body_too_large']);
    const { client } = await sent(target, {}, 'x'.repeat(1_048_576));
    expect((client.lastInput() as ProxyGetInput).body).toHaveLength(1_048_576);
  });
});

describe('the published schemas', () => {
  const order = {
    request: {
      method: 'POST',
      url: 'https://pay.example.com/v1/charges?n={{n}}',
      headers: [{ 'Content-Type': 'application/json' }, { 'X-Order': '{{reference}}' }],
      body: '{"n":"{{n}}"}',
      client_cert_id: 'cert-1',
    },
    webhook: {
      url: 'https://shop.example.com',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      max_attempts: 8,
      metadata: { order: '4711' },
    },
  };
  const { request, webhook } = order;
  const reply = { status_code: 200, headers: [{ 'X-A': 'b' }, { 'X-A': 'c' }], body: '' };
  const failure = { error: 'A sentence.', code: 'outcome_unknown', order: '4711' };
  const token_info = { token: 'tok', user: 'u1', stored_at: '2026-01-31T12:00:00.123Z', created: true };
  const network_token = {
    token: '4000001234567899',
    expiry_month: '12',
    expiry_year: '2029',
    last_four: '1111',
    status: 'active',
  };

  test.each([
    ['an order', ProxyOrder, order, true],
    ['an order without a request', ProxyOrder, { webhook }, false],
    ['plain http', ProxyOrder, { request: { ...request, url: 'http://pay.example.com' } }, false],
    [
      'two names in one header',
      ProxyOrder,
      { request: { ...request, headers: [{ A: '1', B: '2' }] } },
      false,
    ],
    ['a bare webhook', NetworkTokenBody, webhook, true],
    ['a named webhook', NetworkTokenBody, { webhook }, true],
    ['a reply with the request', ProxyPostReply, { ...reply, populated_template: request }, true],
    ['an acceptance of any kind', ProxyPostReply, JSON.parse(ACCEPTED), true],
    ['what was stored', ProxyGetReply, { ...reply, token_info }, true],
    ['what was not stored', ProxyGetReply, { status_code: 503, headers: [] }, true],
    ['a webhook of a reply', WEBHOOKS.proxyPost.body, { ...reply, order: '4711' }, true],
    ['a webhook of what was stored', WEBHOOKS.proxyGet.body, { ...reply, token_info }, true],
    ['a webhook of a network token', WEBHOOKS.networkToken.body, { network_token, token_info }, true],
    ['a webhook of a failed network token', WEBHOOKS.networkToken.body, failure, true],
  ])('%s', (_, schema, value, fits) => {
    expect(TypeCompiler.Compile(schema).Check(value)).toBe(fits);
  });

  test('write the bodies of all webhooks in full', () => {
    const { webhooks, components } = buildOpenApi(API, 'https://vault.test');
    const bodyOf = (...names: readonly string[]) => {
      const schema = { anyOf: names.map((name) => components.schemas[name]) };
      return { post: { requestBody: { content: { 'application/json': { schema } } } } };
    };
    expect(webhooks).toMatchObject({
      proxyPost: bodyOf('PostWebhook', 'FailureWebhook'),
      proxyGet: bodyOf('GetWebhook', 'FailureWebhook'),
      networkToken: bodyOf('NetworkTokenWebhook', 'FailureWebhook'),
    });
    for (const name of ['PostWebhook', 'GetWebhook', 'NetworkTokenWebhook', 'FailureWebhook']) {
      expect(components.schemas[name]).toBeDefined();
    }
  });
});
