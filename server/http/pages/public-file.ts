import { allowAnyOrigin } from '../plugins/cors.ts';
import { packedResponse, packNow } from './packed.ts';
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

/** Answers with a file, or with 304 to whoever has it; packs it once. */
export const respondWith = ({ bytes, type, caching, packable }: PublicFile): Page['respond'] => {
  const packed = packNow(type, bytes, packable);
  const headers = { 'Cache-Control': caching, 'Cross-Origin-Resource-Policy': 'cross-origin' };
  return (request) => {
    const response = packedResponse(packed, request, { headers });
    allowAnyOrigin(response.headers);
    return response;
  };
};
