/** Bodies sealed as a browser seals them, by an implementation that is not the project's. */
import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_P256_HKDF_SHA256 } from 'hpke';
import type { SealingKey } from '../../sdk/index.ts';
import type { Answer } from './clients.ts';
import { capture, type MadeEndpoint, type Reached, type Use, useEndpoint } from './endpoints.ts';

export const SEALED = { 'content-type': 'application/vnd.cardvault.sealed+json' };

const suite = new CipherSuite(KEM_DHKEM_P256_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM);
const INFO = new TextEncoder().encode('cardvault sealed capture');

function toText(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** The values that a sealed body is bound to: id, reference and idempotency key. */
export type Names = readonly [id: string, reference?: string | undefined, key?: string | undefined];

/** A sealed body for a request with these names. */
export async function sealFor(
  { kid, public_key }: Pick<SealingKey, 'kid' | 'public_key'>,
  [id, reference, key]: Names,
  body: unknown,
): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const to = await suite.DeserializePublicKey(Uint8Array.fromBase64(public_key, { alphabet: 'base64url' }));
  const aad = new TextEncoder().encode(JSON.stringify([id, reference ?? null, key ?? null]));
  const { encapsulatedSecret, ciphertext } = await suite.Seal(to, new TextEncoder().encode(text), {
    aad,
    info: INFO,
  });
  return JSON.stringify({ kid, enc: toText(encapsulatedSecret), ct: toText(ciphertext) });
}

/** Asks a vault for the key to seal to. */
export async function sealingKey(reached: Reached, id = 'any'): Promise<SealingKey> {
  const answer = await useEndpoint(reached, 'GET', `/v1/capture/${id}/sealing-key`);
  return answer.as<SealingKey>();
}

/** Posts a body that is sealed already. */
export function postSealed(
  reached: Reached,
  endpoint: MadeEndpoint,
  body: string,
  use: Use = {},
): Promise<Answer> {
  return capture(reached, endpoint, { ...use, body, headers: { ...SEALED, ...use.headers } });
}
