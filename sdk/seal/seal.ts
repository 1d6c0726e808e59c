/**
 * Seals the body of a capture and opens a sealed reply, with WebCrypto alone: HPKE (RFC 9180) Base with DHKEM(P-256,
 * HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. Hosted forms use it as well.
 */

/** The content type of a sealed body. */
export const SEALED_TYPE = 'application/vnd.cardvault.sealed+json';

/** The key of the vault to seal to. */
export interface SealTo {
  readonly kid: string;
  readonly public_key: string;
}

type Bytes = Uint8Array<ArrayBuffer>;

const ECDH = { name: 'ECDH', namedCurve: 'P-256' };
/** Suite ids of sections 4.1 and 5.1: KEM 0x0010, KDF 0x0001, AEAD 0x0002. */
const KEM_SUITE = 'KEM\0\x10';
const SUITE = 'HPKE\0\x10\0\x01\0\x02';

/** A part of the hashed bytes; a text stands for its UTF-8. */
type Part = string | ArrayLike<number>;

function joined(...parts: readonly Part[]): Bytes {
  return Uint8Array.from(
    parts.flatMap((part) => Array.from(typeof part === 'string' ? new TextEncoder().encode(part) : part)),
  );
}

function toBase64Url(bytes: Bytes): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function ofBase64Url(text: string): Bytes {
  const characters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(characters, (character) => character.charCodeAt(0));
}

/** The input of LabeledExtract and LabeledExpand (section 4): prefix, suite, label and input. */
function labeled(suite: string, label: string, input: Part): Bytes {
  return joined('HPKE-v1', suite, label, input);
}

/** LabeledExtract without a salt. */
async function extract(label: string, input: string): Promise<Bytes> {
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new Uint8Array(32), hmac, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, labeled(SUITE, label, input)));
}

/** LabeledExpand of the result of LabeledExtract: both steps of HKDF. */
async function derive(
  [suite, salt]: readonly [suite: string, salt: Part],
  [fromLabel, from]: readonly [label: string, input: Part],
  [label, info]: readonly [label: string, info: Bytes],
  length: number,
): Promise<Bytes> {
  const key = await crypto.subtle.importKey('raw', labeled(suite, fromLabel, from), 'HKDF', false, [
    'deriveBits',
  ]);
  const hkdf = {
    ...{ name: 'HKDF', hash: 'SHA-256', salt: joined(salt) },
    info: joined([0, length], labeled(suite, label, info)),
  };
  return new Uint8Array(await crypto.subtle.deriveBits(hkdf, key, 8 * length));
}

/** True if this runtime can seal. Pages under plain http have no WebCrypto. */
export function canSeal(): boolean {
  return globalThis.crypto?.subtle !== undefined;
}

/**
 * The sealed body, bound to the endpoint, reference and idempotency key of its request. Each call returns another text,
 * so a repeated request needs the body of the first.
 */
export async function sealBody(
  { kid, public_key }: SealTo,
  [id, reference, idempotencyKey]: readonly [
    id: string,
    reference: string | undefined,
    key: string | undefined,
  ],
  body: string,
): Promise<string> {
  const { subtle } = crypto;
  const receiver = ofBase64Url(public_key);
  const theirs = await subtle.importKey('raw', receiver, ECDH, false, []);
  const own = await subtle.generateKey(ECDH, false, ['deriveBits']);
  const enc = new Uint8Array(await subtle.exportKey('raw', own.publicKey));
  const agreed = await subtle.deriveBits({ name: 'ECDH', public: theirs }, own.privateKey, 256);
  const { key, iv } = await cipherOf(agreed, joined(enc, receiver), 'cardvault sealed capture', 'encrypt');
  const additionalData = joined(JSON.stringify([id, reference ?? null, idempotencyKey ?? null]));
  const ct = await subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, key, joined(body));
  return JSON.stringify({ kid, enc: toBase64Url(enc), ct: toBase64Url(new Uint8Array(ct)) });
}

/** The key and nonce of one message, from the secret that both keys agree on; `points`: that of the sender, then the receiver's. */
async function cipherOf(agreed: ArrayBuffer, points: Bytes, infoText: string, use: 'encrypt' | 'decrypt') {
  const shared = await derive(
    [KEM_SUITE, ''],
    ['eae_prk', new Uint8Array(agreed)],
    ['shared_secret', points],
    32,
  );
  const info = await extract('info_hash', infoText);
  const context = joined([0], await extract('psk_id_hash', ''), info);
  const from = ['secret', ''] as const;
  const raw = await derive([SUITE, shared], from, ['key', context], 32);
  const iv = await derive([SUITE, shared], from, ['base_nonce', context], 12);
  return { key: await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, [use]), iv };
}

/** A reader of one sealed reply. */
export interface SealedReader {
  /** The value of the header `X-Vault-Seal-To`. */
  readonly point: string;
  /** The body of the reply to a request with these names. Rejects for any other text. */
  readonly open: (
    names: readonly [id: string, token: string | undefined, reference: string | undefined],
    text: string,
  ) => Promise<string>;
}

/** Makes a key pair for the reply to one request. */
export async function sealedReader(): Promise<SealedReader> {
  const { subtle } = crypto;
  const own = await subtle.generateKey(ECDH, false, ['deriveBits']);
  const receiver = new Uint8Array(await subtle.exportKey('raw', own.publicKey));
  return {
    point: toBase64Url(receiver),
    open: async ([id, token, reference], text) => {
      const sealed: { readonly enc?: unknown; readonly ct?: unknown } = JSON.parse(text);
      const [enc, ct] = [ofBase64Url(String(sealed.enc)), ofBase64Url(String(sealed.ct))];
      const theirs = await subtle.importKey('raw', enc, ECDH, false, []);
      const agreed = await subtle.deriveBits({ name: 'ECDH', public: theirs }, own.privateKey, 256);
      const { key, iv } = await cipherOf(agreed, joined(enc, receiver), 'cardvault sealed reply', 'decrypt');
      const additionalData = joined(JSON.stringify([id, token ?? null, reference ?? null]));
      const body = await subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, key, ct);
      return new TextDecoder().decode(body).trimEnd();
    },
  };
}
