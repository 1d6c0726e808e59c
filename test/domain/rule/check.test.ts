import { describe, expect, test } from 'bun:test';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { VaultError } from '../../../server/core/errors.ts';
import { checkOperations } from '../../../server/domain/rule/check.ts';
import { rsaKeys } from './run.ts';

/** The place of the refusal; the error must be `invalid_request` and say nothing else. */
function refusedAt(body: unknown): string | undefined {
  try {
    checkOperations(body);
  } catch (error) {
    expect(error).toBeInstanceOf(VaultError);
    expect((error as VaultError).code).toBe('invalid_request');
    return (error as VaultError).field ?? '(no field)';
  }
  return undefined;
}

const CANARY = '4242424242424242';
const noop = { name: 'noop' };
const pem = rsaKeys(2048);
function withArguments(name: string, args: unknown): unknown {
  return [noop, { name, arguments: args }];
}

describe('the list', () => {
  test.each([
    ['nothing', undefined, 'body'],
    ['null', null, 'body'],
    ['a text', 'noop', 'body'],
    ['an object without operations', {}, 'body'],
    ['one operation alone', noop, 'body'],
    ['an empty list', [], 'body'],
    ['65 operations', Array(65).fill(noop), 'body'],
    ['65 operations as a member', { operations: Array(65).fill(noop) }, 'body.operations'],
    ['a member that is no list', { operations: noop }, 'body.operations'],
    ['null as a member', { operations: null }, 'body.operations'],
    ['an item that is no operation', [noop, 'noop'], 'body[1]'],
    ['null in the list', { operations: [noop, null] }, 'body.operations[1]'],
    [
      'texts that are too long together',
      [0, 1, 2].map(() => ({ name: 'template', arguments: { template: 'x'.repeat(50_000) } })),
      'body',
    ],
  ])('refuses %s', (_what, body, place) => {
    expect(refusedAt(body)).toBe(place);
  });

  test('takes 1 to 64 operations, bare or wrapped, and shows them as they were given', () => {
    const full = {
      name: 'substr',
      input_field: 'expiry_year',
      output_field: 'expiry_year_short',
      order_position: 2,
      arguments: { start: -2, end: 0 },
    };
    const list = [full, ...Array(63).fill(noop)];
    expect(checkOperations(list)).toEqual(list);
    expect(checkOperations({ id: 'mine', operations: list })).toEqual(list);
    expect(JSON.stringify(checkOperations([full]))).toBe(JSON.stringify([full]));
  });

  test('takes objects without a prototype', () => {
    const operation = Object.assign(Object.create(null), { name: 'substr' });
    operation.arguments = Object.assign(Object.create(null), { start: 1 });
    expect(JSON.stringify(checkOperations([operation]))).toBe('[{"name":"substr","arguments":{"start":1}}]');
  });
});

describe('an operation', () => {
  test.each([
    ['no name', {}, '.name'],
    ['an unknown name', { name: CANARY }, '.name'],
    ['a name in another case', { name: 'Noop' }, '.name'],
    ['a name of every object', { name: 'constructor' }, '.name'],
    ['an unknown member', { ...noop, [CANARY]: 1 }, ''],
    ['a misspelt member', { ...noop, input_fild: 'a' }, '.input_fild'],
    ['an empty input field', { ...noop, input_field: '' }, '.input_field'],
    ['an input field of null', { ...noop, input_field: null }, '.input_field'],
    ['an output field that is no text', { ...noop, output_field: 1 }, '.output_field'],
    ['a long output field', { ...noop, output_field: 'x'.repeat(1025) }, '.output_field'],
    ['a deep input field', { ...noop, input_field: Array(65).fill('x').join('.') }, '.input_field'],
    ['half a character', { ...noop, output_field: '\ud800' }, '.output_field'],
    ['a position with a fraction', { ...noop, order_position: 1.5 }, '.order_position'],
    ['arguments as a list', { ...noop, arguments: [] }, '.arguments'],
    ['arguments of null', { ...noop, arguments: null }, '.arguments'],
    ['an argument that noop does not have', { ...noop, arguments: { [CANARY]: CANARY } }, '.arguments'],
    ['a misspelt argument', { name: 'substr', arguments: { strat: 1 } }, '.arguments.strat'],
  ])('with %s is refused', (_what, operation, place) => {
    expect(refusedAt([noop, noop, operation])).toBe(`body[2]${place}`);
    expect(refusedAt({ operations: [operation] })).toBe(`body.operations[0]${place}`);
  });

  test('may have fields of 1,024 characters and 64 steps', () => {
    const field = Array(64).fill('x'.repeat(15)).join('.');
    expect(refusedAt([{ ...noop, input_field: field, output_field: 'é'.repeat(1024) }])).toBeUndefined();
  });
});

