import { expect, test } from 'bun:test';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { textOf } from '../../../workers/crypto/primitives/bytes.ts';
import { readPem, toPem, toPemBytes } from '../../../workers/crypto/primitives/pem.ts';
import { toHex } from './fixture.ts';

function randomOf(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

test('every length is written and read the same, and the bytes are those of the text', () => {
  for (let length = 1; length <= 300; length++) {
    const der = randomOf(length);
    const text = toPem('X Y', der);
    expect(textOf(toPemBytes('X Y', der))).toBe(text);
    expect(readPem(text)?.map((block) => [block.label, toHex(block.der)])).toEqual([['X Y', toHex(der)]]);
  }
});

test('the text of a private key is what the runtime writes', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = new Uint8Array(privateKey.export({ format: 'der', type: 'pkcs8' }));
  const pem = toPemBytes('PRIVATE KEY', der);
  expect(textOf(pem)).toBe(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
  expect(createPrivateKey(Buffer.from(pem)).equals(privateKey)).toBe(true);
});

const A = '-----BEGIN A-----\nAAEC\n-----END A-----\n';

test.each([
  ['no block', '', []],
  ['one', A, ['000102']],
  ['no line end at the end', A.trimEnd(), ['000102']],
  ['CRLF', A.replaceAll('\n', '\r\n'), ['000102']],
  ['two, and empty lines round them', `\n${A}\n\n${A}\n\n`, ['000102', '000102']],
  ['lines of uneven length', '-----BEGIN A-----\nAA\nEC\n-----END A-----', ['000102']],
])('reads %s', (_, text, expected) => {
  expect(readPem(text)?.map(({ der }) => toHex(der))).toEqual(expected);
});

test.each([
  ['text before', `hello\n${A}`],
  ['text after', `${A}hello`],
  ['a blank before', ` ${A}`],
  ['a blank at the end of a line', A.replace('AAEC', 'AAEC ')],
  ['an empty line within', A.replace('AAEC', '\nAAEC')],
  ['no end', '-----BEGIN A-----\nAAEC\n'],
  ['no begin', 'AAEC\n-----END A-----\n'],
  ['another label at the end', A.replace('END A', 'END B')],
  ['a block in a block', A.replace('AAEC', A.trimEnd())],
  ['nothing within', '-----BEGIN A-----\n-----END A-----'],
  ['padding too short', A.replace('AAEC', 'AAE')],
  ['padding in the middle', A.replace('AAEC', 'AA==\nAAEC')],
  ['stray bits', A.replace('AAEC', 'AB==')],
  ['the alphabet of URLs', A.replace('AAEC', 'A-_C')],
  ['a line of 80 characters', A.replace('AAEC', 'A'.repeat(80))],
  ['a carriage return alone', A.replaceAll('\n', '\r')],
  ['a byte order mark', `\ufeff${A}`],
  ['a zero byte', `${A}\0`],
])('reads nothing of a text with %s', (_, text) => {
  expect(readPem(text)).toBeUndefined();
});
