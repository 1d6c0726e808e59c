/**
 * The formats of recoveries, X-Wing, sealed captures and replies, written again from docs/crypto.md and the standards it names, with
 * nothing of the vault's own code.
 */
import { createDecipheriv, createECDH, createHash, createHmac, hkdfSync } from 'node:crypto';
import { argon2id } from '@noble/hashes/argon2.js';
import { XWing } from '@noble/post-quantum/hybrid.js';

type Field = string | number | Uint8Array;

export function bytes(...parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat(parts);
}

export function sha256(...parts: readonly Uint8Array[]): Buffer {
  return createHash('sha256')
    .update(bytes(...parts))
    .digest();
}
function text(value: string): Buffer {
  return Buffer.from(value, 'utf8');
}

function u32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(value);
  return out;
}

/** "Encoding of fields". */
export function aad(label: string, fields: readonly Field[]): Buffer {
  return bytes(
    ...[label, ...fields].map((field) => {
      if (typeof field === 'number') {
        const out = Buffer.alloc(9, 3);
        out.writeBigUInt64BE(BigInt(field), 1);
        return out;
      }
      const value = typeof field === 'string' ? text(field) : Buffer.from(field);
      return bytes(Buffer.of(typeof field === 'string' ? 1 : 2), u32(value.length), value);
    }),
  );
}

export function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  return createHmac('sha256', key)
    .update(bytes(...parts))
    .digest();
}

export function hkdf(key: Uint8Array, info: Uint8Array, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), info, length));
}

/** AES-256-GCM; throws where it does not open. */
function gcm(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array, associated: Uint8Array): Buffer {
  const cipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
  cipher.setAAD(associated);
  cipher.setAuthTag(sealed.subarray(-16));
  return bytes(cipher.update(sealed.subarray(0, -16)), cipher.final());
}

/** `nonce 12 | ciphertext | tag 16` at the end of a record. */
function gcmAt(key: Uint8Array, record: Uint8Array, at: number, associated: Uint8Array): Buffer {
  return gcm(key, record.subarray(at, at + 12), record.subarray(at + 12), associated);
}

/** Where a record belongs. */
export interface Place {
  readonly env: string;
  readonly aid: string;
  readonly kid: string;
}

/** "Service record (20)". */
export function service(
  master: Uint8Array,
  { env }: Pick<Place, 'env'>,
  aid: string,
  kind: string,
  path: readonly string[],
  record: Uint8Array,
): Buffer {
  const head = record.subarray(0, 8);
  const key = hkdf(master, aad('cardvault seal', ['record', env, aid]), 32);
  const message = hmac(key, record.subarray(8, 24));
  return gcmAt(message, record, 24, aad('cardvault record', [head, env, aid, kind, ...path]));
}

/** RFC 9180, sections 4 and 5.1, for one KEM with HKDF-SHA256; `dh`: what two keys of a DHKEM agree on. */
function hpke(
  kem: number,
  aead: number,
  info: Uint8Array,
  secret: { shared: Uint8Array } | { dh: Uint8Array; context: Uint8Array },
) {
  const id = (name: string, ...ids: number[]) =>
    bytes(text(name), ...ids.map((each) => Buffer.of(each >> 8, each & 255)));
  const extract = (suite: Uint8Array, salt: Uint8Array, label: string, ikm: Uint8Array) =>
    hmac(salt, text('HPKE-v1'), suite, text(label), ikm);
  const expand = (suite: Uint8Array, key: Uint8Array, label: string, context: Uint8Array, length: number) => {
    // At most one block: no key here is longer.
    const labeled = bytes(Buffer.of(0, length), text('HPKE-v1'), suite, text(label), context);
    return hmac(key, labeled, Buffer.of(1)).subarray(0, length);
  };
  const none = new Uint8Array(0);
  const kemSuite = id('KEM', kem);
  const shared =
    'shared' in secret
      ? secret.shared
      : expand(kemSuite, extract(kemSuite, none, 'eae_prk', secret.dh), 'shared_secret', secret.context, 32);
  const suite = id('HPKE', kem, 1, aead);
  const context = bytes(
    Buffer.of(0),
    extract(suite, none, 'psk_id_hash', none),
    extract(suite, none, 'info_hash', info),
  );
  const key = extract(suite, shared, 'secret', none);
  return {
    key: expand(suite, key, 'key', context, 32),
    nonce: expand(suite, key, 'base_nonce', context, 12),
    exported: (label: Uint8Array) => expand(suite, expand(suite, key, 'exp', context, 32), 'sec', label, 32),
  };
}