function ecPem(): string {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).publicKey;
}

/** A key under which a ciphertext is the padded text itself. */
function exponentOnePem(): string {
  const jwk = createPublicKey(pem.publicKey).export({ format: 'jwk' });
  return String(
    createPublicKey({ key: { ...jwk, e: 'AQ' }, format: 'jwk' }).export({ type: 'spki', format: 'pem' }),
  );
}

describe('arguments', () => {
  const hmac = { algorithm: 'hmac-sha-256' };
  const format = (format_string: unknown, keys?: unknown): unknown => ({ format_string, keys });
  const BAD: readonly (readonly [string, string, unknown, string])[] = [
    ['substr', 'a fraction', { start: 1.5 }, '.start'],
    ['substr', 'infinity, as 1e400 is read', { start: Number.POSITIVE_INFINITY }, '.start'],
    ['substr', 'null', { end: null }, '.end'],
    ['substr', 'more than can be counted', { end: 2 ** 53 }, '.end'],
    ['convert_to_int', 'base 1', { base: 1 }, '.base'],
    ['convert_to_int', 'base 37', { base: 37 }, '.base'],
    ['replace', 'nothing to replace', { new_str: 'x' }, '.substr'],
    ['replace', 'an empty text to replace', { substr: '', new_str: 'x' }, '.substr'],
    ['replace', 'nothing to put there', { substr: 'x' }, '.new_str'],
    ['replace', 'a long text', { substr: 'x', new_str: 'x'.repeat(4097) }, '.new_str'],
    ['replace', 'half a character', { substr: '\udc00', new_str: 'x' }, '.substr'],
    ['mask', 'no char', { char: '' }, '.char'],
    ['mask', 'two chars', { char: '**' }, '.char'],
    ['format', 'no format', { keys: [] }, '.format_string'],
    ['format', 'too few keys', format('%v/%v', ['a']), '.keys'],
    ['format', 'too many keys', format('%v', ['a', 'b']), '.keys'],
    ['format', 'no keys for its places', { format_string: '%v' }, '.keys'],
    ['format', 'a key for an escaped place', format('%%v', ['a']), '.keys'],
    ['format', 'keys as a text', format('%v', 'a'), '.keys'],
    ['format', 'a key that is no text', format('%v%v', ['a', 1]), '.keys[1]'],
    ['format', 'an empty key', format('%v%v', ['a', '']), '.keys[1]'],
    ['format', 'a deep key', format('%v', ['.'.repeat(64)]), '.keys[0]'],
    ['format', '65 keys', format('%v'.repeat(65), Array(65).fill('a')), '.keys'],
    ['template', 'no template', {}, '.template'],
    ['template', 'a template that is an object', { template: {} }, '.template'],
    ['template', 'an open tag', { template: '{{a' }, '.template'],
    ['template', 'a long template', { template: 'x'.repeat(65_537) }, '.template'],
    ['hash', 'no algorithm', {}, '.algorithm'],
    ['hash', 'an unknown algorithm', { algorithm: 'sha256' }, '.algorithm'],
    ['hash', 'a name of every object', { algorithm: 'toString' }, '.algorithm'],
    ['hash', 'an HMAC without a key', hmac, '.key'],
    ['hash', 'an HMAC with an empty key', { ...hmac, key: '' }, '.key'],
    ['hash', 'an HMAC with a long key', { ...hmac, key: 'x'.repeat(4097) }, '.key'],
    ['hash', 'a key that is not hexadecimal', { ...hmac, key: 'secret', hex_key: true }, '.key'],
    ['hash', 'half a byte', { ...hmac, key: 'abc', hex_key: true }, '.key'],
    ['hash', 'a text for a flag', { ...hmac, key: 'ab', hex_key: 'true' }, '.hex_key'],
    ['hash', 'a key for a plain hash', { algorithm: 'md5', key: 'secret' }, '.key'],
    ['encode', 'no scheme', {}, '.scheme'],
    ['encode', 'an unknown scheme', { scheme: 'base58' }, '.scheme'],
    ['nonce', 'no bytes', { length: 0 }, '.length'],
    ['nonce', 'too many bytes', { length: 1025 }, '.length'],
    ['nonce', 'an unknown encoding', { encoding: 'base32' }, '.encoding'],
    ['encrypt', 'no key', {}, '.public_key'],
    ['encrypt', 'another algorithm', { algorithm: 'rsa-oaep', public_key: pem.publicKey }, '.algorithm'],
    ['encrypt', 'a private key', { public_key: pem.privateKey }, '.public_key'],
    ['encrypt', 'a short key', { public_key: rsaKeys(1024).publicKey }, '.public_key'],
    ['encrypt', 'a key of another kind', { public_key: ecPem() }, '.public_key'],
    ['encrypt', 'the exponent 1', { public_key: exponentOnePem() }, '.public_key'],
    ['encrypt', 'a broken key', { public_key: pem.publicKey.replace('MII', 'MIJ') }, '.public_key'],
    [
      'encrypt',
      'a private key behind a public one',
      { public_key: pem.publicKey + pem.privateKey },
      '.public_key',
    ],
    ['encrypt', 'no PEM at all', { public_key: 'MIIB' }, '.public_key'],
    ['stringify', 'any argument', { a: 1 }, '.a'],
  ];

  test.each(BAD)('%s with %s is refused', (name, _what, args, place) => {
    expect(refusedAt(withArguments(name, args))).toBe(`body[1].arguments${place}`);
  });

  const GOOD: readonly (readonly [string, Record<string, unknown>])[] = [
    ['substr', { start: -(2 ** 53) + 1, end: 2 ** 53 - 1 }],
    ['convert_to_int', { base: 2 }],
    ['convert_to_int', { base: 36 }],
    ['replace', { substr: 'x'.repeat(4096), new_str: '' }],
    ['mask', { char: '😀' }],
    ['format', { format_string: '%v'.repeat(64), keys: Array(64).fill('a.b') }],
    ['format', { format_string: '' }],
    ['template', { template: '' }],
    ['template', { template: `{{! ${'a comment '.repeat(500)}}}` }],
    ['hash', { ...hmac, key: '00ff', hex_key: true }],
    ['encode', { scheme: 'base32', hex_input: false }],
    ['nonce', { length: 1024, encoding: 'base64' }],
    ['encrypt', { public_key: pem.publicKey }],
    ['encrypt', { public_key: ` ${pem.publicKey.trim().replaceAll('\n', '\r\n')}\n\n` }],
    ['encrypt', { public_key: rsaKeys(2048, 'pkcs1').publicKey, algorithm: 'rsa-oaep-256' }],
  ];

  test.each(GOOD)('%s takes what is just within its bounds (%#)', (name, args) => {
    expect(refusedAt(withArguments(name, args))).toBeUndefined();
  });
});
