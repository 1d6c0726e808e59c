import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { encodeJson, JsonWriter } from '../../../server/domain/json/bytes.ts';
import { type JsonValue, stringifyJson } from '../../../server/domain/json/json.ts';
import { anyText, jsonObject, textOf } from './arbitrary.ts';

describe('encodeJson', () => {
  test('writes the bytes of stringifyJson for generated objects', () => {
    fc.assert(
      fc.property(jsonObject(anyText), (object) =>
        expect(textOf(encodeJson(object))).toBe(stringifyJson(object)),
      ),
    );
  });

  test.each<[JsonValue]>([[new Map()], [[]], [''], [null], [true], ['é'.repeat(300)], ['"'.repeat(1000)]])(
    'writes %p',
    (value) => expect(textOf(encodeJson(value))).toBe(stringifyJson(value)),
  );

  test('a writer keeps what it has when it grows', () => {
    const writer = new JsonWriter();
    for (let at = 0; at < 5000; at++) {
      writer.byte(0x20);
    }
    writer.value('x');
    expect(textOf(writer.written())).toBe(`${' '.repeat(5000)}"x"`);
  });
});
