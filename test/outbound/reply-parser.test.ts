/** Replies byte by byte, and everything that two readers could understand differently. */
import { describe, expect, test } from 'bun:test';
import { ReplyParser } from '../../server/outbound/reply-parser.ts';
import { chanceOf } from '../durability/chance.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';

const LIMITS = { replyHeaderBytes: 1_000, replyBodyBytes: 10_000 };

interface Read {
  readonly status: number | undefined;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** Undefined while more is to come. */
  readonly isReusable: boolean | undefined;
  readonly fault: string | undefined;
}

/** Reads a reply that comes in pieces; `cut` gives the length of each. */
function read(bytes: Buffer, cut: () => number, { isHead = false, isClosed = false } = {}): Read {
  let [status, headers, body]: [number | undefined, Read['headers'], string] = [undefined, [], ''];
  let isReusable: boolean | undefined;
  const parser = new ReplyParser(LIMITS, isHead, {
    onHead: (head) => {
      [status, headers] = [head.status, head.headers];
    },
    onPiece: (piece) => {
      body += Buffer.from(piece).toString('latin1');
    },
    onEnd: (kept) => {
      expect(isReusable).toBeUndefined();
      isReusable = kept;
    },
  });
  let fault: string | undefined;
  for (let at = 0; at < bytes.length && fault === undefined && isReusable === undefined; ) {
    const piece = bytes.subarray(at, at + cut());
    fault = parser.push(piece);
    at += piece.length;
  }
  if (isClosed && fault === undefined && isReusable === undefined) {
    fault = parser.end();
  }
  return { status, headers, body, isReusable, fault };
}

function whole(): number {
  return Number.MAX_SAFE_INTEGER;
}

function readText(text: string, options = {}): Read {
  return read(Buffer.from(text, 'latin1'), whole, options);
}

const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

const GOOD: readonly (readonly [string, string, string, boolean])[] = [
  ['a length', `${HEAD}Content-Length: 5\r\n\r\nhello`, 'hello', true],
  ['no body', `${HEAD}Content-Length: 0\r\n\r\n`, '', true],
  ['no content', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
  ['a length of zeros', `${HEAD}Content-Length: 00\r\n\r\n`, '', true],
  ['not modified, which some send with a body', 'HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n', '', false],
  ['no content, the same', 'HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n', '', false],
  ['chunks', `${CHUNKED}5\r\nhello\r\n0A\r\n, world!!!\r\n0\r\n\r\n`, 'hello, world!!!', true],
  ['zeros before a size', `${CHUNKED}0005\r\nhello\r\n000\r\n\r\n`, 'hello', true],
  ['extensions and trailers', `${CHUNKED}5;a="b;c" \r\nhello\r\n0 ;x\r\nA: b\r\nC: d\r\n\r\n`, 'hello', true],
  ['chunks with CR and LF inside', `${CHUNKED}4\r\n\r\n\r\n\r\n0\r\n\r\n`, '\r\n\r\n', true],
  ['no reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', 'ok', true],
  ['early hints', `HTTP/1.1 103 X\r\nLink: a\r\n\r\n${HEAD}Content-Length: 2\r\n\r\nok`, 'ok', true],
  ['Connection: close', `${HEAD}Connection: x, Close\r\nContent-Length: 2\r\n\r\nok`, 'ok', false],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 'ok', false],
  ['a second until it closes', `${HEAD}Keep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok`, 'ok', false],
  ['a minute until it closes', `${HEAD}Keep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok`, 'ok', true],
];

describe('a reply is the same however it is cut', () => {
  test.each(GOOD)('%s', (_name, text, body, isReusable) => {
    const bytes = Buffer.from(text, 'latin1');
    const uncut = read(bytes, whole);
    expect(uncut).toMatchObject({ body, isReusable, fault: undefined });
    for (let first = 1; first < bytes.length; first++) {
      let isFirst = true;
      const once = (): number => {
        const length = isFirst ? first : bytes.length;
        isFirst = false;
        return length;
      };
      expect(read(bytes, once)).toEqual(uncut);
    }
    expect(read(bytes, () => 1)).toEqual(uncut);
  });

  test('and is not there before its last byte', () => {
    for (const [, text] of GOOD) {
      expect(readText(text.slice(0, -1))).toMatchObject({ isReusable: undefined, fault: undefined });
    }
  });
});

test('headers keep order and spelling, and lose blanks around them', () => {
  const text = `${HEAD}X-B:1\r\nx-a: \t 2 \t\r\nX-B: one two\r\nX-Nbsp: \xa0\r\nContent-Length: 0\r\n\r\n`;
  expect(readText(text).headers).toEqual([
    ['X-B', '1'],
    ['x-a', '2'],
    ['X-B', 'one two'],
    ['X-Nbsp', '\xa0'],
    ['Content-Length', '0'],
  ]);
});

