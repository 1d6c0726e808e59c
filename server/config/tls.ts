import type { Secret } from '../core/secret.ts';
import { parseServerCertificates, privateKeyOf } from './files.ts';
import { BadValue } from './reader.ts';

/** The server's certificate chain and its private key, in PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: Secret<string>;
}

/** Where the pair is read from; absolute paths. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** What a look at the files came to: nothing new, a new pair, or why a new one cannot be used. */
export type TlsLook =
  | { readonly kind: 'same' }
  | { readonly kind: 'renewed'; readonly pair: TlsPair }
  | { readonly kind: 'bad'; readonly reason: string };

/**
 * Makes the look for a renewed certificate. A pair that does not fit, as between the writing of one file and that
 * of the other, is not taken: what is in use stays in use, and the next look sees again.
 */
export const createTlsLook = (files: TlsFiles, inUse: TlsPair): (() => TlsLook) => {
  let current = inUse;
  return () => {
    try {
      const cert = parseServerCertificates(files.cert);
      const key = privateKeyOf(cert)(files.key);
      if (cert === current.cert && key.expose() === current.key.expose()) {
        return { kind: 'same' };
      }
      current = { cert, key };
      return { kind: 'renewed', pair: current };
    } catch (error) {
      if (error instanceof BadValue) {
        return { kind: 'bad', reason: error.message };
      }
      throw error;
    }
  };
};
