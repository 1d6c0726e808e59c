import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, answerOf } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use, useEndpoint } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const BYTES_MAX = 262_144;
const encoder = new TextEncoder();

let vault: TestVault;
let account: AccountClient;
let shop: MadeEndpoint;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop' });
});
afterAll(() => vault.close());

function post(body: unknown, use: Use = {}): Promise<Answer> {
  return capture(vault, shop, { ...use, body });
}
function textOf(answer: Answer): Promise<string> {
  expect(answer.outcome).toBe('200');
  return account.open('u', answer.as<{ token: string }>().token, { reference: 'shop' });
}

describe('the body is JSON, whatever its Content-Type', () => {
  const text = '{"number":"1","ü":"+%20&a=b"}';
  test.each([
    'text/plain',
    'text/plain;charset=utf-8',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'multipart/form-data',
    'application/json; charset=utf-16',
    'application/octet-stream',
    'nonsense',
    '',
  ])('%p', async (type) => {
    expect(await textOf(await post(text, { headers: { 'content-type': type } }))).toBe(text);
  });

  test('none at all', async () => {
    expect(await textOf(await post(encoder.encode(text)))).toBe(text);
  });
});

describe('what was captured comes back exactly', () => {
  const exact: readonly (readonly [string, string])[] = [
    ['empty names and values', '{"number":"1","":"","a":[],"b":{}}'],
    ['big integers', '{"number":"1","a":9007199254740993,"b":-123456789012345678901234567890}'],
    ['zeros at the end', '{"number":"1","a":1.10,"b":100.00,"c":0.0}'],
    ['minus zero', '{"number":"1","a":-0,"b":-0.0}'],
    ['what no JavaScript number holds', '{"number":"1","a":1e400,"b":-1E+999,"c":1e-400}'],
    ['a number as an integer', '{"card_number":9007199254740993}'],
    [
      'names of prototypes',
      '{"number":"1","__proto__":{"a":1},"constructor":{"prototype":{"x":1}},"toString":0}',
    ],
    ['only __proto__ beside the number', '{"number":"1","__proto__":null}'],
    ['lone surrogates', '{"number":"1","a":"\\ud800","b":"x\\udfffy"}'],
    ['text of all kinds', '{"number":"1","a":"ünï 密碼 🔑 \u2028\u202e","b":"\\u0000\\n\\""}'],
    ['names that look like integers, in their order', '{"10":1,"number":"1","9":2,"01":4}'],
    [
      'what looks like fields of the vault',
      '{"number":"1","kid":"k","gen":9,"aid":"a","account":"x","stored_at":"2020"}',
    ],
    [
      'more of it',
      '{"number":"1","token":"t","user":"other","reference":"r","source":"vault","secret":"s","unique_id":"i","algorithm":"uuid"}',
    ],
    ['templates', '{"number":"1","a":"{{card_number}}","{{b}}":"{{{c}}}"}'],
  ];
  test.each(exact)('%s', async (_, text) => {
    const answer = await post(text);
    expect(await textOf(answer)).toBe(text);
    expect(answer.json).toEqual({
      token: answer.as<{ token: string }>().token,
      user: 'u',
      reference: 'shop',
    });
    expect(Reflect.get({}, 'a')).toBeUndefined();
  });
});

describe('what is refused', () => {
  const notJson: readonly (readonly [string, string | Uint8Array])[] = [
    ['nothing', ''],
    ['white space', ' \n'],
    ['half an object', '{"number":"1"'],
    ['two objects', '{"number":"1"}{"number":"2"}'],
    ['a form', 'card_number=4111111111111111'],
    ['a member twice', '{"number":"1","a":1,"a":2}'],
    ['the number twice', '{"number":"1","number":"1"}'],
    ['a member twice, one escaped', '{"number":"1","a":1,"\\u0061":2}'],
    ['a member twice below', '{"number":"1","deep":[{"c":1,"c":1}]}'],
    ['__proto__ twice', '{"number":"1","__proto__":1,"__proto__":2}'],
    ['NaN', '{"number":"1","a":NaN}'],
    ['a byte order mark', '\ufeff{"number":"1"}'],
    ['a lone byte of UTF-8', Uint8Array.of(...encoder.encode('{"number":"1","a":"'), 0xff, 0x22, 0x7d)],
    ['UTF-16', new Uint8Array(Buffer.from('{"number":"1"}', 'utf16le'))],
  ];
  test.each(notJson)('%s', async (_, body) => {
    expect((await post(body)).outcome).toBe('400 invalid_json');
  });

  test('no body at all, even with a number in the query', async () => {
    const answer = await useEndpoint(vault, 'POST', shop.url, {
      secret: shop.secret,
      query: { number: '4' },
    });
    expect(answer.outcome).toBe('400 invalid_json');
  });

  test.each(['[]', '[{"number":"1"}]', '"4111"', '4111', 'true', 'null'])(
    '%s, which is no object',
    async (body) => {
      const answer = await post(body);
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body']);
    },
  );

  test('and stores nothing, and shows nothing of it', async () => {
    await account.key('empty');
    const endpoint = await createCapture(account, 'empty');
    const canary = '{"number":"canary-1","canary":tru}';
    const answer = await capture(vault, endpoint, { body: canary, query: { reference: 'canary-2' } });
    expect(answer.outcome).toBe('400 invalid_json');
    expect(answer.text).not.toContain('canary');
    expect((await account.sdk.vault.list({ user: 'empty' })).data).toEqual({ empty: [] });
  });
});

