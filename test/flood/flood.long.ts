import { describe, expect, test } from 'bun:test';
import { createReplyEnd } from './reply-end.ts';

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

describe('the end of a reply', () => {
  const replies: readonly (readonly [string, string])[] = [
    ['of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'],
    ['without a body', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n0ab\r\n2\r\nab\r\n0\r\n\r\n'],
    ['of no chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ];
  test.each(replies)('%s is found wherever it is cut, and not before', (_, text) => {
    for (let cut = 1; cut < text.length; cut++) {
      const read = createReplyEnd();
      expect([read(bytes(text.slice(0, cut))), read(bytes(text.slice(cut)))]).toEqual([undefined, 200]);
    }
    const read = createReplyEnd();
    expect([read(bytes(text)), read(bytes(text.replace('200', '503')))]).toEqual([200, 503]);
  });
});
