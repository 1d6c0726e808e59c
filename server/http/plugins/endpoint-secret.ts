import type { SecretBytes } from '../../core/secret.ts';
import { secretBytes } from './passphrase.ts';
import type { AuthRule, SecretRule } from './route.ts';

/** The headers that carry the secrets of endpoints. */
export const SECRET_HEADERS: Readonly<Record<SecretRule, string>> = {
  capture_secret: 'X-Vault-Capture-Secret',
  retrieve_secret: 'X-Vault-Retrieve-Secret',
};

// Secrets are far shorter. What is longer is not one, and not worth an encoding either.
const SECRET_CHARACTERS_MAX = 256;

/** The header of the secret that a route is used with; undefined for a route that takes none. */
export function secretHeaderOf(auth: AuthRule): string | undefined {
  return auth === 'capture_secret' || auth === 'retrieve_secret' ? SECRET_HEADERS[auth] : undefined;
}

/**
 * The secret of a request as UTF-8. A missing or an overlong one is empty, which no secret is: whether the
 * secret is wrong is for the service to say, in the same words for all of them.
 */
export function readEndpointSecret(header: string, headers: Headers): SecretBytes {
  const text = headers.get(header) ?? '';
  return secretBytes(text.length > SECRET_CHARACTERS_MAX ? '' : text);
}
