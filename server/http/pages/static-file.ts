/** `Cache-Control` of what never changes under its path. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';
/** `Cache-Control` of what may be something else under the same path tomorrow. */
export const REVALIDATE = 'no-cache';

/** A file that is served again and again, as it is and compressed. */
export interface StaticFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer> | Bun.BunFile;
  /** Undefined where compressing saves nothing. */
  readonly gzip: Uint8Array<ArrayBuffer> | Bun.BunFile | undefined;
  /** Stands for the bytes; without the quotes. */
  readonly tag: string;
}

/** Makes a file of bytes in memory; compresses at once. */
export function staticFileOf(
  type: string,
  body: Uint8Array<ArrayBuffer>,
  isCompressible: boolean,
): StaticFile {
  const tag = new Bun.CryptoHasher('sha256').update(body).digest('hex').slice(0, 32);
  return { type, body, gzip: isCompressible ? Bun.gzipSync(body) : undefined, tag };
}

/** Whether the caller holds these very bytes already. */
function isHeld(headers: Headers, tag: string): boolean {
  const held = (headers.get('if-none-match') ?? '').split(',');
  return held.some((each) => each.trim().replace(/^W\//, '') === `"${tag}"`);
}

/** Answers with a file: compressed where the caller takes that, and 304 where the caller holds it already. */
export function respondWithFile(
  { type, body, gzip, tag }: StaticFile,
  { headers: asked }: Request,
  {
    status = 200,
    headers = {},
  }: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): Response {
  const compressed = asked.get('accept-encoding')?.includes('gzip') === true ? gzip : undefined;
  const init = {
    headers: {
      'Content-Type': type,
      // The compressed bytes are others, so that only a weak tag can stand for both.
      ETag: `W/"${tag}"`,
      Vary: 'Accept-Encoding',
      ...headers,
    },
  };
  if (status === 200 && isHeld(asked, tag)) {
    return new Response(null, { status: 304, ...init });
  }
  const response = new Response(compressed ?? body, { status, ...init });
  if (compressed !== undefined) {
    response.headers.set('Content-Encoding', 'gzip');
  }
  return response;
}
