/** Signatures of webhooks, with Web Crypto, which every runtime has. */
import { VaultError } from '../transport/errors.ts';

const ENCODED = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Computes HMAC-SHA-256 (RFC 2104) over a prefix and the body after it. */
type Sign = (prefix: string, body: Uint8Array) => Promise<Uint8Array>;

/** A signer with the key of a secret. Throws a VaultError for a text that cannot be a secret. */
export async function signer(secret: string): Promise<Sign> {
  const { subtle } = crypto;
  if (subtle === undefined) {
    throw new VaultError('This page has no WebCrypto: webhooks are checked on servers, or under https.');
  }
  const key = await subtle.importKey('raw', keyOf(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return async (prefix, body) => {
    const before = new TextEncoder().encode(prefix);
    const content = new Uint8Array(before.length + body.length);
    content.set(before);
    content.set(body, before.length);
    return new Uint8Array(await subtle.sign('HMAC', key, content));
  };
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  // Otherwise a missing setting would result in a key that everyone knows.
  if (typeof secret !== 'string' || secret === '' || secret === ENCODED) {
    throw new VaultError('secret must be the secret of the webhook.');
  }
  if (!secret.startsWith(ENCODED)) {
    return new TextEncoder().encode(secret);
  }
  const encoded = secret.slice(ENCODED.length);
  if (!BASE64.test(encoded)) {
    throw new VaultError('secret must be Base64 after whsec_.');
  }
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
}

/** The SHA-256 of a text. Comparing digests does not reveal how much of two texts is equal. */
export async function digestOfText(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

/** Compares in a time that only depends on the lengths. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let different = a.length ^ b.length;
  for (let at = 0; at < b.length; at += 1) {
    different |= (a[at] ?? 0) ^ (b[at] ?? 0);
  }
  return different === 0;
}
