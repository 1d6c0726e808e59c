/**
 * Certificate signing requests (PKCS #10, RFC 2986): the key pair is made here, the request is written as DER
 * and signed with SHA-256. DER is only written here, never read: docs/decisions/client-certificates.md.
 */
import { generateKeyPair, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { concat, EMPTY, utf8 } from '../primitives/bytes.ts';
import { toPem } from '../primitives/pem.ts';
import { type CsrSubject, toCsrSubject } from './subject.ts';

/** The keys that a client certificate may have. */
export type ClientKeyType = 'ec-p256' | 'rsa-2048';

/** A new request, and the key pair that it was made for. */
export interface CreatedCsr {
  readonly csrPem: string;
  /** PKCS #8 DER. The caller seals and wipes it. */
  readonly privateKey: Uint8Array;
  /** SubjectPublicKeyInfo DER: what a certificate must hold to belong to this request. */
  readonly publicKey: Uint8Array;
  /** The subject as it stands in the request. */
  readonly subject: CsrSubject;
}

/** Tags of DER (ITU-T X.690). */
const SEQUENCE = 0x30;
const SET = 0x31;
const BIT_STRING = 0x03;
const UTF8_STRING = 0x0c;
const PRINTABLE_STRING = 0x13;

/** What every request has: version 1 (the integer 0), no attributes, whole bytes in the bit string. */
const VERSION_1 = Uint8Array.fromHex('020100');
const NO_ATTRIBUTES = Uint8Array.fromHex('a000');
const NO_UNUSED_BITS = Uint8Array.of(0);

/** AlgorithmIdentifiers: ecdsa-with-SHA256 (RFC 5758) and sha256WithRSAEncryption (RFC 4055). */
const SIGNATURE_ALGORITHM: Readonly<Record<ClientKeyType, Uint8Array>> = {
  'ec-p256': Uint8Array.fromHex('300a06082a8648ce3d040302'),
  'rsa-2048': Uint8Array.fromHex('300d06092a864886f70d01010b0500'),
};

/** Attributes in the order of the name, from the country down, each with its object identifier 2.5.4.n. */
const ATTRIBUTES = [
  ['c', 6],
  ['st', 8],
  ['l', 7],
  ['o', 10],
  ['ou', 11],
  ['cn', 3],
] as const;

/** Off the calling thread, on one of the runtime's own. */
const generate = promisify(generateKeyPair);

/**
 * The length of an element, up to 65,535: all bounds of a subject together, in four bytes a character, are far below
 * that.
 */
function lengthOf(length: number): number[] {
  if (length < 0x80) {
    return [length];
  }
  return length < 0x100 ? [0x81, length] : [0x82, length >>> 8, length & 0xff];
}

/** One element: tag, length, and the parts one after the other. */
function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = concat(parts);
  return concat([Uint8Array.of(tag, ...lengthOf(content.length)), content]);
}

/** X.520 has the country as a PrintableString; RFC 5280 wants UTF8String for all else. */
function nameOf(subject: CsrSubject): Uint8Array {
  return der(
    SEQUENCE,
    ...ATTRIBUTES.map(([name, arc]) => {
      const text = subject[name];
      if (text === undefined) {
        return EMPTY;
      }
      const value = der(name === 'c' ? PRINTABLE_STRING : UTF8_STRING, utf8(text));
      return der(SET, der(SEQUENCE, Uint8Array.of(0x06, 0x03, 0x55, 0x04, arc), value));
    }),
  );
}

/** A P-256 pair takes some 20 us, an RSA pair of 2,048 bits 40 to 400 ms. */
function newKeyPair(keyType: ClientKeyType) {
  return keyType === 'ec-p256'
    ? generate('ec', { namedCurve: 'P-256' })
    : generate('rsa', { modulusLength: 2048 });
}

/**
 * Makes a key pair and a request for a certificate of it. Rejects a subject that `toCsrSubject` rejects before
 * any key is made. An RSA pair takes 40 to 400 ms of one core, away from the calling thread.
 */
export async function createCsr(
  options: CsrSubject & { readonly keyType: ClientKeyType },
): Promise<CreatedCsr> {
  const { keyType, ...given } = options;
  const subject = toCsrSubject(given);
  const pair = await newKeyPair(keyType);
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
  const info = der(SEQUENCE, VERSION_1, nameOf(subject), publicKey, NO_ATTRIBUTES);
  const signature = der(BIT_STRING, NO_UNUSED_BITS, sign('sha256', info, pair.privateKey));
  const request = der(SEQUENCE, info, SIGNATURE_ALGORITHM[keyType], signature);
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'der' });
  return { csrPem: toPem('CERTIFICATE REQUEST', request), privateKey, publicKey, subject };
}