test('a run of blanks costs no time', () => {
  const limits = { replyHeaderBytes: 65_536, replyBodyBytes: 0 };
  const sink = { onHead: () => undefined, onPiece: () => undefined, onEnd: () => undefined };
  const blanks = ' '.repeat(60_000);
  // With a pattern each took seconds.
  for (const value of [`a${blanks}b`, `${blanks}b`, `a${blanks}`, blanks]) {
    const cpuMs = startCpuClock();
    const bytes = Buffer.from(`${HEAD}A: ${value}\r\nContent-Length: 0\r\n\r\n`, 'latin1');
    expect(new ReplyParser(limits, false, sink).push(bytes)).toBeUndefined();
    expect(cpuMs()).toBeLessThan(500);
  }
});

test('up to the end of the connection, and to HEAD', () => {
  expect(readText(`${HEAD}\r\nall of it`, { isClosed: true })).toMatchObject({
    body: 'all of it',
    isReusable: false,
  });
  const head = `${HEAD}Content-Length: 99999999\r\n\r\n`;
  expect(readText(head, { isHead: true })).toMatchObject({ body: '', isReusable: false });
  expect(readText(`${HEAD}X-A: b\r\n\r\n`, { isHead: true })).toMatchObject({ body: '', isReusable: true });
});

test('what follows a reply keeps nobody from it, and the connection from nobody else', () => {
  for (const [, text, body] of GOOD) {
    expect(readText(`${text}H`)).toMatchObject({ body, isReusable: false, fault: undefined });
  }
});

describe('a connection that ends leaves a fault', () => {
  test.each([
    ['before anything', ''],
    ['in the head', `${HEAD}Content-Le`],
    ['in a length', `${HEAD}Content-Length: 5\r\n\r\nhel`],
    ['in a size', `${CHUNKED}5`],
    ['in a chunk', `${CHUNKED}5\r\nhel`],
    ['before the last chunk', `${CHUNKED}5\r\nhello\r\n`],
    ['in the trailers', `${CHUNKED}0\r\nA: b\r\n`],
  ])('%s', (_name, text) => {
    expect(readText(text, { isClosed: true }).fault).toBe('target_unreachable');
  });
});

function framed(...lines: string[]): string {
  return `${HEAD}${lines.join('\r\n')}\r\n\r\nhello`;
}

