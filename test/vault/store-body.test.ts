import { afterAll, describe, expect, test } from 'bun:test';
import { type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const BYTES_MAX = 262_144;

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

const encoder = new TextEncoder();
function store(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return account.send('POST', '/vault', { query: { user: 'u' }, passphrase: PASSPHRASE, body, headers });
}
function tokenIn(answer: Answer): string {
  return answer.as<{ token: string }>().token;
}

/** A stored object of exactly so many bytes. */
function objectOf(bytes: number, filling = 'x'): string {
  const frame = '{"number":"4000","filling":""}';
  const pieces = Math.floor((bytes - frame.length) / encoder.encode(filling).length);
  const rest = bytes - frame.length - pieces * encoder.encode(filling).length;
  return `{"number":"4000","filling":"${filling.repeat(pieces)}${'x'.repeat(rest)}"}`;
}

describe('size', () => {
  test('262,144 bytes of JSON are stored and come back; one byte more is refused', async () => {
    for (const filling of ['x', '密', '🔑', '\\n']) {
      const text = objectOf(BYTES_MAX, filling);
      expect(encoder.encode(text)).toHaveLength(BYTES_MAX);
      expect(await account.open('u', tokenIn(await store(text)))).toBe(text);
      expect((await store(objectOf(BYTES_MAX + 1, filling))).outcome).toBe('413 body_too_large');
    }
  });

  test('it is what was sent that counts, white space too', async () => {
    const padded = `${' '.repeat(BYTES_MAX - 15)}{"number":"42"}`;
    expect((await store(padded)).outcome).toBe('200');
    expect((await store(` ${padded}`)).outcome).toBe('413 body_too_large');
  });
});

describe('depth', () => {
  const lists = (depth: number): string =>
    `{"number":"1","deep":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  const objects = (depth: number): string =>
    `{"number":"1","deep":${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}}`;

  test('64 levels are stored and come back, more are refused', async () => {
    for (const text of [lists(64), objects(64)]) {
      expect(await account.open('u', tokenIn(await store(text)))).toBe(text);
    }
    for (const text of [lists(65), objects(65), lists(100_000), objects(40_000)]) {
      expect((await store(text)).outcome).toBe('400 json_too_deep');
    }
  });
});

describe('JSON that is none', () => {
  const wrong: readonly (readonly [string, string | Uint8Array])[] = [
    ['an empty body', ''],
    ['the number twice', '{"number":"1","number":"1"}'],
    ['a lone byte of UTF-8', Uint8Array.of(...encoder.encode('{"number":"1","a":"'), 0xff, 0x22, 0x7d)],
  ];
  test.each(wrong)('%s is refused', async (_, body) => {
    expect((await store(body)).outcome).toBe('400 invalid_json');
  });

  test.each(['[{"number":"1"}]', '4111', 'null'])('%s is no object', async (body) => {
    const refused = await store(body);
    expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'body']);
  });
});

describe('what was stored comes back exactly', () => {
  const exact: readonly (readonly [string, string])[] = [
    ['big integers', '{"number":"1","a":9007199254740993,"b":-123456789012345678901234567890}'],
    ['what no JavaScript number holds', '{"number":"1","a":1e400,"b":-1E+999,"c":-0.0}'],
    ['lone surrogates', '{"number":"1","a":"\\ud800","b":"x\\udfffy","\\ud83d":1}'],
    ['text of all kinds', '{"number":"1","a":"ünï 密碼 🔑 👩‍👩‍👧 \u2028\u2029 \u202e"}'],
    ['names that look like integers, in their order', '{"10":1,"number":"1","9":2,"1":3,"01":4}'],
    [
      'members of every prototype',
      '{"__proto__":{"polluted":true},"number":"1","constructor":{"prototype":1},"toString":1}',
    ],
    [
      'verification codes in their places',
      '{"cvv":"123","number":"1","a":{"cvc":7,"b":[{"pin":"0"},1]},"CVV2":null}',
    ],
  ];
  test.each(exact)('%s', async (_, text) => {
    const stored = await store(text);
    expect(stored.outcome).toBe('200');
    expect(await account.open('u', tokenIn(stored))).toBe(text);
    const all = await account.send('GET', '/vault', {
      query: { user: 'u', decrypt_all: true, limit: -1 },
      passphrase: PASSPHRASE,
    });
    expect(all.text).toContain(`"data":${text}}`);
    await account.sdk.vault.delete({ user: 'u', token: tokenIn(stored) });
  });

  test('white space between the parts goes, nothing else', async () => {
    const stored = await store(' {\n "number" : "1 2" ,\t"a" : [ 1.0 , { } ]\r\n} ');
    expect(await account.open('u', tokenIn(stored))).toBe('{"number":"1 2","a":[1.0,{}]}');
  });

  test('nothing in this process was polluted', () => {
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('as the SDK stores and reads it', async () => {
    const data = { number: '1', nested: { list: [1, 'two', null, { three: 3 }] } };
    const { token } = await account.sdk.vault.store({ user: 'u', data });
    expect(await account.sdk.vault.decrypt({ user: 'u', token })).toEqual(data);
    const text = '{"number":"1","exact":1.10,"big":9007199254740993}';
    await account.sdk.vault.store({ user: 'u', data: text });
    expect(await account.sdk.vault.decryptText({ user: 'u', token })).toBe(text);
  });
});

test('any Content-Type is JSON, and none at all', async () => {
  for (const type of [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'nonsense',
  ]) {
    const stored = await store('{"number":"1","ü":"+%20&a=b"}', { 'content-type': type });
    expect(await account.open('u', tokenIn(stored))).toBe('{"number":"1","ü":"+%20&a=b"}');
  }
  expect((await store(encoder.encode('{"number":"1"}'))).outcome).toBe('200');
});
