import fc from 'fast-check';
import { JsonNumber, type JsonObject, type JsonValue } from '../../../server/domain/json/json.ts';

const oddTexts = [
  '',
  '__proto__',
  'constructor',
  '\u0000',
  '\ud800',
  '\udfff x',
  '"\\\n',
  '\u2028',
  '😀',
  'é',
  '\u007f',
];

/** Any UTF-16 text, lone surrogates, control characters and long texts among them. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme-ascii' }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  fc.constantFrom(...oddTexts),
  fc.string({ minLength: 90, maxLength: 120 }),
);

const numberLiteral = fc.oneof(
  fc.constantFrom('0', '-0', '1.10', '1e400', '-1E-400', '0.0', '1e+05', '9'.repeat(40), '-12.50e10'),
  fc.maxSafeInteger().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);

/** Generated JSON objects whose member names come from `name`. */
export function jsonObject(name: fc.Arbitrary<string>): fc.Arbitrary<JsonObject> {
  return fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'json' },
      anyText,
      fc.constantFrom<JsonValue>(true, false, null),
      numberLiteral.map((text) => new JsonNumber(text)),
      tie('object'),
      fc.array(tie('value'), { maxLength: 4, depthIdentifier: 'json' }),
    ),
    object: fc
      .array(fc.tuple(name, tie('value')), { maxLength: 6, depthIdentifier: 'json' })
      .map((members) => new Map(members)),
  })).object;
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
