import { describe, expect, test } from 'bun:test';
import { constants, createHash, createHmac, privateDecrypt } from 'node:crypto';
import { type JsonObject, stringifyJson } from '../../../server/domain/json/json.ts';
import type { RuleOperation } from '../../../server/domain/rule/check.ts';
import { PUBLIC_KEY, type RuleCase } from './case.ts';
import { RULE_CASES } from './cases.ts';
import { objectOf, outcome, rsaKeys, run } from './run.ts';

const keys = rsaKeys(2048);

function withKey(operation: RuleOperation): RuleOperation {
  return operation.arguments?.['public_key'] === PUBLIC_KEY
    ? { ...operation, arguments: { ...operation.arguments, public_key: keys.publicKey } }
    : operation;
}

function decrypt(text: string, privateKey = keys.privateKey): string {
  return privateDecrypt(
    { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
    Buffer.from(text, 'base64'),
  ).toString();
}

/** The result of a case; a ciphertext, which differs each time, is checked and named. */
function resultOf({ operation, input, decrypted }: RuleCase): string {
  const text = outcome(() => run([withKey(operation)], input));
  if (decrypted === undefined) {
    return text;
  }
  const object: JsonObject = objectOf(text);
  expect(decrypt(String(object.get('out')))).toBe(decrypted);
  return stringifyJson(object.set('out', '<encrypted>'));
}

describe('the table of operations', () => {
  test.each(RULE_CASES.map((entry) => [entry.operation.name, entry.kind, entry.about, entry] as const))(
    '%s, %s: %s',
    (_name, _kind, _about, entry) => {
      expect(resultOf(entry)).toBe(entry.output);
    },
  );
});

/** What an operation makes of one value, both as JSON texts. */
function apply(name: RuleOperation['name'], args: Record<string, unknown>, value: string): string {
  return run([{ name, input_field: 'a', arguments: args }], `{"a":${value}}`).slice('{"a":'.length, -1);
}

describe('substr and mask', () => {
  test.each([
    [0, 0, '"abcdef"'],
    [2, 4, '"cd"'],
    [-2, 0, '"ef"'],
    [-4, -2, '"cd"'],
    [0, -1, '"abcde"'],
    [4, 2, '""'],
    [6, 0, '""'],
    [-99, 2, '"ab"'],
    [0, 99, '"abcdef"'],
    [0, -99, '""'],
  ])('from %d to %d of abcdef is %s', (start, end, expected) => {
    expect(apply('substr', { start, end }, '"abcdef"')).toBe(expected);
  });

  test('both positions have defaults: the whole text', () => {
    expect(apply('substr', {}, '"abc"')).toBe('"abc"');
    expect(apply('mask', {}, '"a c"')).toBe('"* *"');
  });

  test('numbers are cut as they are written', () => {
    expect(apply('substr', { start: 0, end: 4 }, '1.100e5')).toBe('"1.10"');
    expect(apply('mask', { start: 0, end: -1 }, '1.10')).toBe('"***0"');
  });

  test('a mask of several bytes stands for one character each', () => {
    expect(apply('mask', { start: 1, end: -1, char: '•' }, '"😀😀😀😀"')).toBe('"😀••😀"');
  });
});

describe('numbers from texts', () => {
  test.each([
    ['"1.10"', '1.10'],
    ['"-0"', '-0'],
    ['"1E+5"', '1E+5'],
    ['12.50', '12.50'],
    ['"+1.5"', '1.5'],
    ['".5"', '0.5'],
    ['"5."', '5'],
    ['"000"', '0'],
    ['"-007"', '-7'],
    ['"\\n\\t 7 "', '7'],
    ['""', '""'],
    ['" "', '" "'],
    ['"."', '"."'],
    ['"1,5"', '"1,5"'],
    ['"0x10"', '"0x10"'],
    ['"NaN"', '"NaN"'],
    ['"١"', '"١"'],
    ['false', 'false'],
  ])('parse_float of %s is %s', (value, expected) => {
    expect(apply('parse_float', {}, value)).toBe(expected);
  });

  test.each([
    [10, '"12.7"', '12'],
    [10, '"-12.7"', '-12'],
    [10, '"-0.9"', '0'],
    [10, '"007.9"', '7'],
    [10, '1.5e3', '1500'],
    [10, '"0.00125e4"', '12'],
    [10, '"1e-999999999999"', '0'],
    [10, '"0e999999999999"', '0'],
    [10, '"1e4096"', '"1e4096"'],
    [10, '9007199254740993', '9007199254740993'],
    [10, '"ff"', '"ff"'],
    [10, '""', '""'],
    [10, 'true', 'true'],
    [16, '"-0xFF"', '-255'],
    [16, '"ffffffffffffffffffffffff"', '79228162514264337593543950335'],
    [16, '"0x"', '"0x"'],
    [16, '"f.8"', '"f.8"'],
    [2, '"0b101"', '5'],
    [2, '"-0"', '0'],
    [36, '"Zz"', '1295'],
  ])('convert_to_int in base %d of %s', (base, value, expected) => {
    expect(apply('convert_to_int', { base }, value)).toBe(expected);
  });
});

test('convert_to_int makes integers of up to 4,096 digits', () => {
  expect(apply('convert_to_int', {}, '1e4095')).toBe(`1${'0'.repeat(4095)}`);
  expect(apply('convert_to_int', { base: 2 }, `"${'1'.repeat(4096)}"`)).toBe(String(2n ** 4096n - 1n));
  const tooLong = `"${'1'.repeat(4097)}"`;
  expect(apply('convert_to_int', { base: 2 }, tooLong)).toBe(tooLong);
});

describe('parse_json', () => {
  test.each([
    ['"1.10"', '1.10'],
    ['"null"', 'null'],
    ['" [1] "', '[1]'],
    ['"\\"\\\\ud800\\""', '"\\ud800"'],
    ['"{\\"__proto__\\":{}}"', '{"__proto__":{}}'],
    ['12', '12'],
    ['"{\\"a\\":1,\\"a\\":2}"', '"{\\"a\\":1,\\"a\\":2}"'],
    ['"\\"\\ud800\\""', '"\\"\\ud800\\""'],
    ['"\\ufeff1"', '"\ufeff1"'],
    ['""', '""'],
    ['[1]', '[1]'],
  ])('of %s', (value, expected) => {
    expect(apply('parse_json', {}, value)).toBe(expected);
  });
});

describe('hash', () => {
  const named: Record<string, string> = {
    md5: 'md5',
    'sha-1': 'sha1',
    'sha-256': 'sha256',
    'sha-384': 'sha384',
    'sha-512': 'sha512',
  };

  test.each(Object.entries(named))('%s', (algorithm, digest) => {
    const expected = createHash(digest).update('é 4242').digest('hex');
    expect(apply('hash', { algorithm }, '"é 4242"')).toBe(`"${expected}"`);
  });

  test.each(Object.entries(named).slice(1))(
    'hmac-%s, with its key as text and in hexadecimal',
    (algorithm, digest) => {
      const args = { algorithm: `hmac-${algorithm}` };
      const text = createHmac(digest, 'ké').update('4242').digest('hex');
      expect(apply('hash', { ...args, key: 'ké' }, '4242')).toBe(`"${text}"`);
      expect(apply('hash', { ...args, key: 'ké', hex_key: false }, '4242')).toBe(`"${text}"`);
      const hex = createHmac(digest, Buffer.from('00ff', 'hex')).update('4242').digest('hex');
      expect(apply('hash', { ...args, key: '00fF', hex_key: true }, '4242')).toBe(`"${hex}"`);
    },
  );
});

describe('encode', () => {
  /** RFC 4648, section 10. */
  const vectors = [
    ['', '', ''],
    ['f', 'Zg==', 'MY======'],
    ['fo', 'Zm8=', 'MZXQ===='],
    ['foo', 'Zm9v', 'MZXW6==='],
    ['foob', 'Zm9vYg==', 'MZXW6YQ='],
    ['fooba', 'Zm9vYmE=', 'MZXW6YTB'],
    ['foobar', 'Zm9vYmFy', 'MZXW6YTBOI======'],
  ] as const;

  test.each(vectors)('%j', (text, base64, base32) => {
    const hex = Buffer.from(text).toString('hex');
    expect(apply('encode', { scheme: 'base64' }, `"${text}"`)).toBe(`"${base64}"`);
    expect(apply('encode', { scheme: 'base32' }, `"${text}"`)).toBe(`"${base32}"`);
    expect(apply('encode', { scheme: 'base32', hex_input: true }, `"${hex}"`)).toBe(`"${base32}"`);
  });
});

describe('nonce', () => {
  test('is sixteen bytes in hexadecimal unless told otherwise', () => {
    expect(apply('nonce', {}, '{}')).toBe(`"${'a7'.repeat(16)}"`);
    expect(apply('nonce', { length: 3, encoding: 'hex' }, 'null')).toBe('"a7a7a7"');
  });
});

describe('encrypt', () => {
  test('takes PKCS#1 and a larger key, and gives another text each time', () => {
    const { publicKey, privateKey } = rsaKeys(3072, 'pkcs1');
    const first = apply('encrypt', { public_key: publicKey }, '"4242424242424242"').slice(1, -1);
    const second = apply('encrypt', { public_key: publicKey }, '"4242424242424242"').slice(1, -1);
    expect(first).not.toBe(second);
    expect(decrypt(first, privateKey)).toBe('4242424242424242');
    expect(decrypt(second, privateKey)).toBe('4242424242424242');
  });
});

describe('format', () => {
  const format = (format_string: string, keys: string[], input: string): string =>
    apply('format', { format_string, keys }, input);

  test('texts raw, numbers as written, null and missing fields empty, others as JSON', () => {
    const input = '{"s":"x\\"","n":1.10,"z":null,"b":false,"o":{"k":[1]}}';
    expect(format('%v|%v|%v|%v|%v|%v', ['s', 'n', 'z', 'b', 'o', 'none'], input)).toBe(
      '"x\\"|1.10||false|{\\"k\\":[1]}|"',
    );
  });

  test('keys are paths from the input; * is the input itself', () => {
    expect(format('%v-%v', ['1.x', '0'], '["a",{"x":"b"}]')).toBe('"b-a"');
    expect(format('ID-%v', ['*'], '"text"')).toBe('"ID-text"');
    expect(format('constant', [], '"text"')).toBe('"constant"');
  });

  test('percent signs: %% is one, others stand for themselves', () => {
    expect(format('%%v %%%v %', ['a'], '{"a":1}')).toBe('"%v %1 %"');
  });
});
