import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { bytes, list, text } from '../../workers/jobs/codec.ts';
import { FrameReader, FrameWriter } from '../../workers/pool/frame.ts';

const FIELDS = list(bytes);
const number = fc.nat(0xffff_ffff);
const fields = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 });
const message = fc.record({ id: number, kind: number, fields });
const messages = fc.array(message, { maxLength: 8 });
type Message = typeof message extends fc.Arbitrary<infer M> ? M : never;

function frameOf(sent: readonly Message[]): Uint8Array<ArrayBuffer> {
  const writer = new FrameWriter();
  for (const { id, kind, fields: value } of sent) {
    writer.message(id, kind, FIELDS, value);
  }
  return new Uint8Array(writer.take());
}

function read(frame: ArrayBuffer): readonly { readonly fields: readonly Uint8Array[] }[] {
  const reader = new FrameReader(frame);
  const found = [];
  while (reader.next()) {
    found.push({ id: reader.id, kind: reader.kind, fields: reader.value(FIELDS) });
  }
  return found;
}

describe('a frame', () => {
  test('gives back every message in its order', () => {
    fc.assert(fc.property(messages, (sent) => expect(read(frameOf(sent).buffer)).toEqual(sent)));
  });

  test('takes views with an offset, Buffers, and messages larger than its buffer', () => {
    const whole = Buffer.from('0123456789');
    const large = new Uint8Array(3_000_000).fill(7);
    const given = [whole.subarray(2, 5), new Uint8Array(whole).subarray(8), large];
    const [first] = read(frameOf([{ id: 1, kind: 1, fields: given }]).buffer);
    expect(first?.fields.map((field) => Buffer.compare(field, given.shift() ?? whole))).toEqual([0, 0, 0]);
  });

  test('takes every text as UTF-8, a byte order mark included', () => {
    const writer = new FrameWriter();
    const texts = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constant('\ufeffa')));
    fc.assert(
      fc.property(texts, (sent) => {
        writer.message(0, 0, list(text), sent);
        const reader = new FrameReader(writer.take());
        expect([reader.next(), reader.value(list(text))]).toEqual([true, sent]);
      }),
    );
  });

  test('has no byte of a message whose codec throws, nor of a frame before', () => {
    const writer = new FrameWriter();
    const broken = {
      write(value: string): void {
        writer.text(value);
        throw new TypeError('broken');
      },
    };
    writer.message(1, 1, text, 'x'.repeat(100_000));
    writer.take();
    expect(() => writer.message(2, 2, broken, 'passphrase')).toThrow('broken');
    writer.message(3, 3, text, '');
    expect(new Uint8Array(writer.take())).toEqual(
      new Uint8Array([3, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]),
    );
    expect(writer).toMatchObject({ bytes: Buffer.alloc(Reflect.get(writer, 'bytes').length) });
  });

  test('is refused at every truncation and with every byte added', () => {
    fc.assert(
      fc.property(message, fc.nat(), (sent, cut) => {
        const frame = frameOf([sent]);
        expect(() => read(frame.buffer.slice(0, 1 + (cut % (frame.length - 1))))).toThrow(RangeError);
        const longer = new Uint8Array(frame.length + 1);
        longer.set(frame);
        expect(() => read(longer.buffer)).toThrow(RangeError);
      }),
    );
  });

  test('with any byte changed is read within its bounds or refused', () => {
    const flips = fc.integer({ min: 1, max: 255 });
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), fc.nat(), flips, (sent, at, flip) => {
        const frame = frameOf(sent);
        const place = at % frame.length;
        frame[place] = (frame[place] ?? 0) ^ flip;
        expectBounded(frame);
      }),
    );
  });
});

function expectBounded(frame: Uint8Array<ArrayBuffer>): void {
  try {
    const found = read(frame.buffer).flatMap((one) => one.fields);
    const total = found.reduce((sum, field) => sum + field.length, 0);
    expect(total).toBeLessThanOrEqual(frame.length);
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toBe('malformed frame');
  }
}
