import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeFrame, encodeFrame, FIELDS_MAX, KIND_MAX } from '../../workers/pool/frame.ts';

const message = fc.record({
  id: fc.nat(0xffff_ffff),
  kind: fc.nat(KIND_MAX),
  fields: fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }),
});
const messages = fc.array(message, { maxLength: 8 });

describe('a frame', () => {
  test('gives back every message in its order', () => {
    fc.assert(fc.property(messages, (sent) => expect(decodeFrame(encodeFrame(sent))).toEqual(sent)));
  });

  test('takes the largest kind and number of fields, and refuses one more', () => {
    const fields = Array.from({ length: FIELDS_MAX }, () => new Uint8Array(1));
    const largest = { id: 0xffff_ffff, kind: KIND_MAX, fields };
    expect(decodeFrame(encodeFrame([largest]))).toEqual([largest]);
    expect(() => encodeFrame([{ ...largest, kind: KIND_MAX + 1 }])).toThrow(RangeError);
    expect(() => encodeFrame([{ ...largest, fields: [...fields, new Uint8Array(1)] }])).toThrow(RangeError);
  });

  test('takes views with an offset, and Buffers', () => {
    const whole = Buffer.from('0123456789');
    const frame = encodeFrame([
      { id: 1, kind: 1, fields: [whole.subarray(2, 5), new Uint8Array(whole).subarray(8)] },
    ]);
    expect(decodeFrame(frame)[0]?.fields.map((field) => Buffer.from(field).toString())).toEqual([
      '234',
      '89',
    ]);
  });

  test('is refused at every truncation and with every byte added', () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), fc.nat(), (sent, cut) => {
        const frame = encodeFrame(sent);
        expect(() => decodeFrame(frame.slice(0, cut % frame.byteLength))).toThrow(RangeError);
        const longer = new Uint8Array(frame.byteLength + 1);
        longer.set(new Uint8Array(frame));
        expect(() => decodeFrame(longer.buffer)).toThrow(RangeError);
      }),
    );
  });

  test('with any byte changed is read within its bounds or refused', () => {
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (sent, at, flip) => {
          const bytes = new Uint8Array(encodeFrame(sent));
          const place = at % bytes.length;
          bytes[place] = (bytes[place] ?? 0) ^ flip;
          expectBounded(bytes);
        },
      ),
    );
  });
});

function expectBounded(bytes: Uint8Array<ArrayBuffer>): void {
  try {
    const read = decodeFrame(bytes.buffer).flatMap(({ fields }) => fields);
    const total = read.reduce((sum, field) => sum + field.length, 0);
    expect(total).toBeLessThanOrEqual(bytes.length);
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toBe('malformed frame');
  }
}
