/** HTTP/1.1 requests as they came over a connection, byte for byte. */

/** One request as a third party received it. */
export interface WireRequest {
  readonly method: string;
  /** As it stands on the request line. */
  readonly target: string;
  /** The target without its query. */
  readonly path: string;
  /** Request line and header lines with their line ends, one character for each byte. */
  readonly head: string;
  /** In the order and spelling in which they came. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

const HEAD_END = '\r\n\r\n';

/** The values of a header joined as one, undefined when there is none. */
export function headerOf({ headers }: Pick<WireRequest, 'headers'>, name: string): string | undefined {
  const values = headers.filter(([found]) => found.toLowerCase() === name.toLowerCase());
  return values.length === 0 ? undefined : values.map(([, value]) => value).join(', ');
}

function parseHeaders(lines: readonly string[]): [string, string][] {
  return lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}

/**
 * Takes what arrives on one connection and gives each request once it is whole. Throws for a message that is
 * framed by anything but a length: nothing here sends one.
 */
export function createRequestReader(): (chunk: Buffer) => WireRequest[] {
  let waiting: Buffer = Buffer.alloc(0);
  const readOne = (): WireRequest | undefined => {
    const headEnd = waiting.indexOf(HEAD_END);
    if (headEnd === -1) {
      return undefined;
    }
    const head = waiting.toString('latin1', 0, headEnd + 2);
    const [line = '', ...lines] = head.trimEnd().split('\r\n');
    const headers = parseHeaders(lines);
    if (headerOf({ headers }, 'transfer-encoding') !== undefined) {
      throw new TypeError('a request that is not framed by its length');
    }
    const bodyAt = headEnd + HEAD_END.length;
    const bodyEnd = bodyAt + Number(headerOf({ headers }, 'content-length') ?? 0);
    if (waiting.length < bodyEnd) {
      return undefined;
    }
    const body = Buffer.from(waiting.subarray(bodyAt, bodyEnd));
    waiting = waiting.subarray(bodyEnd);
    const [method = '', target = ''] = line.split(' ');
    return { method, target, path: target.split('?', 1)[0] ?? '', head, headers, body };
  };
  return (chunk) => {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    const requests: WireRequest[] = [];
    for (let request = readOne(); request !== undefined; request = readOne()) {
      requests.push(request);
    }
    return requests;
  };
}