/** "X-Wing", export-only. */
export function xWingKey(seed: Uint8Array, enc: Uint8Array, info: Uint8Array, label: Uint8Array): Buffer {
  return hpke(0x647a, 0xffff, info, { shared: XWing.decapsulate(enc, seed) }).exported(label);
}

/** What opens items: private keys in order, and the token key. */
export interface OpenKey {
  readonly suites: readonly number[];
  readonly privateKeys: readonly Buffer[];
  readonly tokenKey: Buffer;
}

function keyOf(suites: readonly number[], secrets: Buffer): OpenKey {
  const privateKeys = suites.map((_, i) => secrets.subarray(32 * i, 32 * i + 32));
  return { suites, privateKeys, tokenKey: secrets.subarray(32 * suites.length) };
}

/** "Vault key (10, 18, 19, 1a)", of suite 02, with a recovery. */
export function vaultKey(place: Place, record: Buffer, passphrase: string) {
  const kidEnd = 5 + (record[4] ?? 0);
  const n = record.readUInt32BE(kidEnd);
  const suites = Array.from({ length: n }, (_, i) => record[kidEnd + 4 + 33 * i] ?? 0);
  const digestAt = kidEnd + 4 + 33 * n;
  const saltAt = digestAt + 32;
  const [m, t, p] = [16, 20, 24].map((at) => record.readUInt32BE(saltAt + at));
  const nonceAt = saltAt + 28 + 32;
  const made = argon2id(passphrase, record.subarray(saltAt, saltAt + 16), { m, t, p, dkLen: 32 } as never);
  const both = hkdf(made, aad('cardvault kek', []), 64);
  if (!both.subarray(32).equals(record.subarray(saltAt + 28, nonceAt))) {
    throw new Error('another passphrase');
  }
  const { env, aid, kid } = place;
  const bound = aad('cardvault vault key', [env, aid, kid, record.subarray(0, nonceAt)]);
  const secrets = gcmAt(both.subarray(0, 32), record, nonceAt, bound);
  return { ...keyOf(suites, secrets), recoveryDigest: record.subarray(digestAt, saltAt) };
}

/** Shamir's scheme over GF(2^8): the value at 0 of the polynomial through the points. */
function combine(points: readonly (readonly [x: number, y: Uint8Array])[]): Buffer {
  const times = (a: number, b: number): number => {
    let product = 0;
    for (let bit = 0; bit < 8; bit++) {
      product ^= (b >> bit) & 1 ? a : 0;
      a = (a << 1) ^ (a & 0x80 ? 0x11b : 0);
    }
    return product;
  };
  const inverse = (a: number): number => {
    let power = 1;
    for (let i = 0; i < 254; i++) {
      power = times(power, a);
    }
    return power;
  };
  const weights = points.map(([x]) =>
    points
      .filter(([other]) => other !== x)
      .reduce((weight, [other]) => times(weight, times(other, inverse(x ^ other))), 1),
  );
  const byte = (at: number): number =>
    points.reduce((sum, [, y], i) => sum ^ times(weights[i] ?? 0, y[at] ?? 0), 0);
  return Buffer.from(Array.from({ length: 32 }, (_, at) => byte(at)));
}

/** "Recovery": the key, out of the lines of enough custodians. */
export function recovered(place: Place, record: Buffer, suites: readonly number[], lines: readonly string[]) {
  const { env, aid, kid } = place;
  const points = lines.map((line) => {
    const parts = line.trim().split('.');
    const [version, ...names] = parts;
    const sum = sha256(aad('cardvault share', [parts.slice(0, -1).join('.')])).subarray(0, 8);
    if (version !== 'vss1' || sum.toString('base64url') !== parts.at(-1) || names[1] !== aid) {
      throw new Error('no share');
    }
    const share = Buffer.from(parts.at(-2) ?? '', 'base64url');
    return [share[32] ?? 0, share.subarray(0, 32)] as const;
  });
  const idAt = 5 + (record[4] ?? 0);
  const id = record.subarray(idAt, idAt + 16);
  const all = hkdf(combine(points), aad('cardvault recovery', [env, aid, kid, id]), 96);
  const commitmentAt = idAt + 16 + 1216;
  if (!all.subarray(64).equals(record.subarray(commitmentAt, commitmentAt + 32))) {
    throw new Error('another secret');
  }
  let at = commitmentAt + 32 + 4 + 32;
  const count = record[at + 1] ?? 0;
  at += 2;
  const sealedShares: string[] = [];
  for (let i = 0; i < count; i++) {
    const length = record.readUInt16BE(at + 62);
    sealedShares.push(record.subarray(at + 64, at + 64 + length).toString());
    at += 64 + length;
  }
  const head = record.subarray(0, at);
  const enc = record.subarray(at + 4, at + 4 + 1120);
  const nonceAt = at + 4 + 1120;
  const info = aad('cardvault recovery hpke', [env, aid, kid, sha256(head)]);
  const key = xWingKey(all.subarray(0, 32), enc, info, aad('cardvault recovery key', []));
  const bound = aad('cardvault recovery wrap', [env, aid, kid, record.subarray(0, nonceAt)]);
  return { ...keyOf(suites, gcmAt(key, record, nonceAt, bound)), digest: sha256(head), sealedShares };
}

