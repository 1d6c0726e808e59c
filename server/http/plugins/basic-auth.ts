import { VaultError } from '../../core/errors.ts';
import { Secret, type SecretBytes } from '../../core/secret.ts';

/** The challenge of every 401 (RFC 7617). */
export const CHALLENGE = 'Basic realm="vault"';

const COLON = 0x3a;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The name and password of a Basic Auth header (RFC 7617): strict base64, UTF-8, divided at the first colon.
 * Anything else, a missing header included, is `unauthenticated`.
 */
export function readCredentials(headers: Headers): { readonly name: string; readonly password: SecretBytes } {
  const header = headers.get('authorization');
  const encoded = header === null ? null : /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  if (encoded == null) {
    throw new VaultError('unauthenticated');
  }
  try {
    const bytes = Uint8Array.fromBase64(encoded);
    const text = decoder.decode(bytes);
    const colon = text.indexOf(':');
    if (colon < 1) {
      throw new VaultError('unauthenticated');
    }
    return { name: text.slice(0, colon), password: new Secret(bytes.slice(bytes.indexOf(COLON) + 1)) };
  } catch {
    throw new VaultError('unauthenticated');
  }
}

/**
 * Refuses what a browser sends on behalf of another site: a page elsewhere must not be able to use credentials
 * that the browser remembers. Other clients do not send `Sec-Fetch-Site`.
 */
export function refuseOtherSites(headers: Headers): void {
  const site = headers.get('sec-fetch-site');
  if (site === 'cross-site' || site === 'same-site') {
    throw new VaultError('not_allowed');
  }
}