describe('is refused', () => {
  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['HTTP/2', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['lower case', 'http/1.1 200 OK\r\n\r\n'],
    ['two blanks', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status line that is folded', 'HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\nhello'],
    ['a lone LF after the status', 'HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello'],
    ['a lone LF in the headers', framed('A: b\nContent-Length: 5')],
    ['a lone CR in the headers', framed('A: b\rContent-Length: 5')],
    ['a NUL in a value', framed('A: b\0', 'Content-Length: 5')],
    ['a name with a blank behind it', framed('Content-Length : 5')],
    ['no name', framed(': 5')],
    ['no colon', framed('Content-Length')],
    ['a line folded into another', framed('A: b', ' Content-Length: 5')],
    ['a folded value', framed('Content-Length:', '\t5')],
    ['two lengths', framed('Content-Length: 5', 'Content-Length: 6')],
    ['twice the same length', framed('Content-Length: 5', 'content-length: 5')],
    ['a list of lengths', framed('Content-Length: 5, 5')],
    ['a length with a sign', framed('Content-Length: +5')],
    ['a negative length', framed('Content-Length: -5')],
    ['a length in hexadecimal', framed('Content-Length: 0x5')],
    ['an empty length', framed('Content-Length:')],
    ['a length of 16 digits', framed('Content-Length: 1000000000000000')],
    ['a length and chunks', `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks of another coding', `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['chunks twice', `${HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks under another name', `${HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['no size', `${CHUNKED}\r\nhello\r\n0\r\n\r\n`],
    ['a size with a sign', `${CHUNKED}+5\r\nhello\r\n0\r\n\r\n`],
    ['a size that is none', `${CHUNKED}5x\r\nhello\r\n0\r\n\r\n`],
    ['two sizes', `${CHUNKED}5 5\r\nhello\r\n0\r\n\r\n`],
    ['an extension without a semicolon', `${CHUNKED}5 a=b\r\nhello\r\n0\r\n\r\n`],
    ['a size with 0x', `${CHUNKED}0x5\r\nhello\r\n0\r\n\r\n`],
    ['a blank before a size', `${CHUNKED} 5\r\nhello\r\n0\r\n\r\n`],
    ['a lone LF after a size', `${CHUNKED}5\nhello\r\n0\r\n\r\n`],
    ['a lone CR after a size', `${CHUNKED}5\rhello\r\n0\r\n\r\n`],
    ['a lone LF in an extension', `${CHUNKED}5;a\nb\r\nhello\r\n0\r\n\r\n`],
    ['more than its size', `${CHUNKED}4\r\nhello\r\n0\r\n\r\n`],
    ['less than its size', `${CHUNKED}6\r\nhello\r\n0\r\n\r\n`],
    ['a lone LF after a chunk', `${CHUNKED}5\r\nhello\n0\r\n\r\n`],
    ['a lone LF in the trailers', `${CHUNKED}0\r\nA: b\n\r\n`],
    ['a change of the protocol', 'HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n'],
    ['a head of more than its limit', `${HEAD}A: ${'a'.repeat(1_000)}\r\n\r\n`],
  ])('%s', (_name, text) => {
    expect(readText(text)).toMatchObject({ isReusable: undefined, fault: 'target_unreachable' });
    expect(read(Buffer.from(text, 'latin1'), () => 1)).toMatchObject({ fault: 'target_unreachable' });
  });

  test.each([
    ['a size beyond all limits', `${CHUNKED}${'f'.repeat(300)}`],
    ['framing without data', `${CHUNKED}1;${'a'.repeat(23_000)}`],
    ['trailers without an end', `${CHUNKED}0\r\n${'A: b\r\n'.repeat(4_000)}`],
  ])('%s, as too large', (_name, text) => {
    expect(readText(text).fault).toBe('reply_too_large');
    expect(read(Buffer.from(text, 'latin1'), () => 1).fault).toBe('reply_too_large');
  });
});

describe('framing of chunks has at most 16 KB beside sizes and line ends', () => {
  const limits = { replyHeaderBytes: 65_536, replyBodyBytes: 1_048_576 };
  const faultOf = (text: string): string | undefined => {
    let isEnded = false;
    const onEnd = () => {
      isEnded = true;
    };
    const sink = { onHead: () => undefined, onPiece: () => undefined, onEnd };
    const parser = new ReplyParser(limits, false, sink);
    const bytes = Buffer.from(CHUNKED + text, 'latin1');
    for (let at = 0; at < bytes.length; at += 1_000) {
      const fault = parser.push(bytes.subarray(at, at + 1_000));
      if (fault !== undefined) {
        return fault;
      }
    }
    return isEnded ? undefined : 'unfinished';
  };
  const chunk = (extension: string): string => `1${extension}\r\na\r\n`;

  test.each([
    ['one extension', (bytes: number) => `${chunk(`;${'a'.repeat(bytes)}`)}0\r\n\r\n`],
    ['many extensions', (bytes: number) => `${chunk(';aaaaaaa').repeat(bytes / 10)}0\r\n\r\n`],
    ['blanks', (bytes: number) => `${chunk(' '.repeat(bytes))}0\r\n\r\n`],
    ['zeros', (bytes: number) => `${'0'.repeat(bytes)}${chunk('')}0\r\n\r\n`],
    ['trailers', (bytes: number) => `${chunk('')}0\r\n${'A: bcdef\r\n'.repeat(bytes / 10)}\r\n`],
    ['an extension of the last chunk', (bytes: number) => `${chunk('')}0;${'a'.repeat(bytes)}\r\n\r\n`],
  ])('%s', (_name, textOf) => {
    expect(faultOf(textOf(16_000))).toBeUndefined();
    expect(faultOf(textOf(17_000))).toBe('reply_too_large');
  });

  test('so that a body in small chunks is whole', () => {
    expect(faultOf(`${chunk('').repeat(60_000)}0\r\n\r\n`)).toBeUndefined();
  });
});

test('no bytes make it throw, end twice, or depend on how they are cut', () => {
  let drawn = 0;
  const below = (count: number): number => Math.floor(chanceOf(7, `${drawn++}`) * count);
  const replaced = [0, 9, 10, 13, 32, 48, 53, 58, 59, 97, 127, 255];
  for (let round = 0; round < 4_000; round++) {
    const [, text = ''] = GOOD[below(GOOD.length)] ?? [];
    const bytes = Buffer.from(text, 'latin1');
    for (let changes = below(4); changes >= 0; changes--) {
      bytes[below(bytes.length)] = replaced[below(replaced.length)] ?? 0;
    }
    const uncut = read(bytes, whole, { isClosed: true });
    const cut = read(bytes, () => 1 + below(9), { isClosed: true });
    // Whether bytes follow a reply is known only as far as they have come.
    expect({ ...cut, isReusable: cut.isReusable === undefined }).toEqual({
      ...uncut,
      isReusable: uncut.isReusable === undefined,
    });
  }
});
