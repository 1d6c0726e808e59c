/** Finds the ends of HTTP/1.1 replies on a connection that has one request under way at a time. */

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/** Takes what arrives; gives the status once a reply is complete, undefined while more of it is to come. */
export type ReplyReader = (chunk: Uint8Array) => number | undefined;

/** Whether a whole reply lies in the buffer, by its Content-Length or its last chunk. */
function isComplete(buffer: Buffer, bodyAt: number, head: string): boolean {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    return buffer.length >= bodyAt + Number(length);
  }
  return buffer
    .subarray(bodyAt - 2)
    .subarray(-LAST_CHUNK.length)
    .equals(LAST_CHUNK);
}

export function createReplyReader(): ReplyReader {
  let arrived: Buffer[] = [];
  return (chunk) => {
    arrived.push(Buffer.from(chunk));
    const buffer = arrived.length === 1 ? (arrived[0] ?? Buffer.alloc(0)) : Buffer.concat(arrived);
    arrived = [buffer];
    const headEnd = buffer.indexOf(HEAD_END);
    if (headEnd === -1) {
      return undefined;
    }
    const head = buffer.toString('latin1', 0, headEnd);
    if (!isComplete(buffer, headEnd + HEAD_END.length, head)) {
      return undefined;
    }
    arrived = [];
    return Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
  };
}
