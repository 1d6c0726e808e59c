import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ERRORS } from '../../server/core/error-table.ts';
import { type JsonObject, parseStoredObject } from '../../server/domain/json/json.ts';
import { type WebhookParts, webhookBody } from '../../server/domain/proxy/webhook-body.ts';

function objectOf(text: string): JsonObject {
  return parseStoredObject(new TextEncoder().encode(text));
}

function textOf(parts: WebhookParts, metadata?: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(
    webhookBody(parts, metadata === undefined ? undefined : objectOf(metadata)),
  );
}

const INFO = '{"token":"tok","user":"customers","stored_at":"2026-01-31T12:00:00.123Z"}';

const POST: WebhookParts = {
  kind: 'post',
  headers: [
    ['Set-Cookie', 'a=1'],
    ['set-cookie', 'b="2"'],
    ['__proto__', 'x'],
  ],
  statusCode: 201,
  body: '{"ok":true}\u2028\ud800',
};
const GET: WebhookParts = { kind: 'get', headers: [], statusCode: 200, tokenInfo: objectOf(INFO) };
const NETWORK: WebhookParts = {
  kind: 'network_token',
  networkToken: { token: '4111', expiryMonth: '01', expiryYear: '2031', lastFour: '1111', status: 'ACTIVE' },
  tokenInfo: objectOf(INFO),
};
const FAILURE: WebhookParts = { kind: 'failure', code: 'key_not_found' };

describe('the body of a webhook', () => {
  test('after sending holds the reply, each header line for itself', () => {
    expect(textOf(POST)).toBe(
      '{"headers":[{"Set-Cookie":"a=1"},{"set-cookie":"b=\\"2\\""},{"__proto__":"x"}],' +
        '"body":"{\\"ok\\":true}\u2028\\ud800","status_code":201}',
    );
  });

  test('after fetching holds what was stored, and the reply with tags where there is one', () => {
    expect(textOf(GET)).toBe(`{"headers":[],"status_code":200,"token_info":${INFO}}`);
    expect(textOf({ ...GET, body: '{{card_number}}' })).toBe(
      `{"headers":[],"status_code":200,"token_info":${INFO},"body":"{{card_number}}"}`,
    );
  });

  test('of a network token', () => {
    expect(textOf(NETWORK)).toBe(
      '{"network_token":{"token":"4111","expiry_month":"01","expiry_year":"2031","last_four":"1111",' +
        `"status":"ACTIVE"},"token_info":${INFO}}`,
    );
  });

  test('of a failure is the text and the code of the refusal', () => {
    const error = ERRORS.key_not_found.text;
    expect(textOf(FAILURE)).toBe(JSON.stringify({ error, code: 'key_not_found' }));
  });
});

describe('metadata', () => {
  test('comes after the other members, with every digit and in its order', () => {
    const metadata = '{"z":1.10,"a":[-0,1e400,{"n":12345678901234567890}],"é":null}';
    expect(textOf(FAILURE, metadata)).toBe(`${textOf(FAILURE).slice(0, -1)},${metadata.slice(1)}`);
  });

  test('named __proto__ or constructor stays data and changes no object', () => {
    const metadata = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    const text = textOf(FAILURE, metadata);
    expect(text).toEndWith(metadata.slice(1));
    expect(Object.getOwnPropertyNames(JSON.parse(text))).toContain('__proto__');
    expect({}).not.toHaveProperty('polluted');
  });

  const OWN = {
    post: [POST, 'headers body status_code'],
    get: [GET, 'headers status_code token_info body'],
    network_token: [NETWORK, 'network_token token_info'],
    failure: [FAILURE, 'error code'],
  } as const;

  test.each(Object.entries(OWN))('never has a name that %s may have', (_, [parts, names]) => {
    const members = names.split(' ').map((name) => `"${name}":"mine"`);
    expect(textOf(parts, `{${members.join()},"order":7}`)).toBe(`${textOf(parts).slice(0, -1)},"order":7}`);
  });

  test('may have the names of other kinds, but never makes an outcome look like a failure', () => {
    const metadata = '{"code":"order-7","token_info":1,"error":""}';
    expect(textOf(POST, metadata)).toBe(`${textOf(POST).slice(0, -1)},"token_info":1}`);
  });

  test('whatever it is, leaves the outcome as it is', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('body', 'headers')), fc.jsonValue()),
        (given) => {
          const body = JSON.parse(textOf(POST, JSON.stringify(given)));
          const { headers, body: reply, status_code } = JSON.parse(textOf(POST));
          expect(body).toMatchObject({ headers, body: reply, status_code });
          const others = Object.keys(given).filter((name) => name !== 'body' && name !== 'headers');
          expect(Object.keys(body).sort()).toEqual(
            [...new Set(['headers', 'body', 'status_code', ...others])].sort(),
          );
        },
      ),
    );
  });
});
