import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { VaultError } from '../../../server/core/errors.ts';
import {
  isNumberLiteral,
  jsonByteLength,
  parseJson,
  parseStoredObject,
  quoteJson,
  stringifyJson,
} from '../../../server/domain/json/json.ts';
import { anyText, jsonObject, utf8 } from './arbitrary.ts';

function refusal(act: () => unknown): VaultError {
  try {
    act();
  } catch (error) {
    if (error instanceof VaultError) {
      return error;
    }
    throw error;
  }
  throw new Error('Nothing was refused.');
}

function codeOf(text: string | Uint8Array): string {
  return refusal(() => parseJson(typeof text === 'string' ? utf8(text) : text)).code;
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

describe('parseJson and stringifyJson', () => {
  test.each([
    '{}',
    'null',
    'false',
    '1.10',
    '1e400',
    '-1E-400',
    '1e+05',
    '9'.repeat(40),
    '{"":""}',
    '{"b":1,"a":2,"1":3,"0":4}',
    '{"__proto__":{"x":1},"constructor":null}',
    '{"a":"\\ud800","\\udfff":"x\\udbffy"}',
    '"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\/"',
    '"\u007f\u2028\u2029é😀\ufeff"',
    '[[[{"a":[{}]}]],[]]',
  ])('%s comes back as it was', (text) => {
    expect(stringifyJson(parseJson(utf8(text)))).toBe(text);
  });

  test.each([
    [' \t\r\n{ "a" : [ 1 , 2 ] } \n', '{"a":[1,2]}'],
    ['"\\u0041\\/\\u00e9\\ud83d\\ude00"', '"A/é😀"'],
    ['{"\\u0061":1}', '{"a":1}'],
  ])('%j is read as %s', (text, compact) => {
    expect(stringifyJson(parseJson(utf8(text)))).toBe(compact);
  });

  test.each([
    '{a:1}',
    "{'a':1}",
    '{} {}',
    '{}\u0000',
    '"\\x"',
    '"\\u12g4"',
    '"\u0000"',
    'tru',
    'NaN',
    'Infinity',
    '01',
    '1.',
    '.5',
    '\u00a01',
    '\ufeff{}',
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"o":{"a":1,"b":2,"a":3}}',
  ])('%j is not JSON', (text) => {
    expect(codeOf(text)).toBe('invalid_json');
  });

  test.each([
    [[0xff]],
    [[0x22, 0xc0, 0xaf, 0x22]],
    [[0x22, 0xed, 0xa0, 0x80, 0x22]],
    [[0x22, 0xf5, 0x80, 0x80, 0x80, 0x22]],
    [[0xef, 0xbb, 0xbf, 0x7b, 0x7d]],
  ])('the bytes %j are refused', (bytes) => {
    expect(codeOf(Uint8Array.from(bytes))).toBe('invalid_json');
  });

  test('64 levels are read, 65 are too deep, 100,000 do not overflow the stack', () => {
    expect(stringifyJson(parseJson(utf8(nested(64))))).toBe(nested(64));
    expect(codeOf(nested(65))).toBe('json_too_deep');
    expect(codeOf(`${'{"a":'.repeat(64)}[]${'}'.repeat(64)}`)).toBe('json_too_deep');
    expect(codeOf('['.repeat(100_000))).toBe('json_too_deep');
    expect(codeOf('{"a":'.repeat(100_000))).toBe('json_too_deep');
  });

  test('as many values as are allowed are read, and nothing after them', () => {
    const limits = { valuesMax: 4 };
    for (const text of ['[1,2,3]', '{"a":[null,"x"]}', '[[[{}]]]']) {
      expect(stringifyJson(parseJson(utf8(text), limits))).toBe(text);
    }
    for (const text of ['[1,2,3,4]', '[1,2,3,no JSON', '{"a":[{},[],{"b":[', '[[[[[']) {
      const { code, field } = refusal(() => parseJson(utf8(text), limits));
      expect([code, field]).toEqual(['invalid_request', 'body']);
    }
  });

  test('a list is read up to the length that it may have, and nothing after it', () => {
    const lists = { a: { max: 2, field: 'body.a', expected: 'must be short' } };
    for (const text of [
      '{"a":[]}',
      '{"a":[1,2]}',
      '{"b":[1,2,3],"c":{"a":[1,2,3]}}',
      '[{"a":[1,2,3]}]',
      '{"a":"text"}',
    ]) {
      expect(stringifyJson(parseJson(utf8(text), { lists }))).toBe(text);
    }
    for (const text of ['{"a":[1,2,3]}', '{"a":[1,2,no JSON', '{"b":[1,2,3],"a":[[],[],[']) {
      const { code, field, expected } = refusal(() => parseJson(utf8(text), { lists }));
      expect([code, field, expected]).toEqual(['invalid_request', 'body.a', 'must be short']);
    }
    expect(codeOf('{"a":[1,2,no JSON')).toBe('invalid_json');
    expect(refusal(() => parseJson(utf8('{"constructor":[1'), { lists })).code).toBe('invalid_json');
  });

  test('ten thousand members and a member named __proto__ are plain data', () => {
    const text = `{${Array.from({ length: 10_000 }, (_, at) => `"${at}":${at}`).join(',')}}`;
    expect(stringifyJson(parseJson(utf8(text)))).toBe(text);
    const object = parseStoredObject(utf8('{"__proto__":{"admin":true}}'));
    expect(object.has('__proto__')).toBe(true);
    expect(Object.hasOwn(Object.prototype, 'admin')).toBe(false);
  });

  test('a view into a larger buffer is read alone', () => {
    const bytes = utf8('xx{"a":1}yy');
    expect(stringifyJson(parseJson(bytes.subarray(2, 9)))).toBe('{"a":1}');
  });

  test('every generated object comes back the same, and reads as JSON.parse reads it', () => {
    fc.assert(
      fc.property(jsonObject(anyText), (object) => {
        const text = stringifyJson(object);
        expect(text.isWellFormed()).toBe(true);
        expect(parseStoredObject(utf8(text))).toEqual(object);
        expect(JSON.stringify(JSON.parse(text)).length).toBeGreaterThan(1);
        expect(jsonByteLength(object)).toBe(utf8(text).length);
      }),
    );
  });

  test('any text is accepted exactly when JSON.parse accepts it, repeated names and depth aside', () => {
    const piece = fc.constantFrom(...'{}[],:" \\0123.-+eE\n\u0000', '"a"', 'true', 'null', '\\u00e9', '1.0');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        let native: unknown;
        try {
          native = JSON.parse(text);
        } catch {
          expect(codeOf(text)).toBe('invalid_json');
          return;
        }
        try {
          expect(JSON.parse(stringifyJson(parseJson(utf8(text))))).toEqual(native);
        } catch (error) {
          expect(error).toBeInstanceOf(VaultError);
          expect(text).toContain('"');
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe('parseStoredObject', () => {
  test.each(['[]', '"x"', '1', 'null', 'true'])('%s is refused at body', (text) => {
    const error = refusal(() => parseStoredObject(utf8(text)));
    expect([error.code, error.field]).toEqual(['invalid_request', 'body']);
  });
});

describe('parts', () => {
  test('isNumberLiteral takes whole literals only', () => {
    for (const text of ['0', '-0', '1.10', '1e400']) {
      expect(isNumberLiteral(text)).toBe(true);
    }
    for (const text of ['', '-', '01', '1.', '1 ', ' 1', '1e', 'NaN', '٣']) {
      expect(isNumberLiteral(text)).toBe(false);
    }
  });

  test('quoteJson agrees with JSON.stringify', () => {
    fc.assert(fc.property(anyText, (text) => expect(quoteJson(text)).toBe(JSON.stringify(text))));
  });
});
