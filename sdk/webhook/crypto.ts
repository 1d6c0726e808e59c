/** Signatures of webhooks, with the cryptography that every runtime has. */
import { VaultError } from '../transport/errors.ts';

const ENCODED = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Makes HMAC-SHA-256 over a prefix and the body after it. */
type Sign = (prefix: string, body: Uint8Array) => Promise<Uint8Array>;

/** A signer with the key that a secret stands for; refuses what cannot be a secret. */
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
  // Without this, a setting that is missing would be a key that everybody knows.
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

/** The SHA-256 of a text, by which texts of any length are compared without telling how much of them fits. */
export async function digestOfText(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

/** Compares in a time that depends on the lengths alone. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let different = a.length ^ b.length;
  for (let at = 0; at < b.length; at += 1) {
    different |= (a[at] ?? 0) ^ (b[at] ?? 0);
  }
  return different === 0;
}