describe('limits', () => {
  const objectOf = (bytes: number, filling = 'x'): string => {
    const frame = '{"number":"4000","filling":""}';
    const width = encoder.encode(filling).length;
    const pieces = Math.floor((bytes - frame.length) / width);
    const rest = bytes - frame.length - pieces * width;
    return `{"number":"4000","filling":"${filling.repeat(pieces)}${'x'.repeat(rest)}"}`;
  };

  test.each(['x', '密', '\\n'])('262,144 bytes are taken, one more is not: %p', async (filling) => {
    const text = objectOf(BYTES_MAX, filling);
    expect(await textOf(await post(text))).toBe(text);
    expect((await post(objectOf(BYTES_MAX + 1, filling))).outcome).toBe('413 body_too_large');
  });

  test('also when no length is declared', async () => {
    const chunked = async (text: string): Promise<Answer> => {
      const bytes = encoder.encode(text);
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (let at = 0; at < bytes.length; at += 10_000) {
            controller.enqueue(bytes.slice(at, at + 10_000));
          }
          controller.close();
        },
      });
      const headers = { 'x-vault-capture-secret': shop.secret };
      return answerOf(
        await vault.handle(new Request(`http://localhost${shop.url}`, { method: 'POST', body, headers })),
      );
    };
    expect((await chunked(objectOf(BYTES_MAX))).outcome).toBe('200');
    expect((await chunked(objectOf(BYTES_MAX + 1))).outcome).toBe('413 body_too_large');
  });

  test('what rules make of it is measured too', async () => {
    const operation = {
      name: 'format',
      input_field: '*',
      output_field: 'twice',
      arguments: { format_string: '%v%v', keys: ['filling', 'filling'] },
    };
    expect((await account.send('POST', '/rule', { query: { id: 'twice' }, body: [operation] })).outcome).toBe(
      '200',
    );
    const endpoint = await createCapture(account, 'u', { rules: 'twice' });
    const large = await capture(vault, endpoint, { body: objectOf(150_000) });
    expect(large.outcome).toBe('413 body_too_large');
    expect((await capture(vault, endpoint, { body: objectOf(80_000) })).outcome).toBe('200');
  });

  const lists = (depth: number): string =>
    `{"number":"1","deep":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  const objects = (depth: number): string =>
    `{"number":"1","deep":${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}}`;

  test.each([lists(64), objects(64)])('64 levels are taken', async (text) => {
    expect(await textOf(await post(text))).toBe(text);
  });

  test.each([lists(65), objects(65), lists(100_000), `{"number":"1","deep":${'['.repeat(200_000)}`])(
    'more are refused',
    async (text) => {
      expect((await post(text)).outcome).toBe('400 json_too_deep');
    },
  );
});

describe('the query', () => {
  test('may hold what the vault does not know, which changes nothing', async () => {
    const plain = await post({ number: '1' });
    const answer = await post(
      { number: '1' },
      {
        query: {
          ...{
            user: 'other',
            passphrase: 'x',
            token: 'tok',
            rules: 'none',
            mask_fields: 'number',
          },
          ...{ kid: 'k', gen: 9, aid: 'a', account: 'x', stored_at: '2020-01-01T00:00:00Z', source: 'vault' },
          ...{
            unique_id: 'other',
            secret: 'x',
            expires_at: 'x',
            kind: 'retrieve',
            unmasked: true,
            seed: 's',
          },
          ...{ 'number[]': '7', utm_source: 'mail', '': 'x', REFERENCE: 'r', Algorithm: 'uuid' },
        },
      },
    );
    expect([answer.outcome, answer.json]).toEqual(['200', plain.json]);
  });

  test.each([
    ['reference=a&reference=a', 'query.reference'],
    ['reference=a&referenc%65=b', 'query.reference'],
    ['number=1&number=2', 'query.number'],
    ['n=1&n=1', 'query.n'],
    ['algorithm=full&algorithm=full', 'query.algorithm'],
    ['return_card_metadata=1&return_card_metadata=1', 'query.return_card_metadata'],
    ['form_type=pcd&form_type=ach', 'query.form_type'],
    ['unknown=1&unknown=2', 'query'],
  ])('twice the same is refused: %s', async (query, field) => {
    const answer = await useEndpoint(vault, 'POST', `${shop.url}?${query}`, {
      secret: shop.secret,
      body: { number: '1' },
    });
    expect([answer.outcome, answer.field]).toEqual(['400 duplicate_parameter', field]);
  });

  test.each(['reference=%ff', 'reference=%', 'reference=%zz', '%ff=1'])(
    'bad encoding is refused: %s',
    async (query) => {
      const answer = await useEndpoint(vault, 'POST', `${shop.url}?${query}`, {
        secret: shop.secret,
        body: { number: '1' },
      });
      expect(answer.outcome).toBe('400 invalid_request');
      expect(answer.field).toStartWith('query');
    },
  );
});