/** "Sealed envelope (12)" of suite 02, and "Content (13)" behind it. */
export function openPart(
  place: Place & { readonly token: string; readonly reference: string; readonly revision: Uint8Array },
  seed: Uint8Array,
  part: number,
  stored: Buffer,
): string {
  const { env, aid, kid, token } = place;
  const enc = stored.subarray(8, 1128);
  const nonce = stored.subarray(1128, 1140);
  const info = aad('cardvault hpke', [env, aid, kid, stored.readUInt32BE(4)]);
  const head = bytes(stored.subarray(0, 8), sha256(enc));
  const bound = aad('cardvault envelope', [head, env, aid, kid, token, part]);
  const key = xWingKey(seed, enc, info, aad('cardvault dek', [bound, nonce]));
  const dek = gcm(key, nonce, stored.subarray(1140, 1188), bound);
  const content = stored.subarray(1188);
  const fields = [
    content.subarray(0, 4),
    env,
    aid,
    kid,
    token,
    sha256(text(place.reference)),
    place.revision,
  ];
  const padded = gcmAt(dek, content, 4, aad('cardvault content', [...fields, part]));
  return padded.subarray(4, 4 + padded.readUInt32BE(0)).toString();
}

/** "Endpoints": what the secret of one opens, and its policy. */
export function endpoint(
  master: Uint8Array,
  place: Place & { readonly id: string; readonly kind: 'capture' | 'retrieve' },
  secretText: string,
  policyRecord: Uint8Array,
  wrapRecord: Uint8Array,
): Buffer {
  const { env, aid, kid, id, kind } = place;
  const policy = service(master, place, aid, 'endpoint', [id], policyRecord);
  const wrap = service(master, place, aid, 'endpoint wrap', [id], wrapRecord);
  const secret = Buffer.from(secretText.slice('vcs1_'.length), 'base64url');
  const salt = policy.subarray(1, 17);
  const both = hkdf(secret, aad('cardvault endpoint secret', [env, aid, kind, id, salt]), 64);
  const bound = aad('cardvault endpoint', [wrap.subarray(0, 8), env, aid, kid, id, sha256(policy)]);
  return gcmAt(both.subarray(0, 32), wrap, 8, bound);
}

/** The texts of a request that a message is sealed for. */
type Names = readonly [string | null, string | null, string | null];

/** One message to a private and a public key of P-256, one after the other. */
function openMessage(
  pair: Uint8Array,
  [enc, sealed]: readonly [Uint8Array, Uint8Array],
  info: string,
  names: Names,
): string {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(pair.subarray(0, 32));
  const context = bytes(enc, pair.subarray(32));
  const { key, nonce } = hpke(0x0010, 2, text(info), { dh: ecdh.computeSecret(enc), context });
  return gcm(key, nonce, sealed, text(JSON.stringify(names))).toString();
}

/** "Sealed captures": the body, by the plaintext of a sealing key. */
export function sealedBody(pair: Buffer, enc: Uint8Array, sealed: Uint8Array, names: Names): string {
  return openMessage(pair.subarray(1), [enc, sealed], 'cardvault sealed capture', names);
}

/** "Sealed replies": the body with the spaces behind it. */
export function sealedReply(pair: Uint8Array, enc: Uint8Array, sealed: Uint8Array, names: Names): string {
  return openMessage(pair, [enc, sealed], 'cardvault sealed reply', names);
}
