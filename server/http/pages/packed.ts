import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** `Cache-Control` of what never changes under its path. */
export const FOR_EVER = 'public, max-age=31536000, immutable';
/** `Cache-Control` of what may be something else under the same path tomorrow. */
export const ASK_AGAIN = 'no-cache';

/** Bytes that are served again and again, also as they travel packed. */
export interface Packed {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  /** Undefined where packing saves nothing. */
  readonly packed: Uint8Array<ArrayBuffer> | undefined;
  readonly tag: string;
}

const tagOf = (bytes: Uint8Array): string =>
  `"${new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32)}"`;

/** Packs at once: for few bytes, or at the start. */
export const packNow = (type: string, plain: Uint8Array<ArrayBuffer>, packable: boolean): Packed => ({
  type,
  plain,
  packed: packable ? Bun.gzipSync(plain) : undefined,
  tag: tagOf(plain),
});

/** Packs beside the event loop. */
export const packBeside = async (
  type: string,
  plain: Uint8Array<ArrayBuffer>,
  packable: boolean,
): Promise<Packed> => ({
  type,
  plain,
  packed: packable ? new Uint8Array(await promisify(gzip)(plain)) : undefined,
  tag: tagOf(plain),
});

/** Whether the caller holds these very bytes already. */
const isHeld = (headers: Headers, tag: string): boolean =>
  (headers.get('if-none-match') ?? '').split(',').some((held) => held.trim().replace(/^W\//, '') === tag);

/** The reply to who asks for packed bytes: packed if that is taken, and nothing at all if they are held already. */
export const packedResponse = (
  { type, plain, packed, tag }: Packed,
  { headers: asked }: Request,
  {
    status = 200,
    headers = {},
  }: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): Response => {
  const body = asked.get('accept-encoding')?.includes('gzip') === true ? packed : undefined;
  const init = {
    headers: {
      'Content-Type': type,
      // The packed bytes are others, so that only a weak tag can stand for both.
      ETag: `W/${tag}`,
      Vary: 'Accept-Encoding',
      ...headers,
    },
  };
  if (status === 200 && isHeld(asked, tag)) {
    return new Response(null, { status: 304, ...init });
  }
  const response = new Response(body ?? plain, { status, ...init });
  if (body !== undefined) {
    response.headers.set('Content-Encoding', 'gzip');
  }
  return response;
};
