import { VaultError } from '../core/errors.ts';
import { Secret, type SecretBytes } from '../core/secret.ts';
import { isCredentialId, isCredentialSecret } from '../domain/account.ts';
import type { CredentialSecret } from './credential/sign-in.ts';

export interface AccountPassword {
  readonly kind: 'password';
  readonly name: string;
  readonly password: SecretBytes;
}

type SignInCredentials = AccountPassword | CredentialSecret;

const COLON = 0x3a;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The secret of an API credential after `Bearer` (RFC 6750). */
function readBearer(token: string, id?: string): SignInCredentials {
  if (!isCredentialSecret(token)) {
    throw new VaultError('unauthenticated');
  }
  return { kind: 'credential', id, secret: new Secret(token) };
}

/** A name and a password after `Basic` (RFC 7617): strict base64, UTF-8, divided at the first colon. */
function readBasic(encoded: string): SignInCredentials {
  const bytes = Uint8Array.fromBase64(encoded);
  const text = decoder.decode(bytes);
  const colon = text.indexOf(':');
  if (colon < 1) {
    throw new VaultError('unauthenticated');
  }
  const name = text.slice(0, colon);
  return isCredentialId(name)
    ? readBearer(text.slice(colon + 1), name)
    : { kind: 'password', name, password: new Secret(bytes.slice(bytes.indexOf(COLON) + 1)) };
}

/** Reads an Authorization header. Throws `unauthenticated` for a missing or malformed one. */
export function readCredentials(header: string): SignInCredentials {
  const [, scheme, value = ''] =
    /^(?:(basic) +([A-Za-z0-9+/]+={0,2}))$/i.exec(header) ?? /^(?:(bearer) +([\w-]+))$/i.exec(header) ?? [];
  if (scheme === undefined) {
    throw new VaultError('unauthenticated');
  }
  try {
    return scheme.toLowerCase() === 'basic' ? readBasic(value) : readBearer(value);
  } catch {
    throw new VaultError('unauthenticated');
  }
}
