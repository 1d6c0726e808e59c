import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  CommandWriter,
  INCOMPLETE,
  PassedReplies,
  ReplyError,
  ReplyReader,
} from '../../server/redis/resp.ts';

/** Replies of every kind, as Redis writes them, and as they are read. */
const WIRE = [
  '+OK\r\n',
  ':0\r\n',
  ':-42\r\n',
  '$0\r\n\r\n',
  '$12\r\nwith\r\nbreaks\r\n',
  '$-1\r\n',
  '*-1\r\n',
  '*0\r\n',
  '*3\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n$-1\r\n+end\r\n',
  '*2\r\n-WRONGTYPE of a part\r\n:7\r\n',
  '-ERR unknown command\r\n',
].join('');

function shown(value: unknown): unknown {
  if (value instanceof ReplyError) {
    return { error: value.message };
  }
  if (Array.isArray(value)) {
    return value.map(shown);
  }
  return Buffer.isBuffer(value) ? `"${value.toString('latin1')}"` : value;
}

function readAll(chunks: readonly Buffer[]): unknown[] {
  const reader = new ReplyReader();
  const replies: unknown[] = [];
  for (const chunk of chunks) {
    reader.add(chunk);
    for (let reply = reader.next(); reply !== INCOMPLETE; reply = reader.next()) {
      replies.push(shown(reply));
    }
  }
  return replies;
}

const REPLIES = [
  'OK',
  0,
  -42,
  '""',
  '"with\r\nbreaks"',
  null,
  null,
  [],
  ['"a"', [1, [null]], 'end'],
  [{ error: 'WRONGTYPE of a part' }, 7],
  { error: 'ERR unknown command' },
];

describe('replies', () => {
  test('are read whole', () => {
    expect(readAll([Buffer.from(WIRE)])).toEqual(REPLIES);
  });

  test('are the same when they are cut at any byte, and at any two', () => {
    const bytes = Buffer.from(WIRE);
    for (let a = 0; a <= bytes.length; a++) {
      for (let b = a; b <= bytes.length; b += 7) {
        expect(readAll([bytes.subarray(0, a), bytes.subarray(a, b), bytes.subarray(b)])).toEqual(REPLIES);
      }
    }
  });

  test('that are passed on are the bytes that came, except for a status, however they are cut', () => {
    const lists = Buffer.from(
      '*3\r\n$1\r\na\r\n$-1\r\n$12\r\nwith\r\nbreaks\r\n*1\r\n$0\r\n\r\n*-1\r\n*0\r\n',
    );
    const rest = Buffer.from('$2\r\nok\r\n');
    const bytes = Buffer.concat([Buffer.from('+OK\r\n+QUEUED\r\n'), lists, rest]);
    for (let a = 0; a <= bytes.length; a++) {
      for (let b = a; b <= bytes.length; b++) {
        const reader = new ReplyReader();
        const passed = new PassedReplies(6, 1_000);
        let isComplete = false;
        let last: unknown = INCOMPLETE;
        for (const chunk of [bytes.subarray(0, a), bytes.subarray(a, b), bytes.subarray(b)]) {
          reader.add(chunk);
          isComplete ||= reader.pass(passed);
          last = isComplete && last === INCOMPLETE ? reader.next() : last;
        }
        expect(passed.bytes?.toString()).toBe(lists.toString());
        expect(String(last)).toBe('ok');
      }
    }
  });

  test('that are passed on are not kept when they are too many, and their first error is', () => {
    const reader = new ReplyReader();
    const passed = new PassedReplies(3, 20);
    reader.add(Buffer.from('*1\r\n$20\r\n01234567890123456789\r\n-WRONGTYPE one\r\n-ERR two\r\n+OK\r\n'));
    expect(reader.pass(passed)).toBe(true);
    expect(passed.bytes).toBeUndefined();
    expect(passed.error?.message).toBe('WRONGTYPE one');
    expect(reader.next()).toBe('OK');
    reader.add(Buffer.from('%1\r\n'));
    expect(() => reader.pass(new PassedReplies(1, 20))).toThrow(TypeError);
  });

  test('of any size take time in proportion to it', () => {
    const items = 200_000;
    const text = Buffer.from(`*${items}\r\n${'$5\r\nabcde\r\n'.repeat(items)}`);
    const chunks = Array.from({ length: Math.ceil(text.length / 1_000) }, (_, i) =>
      text.subarray(i * 1_000, (i + 1) * 1_000),
    );
    const [list] = readAll(chunks) as [unknown[]];
    expect(list.length).toBe(items);
    const bulk = Buffer.alloc(64 * 1_024 * 1_024, 'x');
    const reader = new ReplyReader();
    reader.add(Buffer.from(`$${bulk.length}\r\n`));
    for (let at = 0; at < bulk.length; at += 65_536) {
      expect(reader.next()).toBe(INCOMPLETE);
      reader.add(bulk.subarray(at, at + 65_536));
    }
    reader.add(Buffer.from('\r\n'));
    expect((reader.next() as Buffer).length).toBe(bulk.length);
  });

  test.each([
    'HTTP/1.1 200 OK\r\n',
    '%1\r\n+a\r\n+b\r\n',
    ':12a\r\n',
    ':\r\n',
    ':-\r\n',
    '$x\r\n',
    '*1e3\r\n',
    `${'*1\r\n'.repeat(40)}`,
    `+${'x'.repeat(100_000)}`,
  ])('that are none throw: %p', (text) => {
    expect(() => readAll([Buffer.from(text)])).toThrow(TypeError);
  });
});

describe('commands', () => {
  test('hold exactly their parts', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.uint8Array({ maxLength: 70_000 }),
      fc.integer(),
      fc.double({ noNaN: true }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.array(part, { minLength: 1, maxLength: 12 }), { maxLength: 20 }),
        (commands) => {
          const writer = new CommandWriter();
          for (const parts of commands) {
            writer.add(parts);
          }
          const { size } = writer;
          const bytes = writer.take();
          expect(bytes.length).toBe(size);
          expect(writer.size).toBe(0);
          const expected = commands.map((parts) =>
            parts.map(
              (value) =>
                `"${Buffer.from(typeof value === 'object' ? value : String(value)).toString('latin1')}"`,
            ),
          );
          expect(readAll([bytes])).toEqual(expected);
        },
      ),
    );
  });

  test('of a large batch do not keep its memory', () => {
    const writer = new CommandWriter();
    writer.add(['SET', 'k', new Uint8Array(8 * 1_024 * 1_024)]);
    expect(writer.take().length).toBeGreaterThan(8 * 1_024 * 1_024);
    writer.add(['GET', 'k']);
    expect(writer.take().toString()).toBe('*2\r\n$3\r\nGET\r\n$1\r\nk\r\n');
  });
});
