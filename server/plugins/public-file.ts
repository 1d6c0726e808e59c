import { allowAnyOrigin } from './cors.ts';
import type { Page } from './pages.ts';

/** Bytes that pages of any origin may load. */
export interface PublicFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** The `Cache-Control` of the reply. */
  readonly caching: string;
  /** Whether it is worth packing for the way; not where it is packed already. */
  readonly packable: boolean;
}

/** For what may be another file under the same path tomorrow. */
export const ASK_AGAIN = 'no-cache';

/** Whether the caller holds these very bytes already. */
const isHeld = (headers: Headers, tag: string): boolean =>
  (headers.get('if-none-match') ?? '').split(',').some((held) => held.trim().replace(/^W\//, '') === tag);

/** Answers with a file, or with 304 to whoever has it; packs it once. */
export const respondWith = ({ bytes, type, caching, packable }: PublicFile): Page['respond'] => {
  const packed = packable ? Bun.gzipSync(bytes) : undefined;
  const tag = `"${new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
  return ({ headers }) => {
    const wanted = headers.get('accept-encoding')?.includes('gzip') === true ? packed : undefined;
    const init = {
      headers: {
        'Content-Type': type,
        'Cache-Control': caching,
        'Cross-Origin-Resource-Policy': 'cross-origin',
        // The packed bytes are others, so that only a weak tag can stand for both.
        ETag: `W/${tag}`,
        Vary: 'Accept-Encoding',
      },
    };
    const isSame = isHeld(headers, tag);
    const response = isSame
      ? new Response(null, { status: 304, ...init })
      : new Response(wanted ?? bytes, init);
    if (wanted !== undefined && !isSame) {
      response.headers.set('Content-Encoding', 'gzip');
    }
    allowAnyOrigin(response.headers);
    return response;
  };
};
