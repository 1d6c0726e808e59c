import { allowAnyOrigin } from '../cors.ts';
import type { Page } from './pages.ts';
import { respondWithFile, staticFileOf } from './static-file.ts';

/** A file that pages of any origin may load. */
export interface PublicFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** The `Cache-Control` of the reply. */
  readonly caching: string;
  /** False for a file that is compressed already. */
  readonly isCompressible: boolean;
}

/** Answers with a file, or with 304 where the caller holds it; compresses it once. */
export function respondWith({ bytes, type, caching, isCompressible }: PublicFile): Page['respond'] {
  const file = staticFileOf(type, bytes, isCompressible);
  const headers = { 'Cache-Control': caching, 'Cross-Origin-Resource-Policy': 'cross-origin' };
  return (request) => {
    const response = respondWithFile(file, request, { headers });
    allowAnyOrigin(response.headers);
    return response;
  };
}
