/** Finds the ends of HTTP/1.1 replies without keeping them, however long they are. */

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Takes what arrives; gives the status once a reply is complete, undefined while more of it is to come. */
export type ReplyEnd = (chunk: Uint8Array) => number | undefined;

/** One request at a time is under way: what follows a reply belongs to the next one. */
export function createReplyEnd(): ReplyEnd {
  let head = '';
  let status: number | undefined;
  let left: number | undefined;
  let tail = '';

  const begin = (text: string): string | undefined => {
    head += text;
    const end = head.indexOf(HEAD_END);
    if (end < 0) {
      return undefined;
    }
    status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end))?.[1];
    left = length === undefined ? undefined : Number(length);
    // The end of the head is the beginning of what a reply without any chunk ends with.
    tail = '\r\n';
    return head.slice(end + HEAD_END.length);
  };

  return (chunk) => {
    let text = Buffer.from(chunk).toString('latin1');
    if (status === undefined) {
      const body = begin(text);
      if (body === undefined) {
        return undefined;
      }
      text = body;
    }
    if (left === undefined) {
      tail = (tail + text).slice(-LAST_CHUNK.length);
      if (tail !== LAST_CHUNK) {
        return undefined;
      }
    } else {
      left -= text.length;
      if (left > 0) {
        return undefined;
      }
    }
    const done = status;
    head = '';
    status = undefined;
    return done;
  };
}
