/** The headers of a request: credentials, passphrase or secret, and idempotency key. */
import type { ApiCall, EndpointSegment, Signing } from './call.ts';
import { VaultError } from './errors.ts';
import { encoded } from './path.ts';

const SECRET_HEADERS: Readonly<Record<EndpointSegment, string>> = {
  capture: 'X-Vault-Capture-Secret',
  retrieve: 'X-Vault-Retrieve-Secret',
};

/**
 * The headers of a call. Throws a VaultError for a passphrase that is not well-formed Unicode, and for a secret or
 * idempotency key that a header cannot contain. The secret of an endpoint replaces `authorization`, which a third
 * party must never see.
 */
export function headersOf(
  call: ApiCall,
  authorization: string | undefined,
  retries: number,
): Record<string, string> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (call.secret !== undefined) {
    headers[SECRET_HEADERS[call.secret.kind]] = checkedSecret(call.secret.text);
  } else if (authorization !== undefined) {
    headers['Authorization'] = authorization;
  }
  if (call.version !== undefined) {
    headers['If-Match'] = `"${checkedVersion(call.version)}"`;
  }
  if (call.sealTo !== undefined) {
    headers['X-Vault-Seal-To'] = call.sealTo;
  }
  if (call.body !== undefined) {
    headers['Content-Type'] = call.type ?? 'application/json';
  }
  if (call.passphrase !== undefined) {
    headers['X-Vault-Passphrase'] = encoded(call.passphrase, 'The passphrase');
  }
  const key =
    call.options?.idempotencyKey ?? (call.repeat === 'keyed' && retries > 0 ? randomKey() : undefined);
  if (key !== undefined) {
    headers['Idempotency-Key'] = checkedKey(key);
  }
  return headers;
}

/** 128 random bits in hex, for an idempotency key. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function checkedVersion(version: string): string {
  // An empty or missing one must not turn a conditional write into one without a condition.
  if (typeof version !== 'string' || !/^[\x21\x23-\x7e]{1,64}$/.test(version)) {
    throw new VaultError('version must be the text that storing, updating or decrypting returned.');
  }
  return version;
}

function checkedKey(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new VaultError('idempotencyKey must be 1 to 255 printable ASCII characters.');
  }
  return key;
}

/** Rejects a text that cannot be a secret, before an error of the runtime could quote it. */
export function checkedSecret(secret: string): string {
  if (typeof secret !== 'string' || !/^[\x21-\x7e]{1,256}$/.test(secret)) {
    throw new VaultError('secret must be the text that creating the endpoint returned.');
  }
  return secret;
}

/** The Authorization header of a credential (RFC 6750), or of a name and password. */
export function authorizationOf({ username, password, credential }: Signing): string {
  if (credential === undefined) {
    return basicAuth(username, password);
  }
  if (username !== undefined || password !== undefined) {
    throw new VaultError('credential stands in place of username and password: give one of both.');
  }
  if (typeof credential !== 'string' || !/^vak1_[\w-]{43}$/.test(credential)) {
    throw new VaultError('credential must be the secret that creating it returned.');
  }
  return `Bearer ${credential}`;
}

/** RFC 7617, with the user and password in UTF-8. */
function basicAuth(username: string, password: string): string {
  if (!username || !password) {
    throw new VaultError('username and password are needed, and one of them is missing or empty.');
  }
  if (username.includes(':')) {
    throw new VaultError('username must hold no colon.');
  }
  const bytes = new TextEncoder().encode(`${username}:${password}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
}
