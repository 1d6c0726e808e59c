import { acceptsGzip } from '../accept.ts';
import { allowAnyOrigin } from '../cors.ts';
import type { Page } from './pages.ts';

/** `Cache-Control` of a file whose path contains its hash or version. */
export const IMMUTABLE = 'public, max-age=31536000, immutable';
/** `Cache-Control` of a file that can change under the same path. */
export const REVALIDATE = 'no-cache';

export function notBuilt(text: string): Response {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' };
  return new Response(text, { status: 404, headers });
}

export interface StaticFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer> | Bun.BunFile;
  /** Undefined for a file that compression does not make smaller. */
  readonly gzip: Uint8Array<ArrayBuffer> | Bun.BunFile | undefined;
  /** Identifies the bytes: the ETag without its quotes. */
  readonly tag: string;
}

export function staticFileOf(
  type: string,
  body: Uint8Array<ArrayBuffer>,
  isCompressible: boolean,
): StaticFile {
  const tag = new Bun.CryptoHasher('sha256').update(body).digest('hex').slice(0, 32);
  return { type, body, gzip: isCompressible ? Bun.gzipSync(body) : undefined, tag };
}

function isHeld(headers: Headers, tag: string): boolean {
  const held = (headers.get('if-none-match') ?? '').split(',');
  return held.some((each) => each.trim().replace(/^W\//, '') === `"${tag}"`);
}

/** Replies with a file: compressed if the caller accepts that, or 304 if the caller has it in its cache. */
export function respondWithFile(
  { type, body, gzip, tag }: StaticFile,
  { headers: asked }: Request,
  {
    status = 200,
    headers = {},
  }: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): Response {
  const compressed = acceptsGzip(asked.get('accept-encoding')) ? gzip : undefined;
  const init = {
    headers: {
      'Content-Type': type,
      // The compressed bytes differ, so that only a weak tag can identify both.
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

/** A file that pages of any origin may load. */
export interface PublicFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly caching: string;
  readonly isCompressible: boolean;
}

/** Replies with a file, which is compressed once. */
export function respondWith({ bytes, type, caching, isCompressible }: PublicFile): Page['respond'] {
  const file = staticFileOf(type, bytes, isCompressible);
  const headers = { 'Cache-Control': caching, 'Cross-Origin-Resource-Policy': 'cross-origin' };
  return (request) => {
    const response = respondWithFile(file, request, { headers });
    allowAnyOrigin(response.headers);
    return response;
  };
}
