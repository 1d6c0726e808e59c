import { describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { VaultError } from '../../server/core/errors.ts';
import { compileJsonBody } from '../../server/schema/json-body.ts';
import type { StoreInput } from '../../server/vault/vault.ts';
import { createClient } from './client.ts';

const KEY = '/v1/key';
const STORE = '/v1/vault?user=u1&passphrase=pass';

function inChunks(length: number, chunk = 65_536): ReadableStream<Uint8Array> {
  let left = length;
  return new ReadableStream({
    pull: (controller) => {
      const size = Math.min(chunk, left);
      left -= size;
      if (size > 0) {
        controller.enqueue(new Uint8Array(size).fill(0x20));
      } else {
        controller.close();
      }
    },
  });
}

describe('200', () => {
  test.each(['application/json', 'text/plain', 'multipart/form-data', ''])(
    'JSON under the Content-Type %p',
    async (type) => {
      const client = createClient();
      const headers = { 'Content-Type': type };
      const answer = await client.send('POST', KEY, { headers, body: '{"user":"u1"}' });
      expect(answer.status).toBe(200);
      expect(client.lastInput()).toEqual({ user: 'u1', passphrase: undefined });
    },
  );

  test('a stored body is handed on as the bytes that came', async () => {
    const client = createClient();
    const body = '{"n":"1","__proto__":{"a":1.10},"big":123456789012345678901234567890}';
    await client.send('POST', STORE, { body });
    expect(new TextDecoder().decode((client.lastInput() as StoreInput).body)).toBe(body);
  });

  test.each([1_000, 262_144])('a stored body of %d bytes without a length', async (length) => {
    const client = createClient();
    expect((await client.send('POST', STORE, { body: inChunks(length, 1_000) })).status).toBe(200);
    expect((client.lastInput() as StoreInput).body.byteLength).toBe(length);
  });

  test('bodies where none is taken are not looked at', async () => {
    const answer = await createClient().send('DELETE', '/v1/vault?user=u1&token=tok', { body: '{not json' });
    expect(answer.status).toBe(200);
  });

  test('unknown names in the query, where they are ignored, reach nothing', async () => {
    const { http } = createClient().parts;
    const client = createClient({ http: { ...http, refuseUnknown: false } });
    const query = '&usr=u2&__proto__=x&constructor=y&%5f_proto__%5bpolluted%5d=1';
    expect((await client.send('POST', `${STORE}${query}`, { body: '{"n":"1"}' })).status).toBe(200);
    expect(JSON.stringify(client.lastInput())).not.toMatch(/usr|polluted|"x"|"y"/);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect((await createClient().send('POST', `${STORE}&usr=u2`, { body: '{}' })).error.code).toBe(
      'unknown_parameter',
    );
  });

  test('__proto__ is a name like any other, where unknown names are ignored', async () => {
    const body = '{"user":"u1","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    const { http } = createClient().parts;
    const client = createClient({ http: { ...http, refuseUnknown: false } });
    expect((await client.send('POST', KEY, { body })).status).toBe(200);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
});

describe('400', () => {
  const deep = (levels: number) => `{"user":"u1","a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const refused: readonly (readonly [string, string, string | undefined])[] = [
    ['', 'invalid_request', 'body.user'],
    ['{}', 'invalid_request', 'body.user'],
    ['[]', 'invalid_request', 'body'],
    ['{"user":7}', 'invalid_request', 'body.user'],
    ['{"user":"u1","passphrase":"short"}', 'invalid_request', 'body.passphrase'],
    ['{"user":"u1","passphrase":"😀😀😀😀"}', 'invalid_request', 'body.passphrase'],
    ['{"user":"u1","passphrase":"\\ud800 lone surrogate"}', 'invalid_request', 'body.passphrase'],
    [`{"user":"u1","passphrase":"${'p'.repeat(4097)}"}`, 'invalid_request', 'body.passphrase'],
    ['{"__proto__":{"user":"u1"}}', 'unknown_parameter', 'body.__proto__'],
    ['{"usr":"u1"}', 'unknown_parameter', 'body.usr'],
    ['{"user":"u1","unknown":[1e400]}', 'unknown_parameter', 'body.unknown'],
    ['{"user":"u1","4111111111111111":1}', 'unknown_parameter', 'body'],
    ['{"user":"u1","user":"u1"}', 'invalid_json', 'body'],
    ['user=u1', 'invalid_json', 'body'],
    [deep(64), 'json_too_deep', 'body'],
    [deep(30_000), 'json_too_deep', 'body'],
  ];
  test.each(refused)('POST /v1/key %#', async (body, code, field) => {
    const answer = await createClient().send('POST', KEY, { body });
    expect(answer.status).toBe(400);
    expect(answer.error.code).toBe(code as never);
    expect(answer.error.field).toBe(field);
  });

  test('malformed UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"user":"u1","a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect((await createClient().send('POST', KEY, { body })).error.code).toBe('invalid_json');
  });

  test('the passphrases of a change are checked by what each is for', async () => {
    const send = (body: object) => createClient().send('PUT', KEY, { body: JSON.stringify(body) });
    expect((await send({ user: 'u1', passphrase: 'x' })).status).toBe(200);
    expect((await send({ user: 'u1', passphrase: '' })).error.field).toBe('body.passphrase');
    const short = await send({ user: 'u1', passphrase: 'x', new_passphrase: 'short' });
    expect(short.error.field).toBe('body.new_passphrase');
  });
});

describe('the place of a fault in a body that is no plain object', () => {
  const Step = Type.Object({
    name: Type.String(),
    'a/b': Type.Optional(Type.Integer()),
    arguments: Type.Optional(Type.Object({ start: Type.Integer() })),
    0: Type.Optional(Type.Integer()),
  });
  const Steps = Type.Array(Step, { minItems: 1, maxItems: 3 });
  const decode = compileJsonBody(Type.Union([Steps, Type.Object({ steps: Steps })]));
  const fieldOf = (text: string): string | undefined => {
    try {
      decode(new TextEncoder().encode(text));
      return 'accepted';
    } catch (error) {
      return error instanceof VaultError ? error.field : String(error);
    }
  };
  const places: readonly (readonly [string, string])[] = [
    ['[{"name":"x"}]', 'accepted'],
    ['{"steps":[{"name":"x","arguments":{"start":-2}}]}', 'accepted'],
    ['', 'body.steps'],
    ['{"steps":[]}', 'body.steps'],
    ['{"steps":[{"name":"x"},{"name":7}]}', 'body.steps[1].name'],
    ['[]', 'body'],
    ['null', 'body'],
    ['[{"name":"x"},{"name":"x","arguments":{"start":1.5}}]', 'body[1].arguments.start'],
    ['[{"name":"x","0":"canary"}]', 'body[0].0'],
    ['[{"canary":"x","__proto__":{"name":"x"}}]', 'body[0].name'],
    ['[{"name":"x"},{"name":"x"},{"name":"x"},{"name":"x"}]', 'body'],
  ];
  test.each(places)('%s: %s', (text, field) => {
    expect(fieldOf(text)).toBe(field);
  });

  test('is no further down than names that a message may repeat', () => {
    const check = compileJsonBody(Type.Record(Type.String(), Type.Object({ a: Type.Integer() })));
    const fieldAt = (name: string): unknown => {
      try {
        return check(new TextEncoder().encode(`{"${name}":{"a":"x"}}`));
      } catch (error) {
        return Reflect.get(Object(error), 'field');
      }
    };
    expect(fieldAt('card_number')).toBe('body.card_number.a');
    for (const name of ['4111111111111111', 'n4111-1111-1111-1111', 'n41_11_11', 'two words', '0', '']) {
      expect(fieldAt(name)).toBe('body');
    }
  });
});

describe('413', () => {
  test.each([
    [STORE, 262_145],
    ['/v1/vault/update?user=u1&token=tok&passphrase=pass', 262_145],
    [KEY, 65_537],
    ['/v1/vault/batch/delete', 524_289],
  ])('%s over its limit, by length and by count, before anybody signs in', async (target, length) => {
    for (const headers of [{ 'Content-Length': String(length) }, undefined]) {
      const client = createClient();
      const answer = await client.send('POST', target, {
        body: inChunks(length),
        ...(headers === undefined ? {} : { headers }),
      });
      expect(answer.status).toBe(413);
      expect(answer.error).toMatchObject({ code: 'body_too_large', field: 'body' });
      expect(client.parts.asked).toEqual([]);
    }
  });
});
