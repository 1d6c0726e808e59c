/**
 * Certificate signing requests (PKCS #10, RFC 2986): the key pair is made here, the request is written as DER
 * and signed with SHA-256. DER is only written here, never read: docs/decisions/client-certificates.md.
 */
import { generateKeyPair, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { VaultError } from '../../../server/core/errors.ts';
import { concat, EMPTY, utf8 } from '../primitives/bytes.ts';
import { toPem } from '../primitives/pem.ts';

/** The subject that a certificate is requested for, by the wire names of its attributes. */
export interface CsrSubject {
  readonly cn: string;
  readonly o?: string;
  readonly ou?: string;
  readonly l?: string;
  readonly st?: string;
  readonly c?: string;
}

/** Upper bounds in characters (code points): X.520, and RFC 5280, appendix A.1. */
const CHARACTERS_MAX = { cn: 64, o: 64, ou: 64, l: 128, st: 128 } as const;

const COUNTRY = /^[A-Za-z]{2}$/;
const CONTROL_OR_LINE_END = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Checks that a text is a valid attribute of at most `max` characters. */
function isAttribute(text: string, max: number): boolean {
  // A code point has at most two units: a long text is rejected before it is split.
  if (text.length > 2 * max || !text.isWellFormed() || text.trim() === '') {
    return false;
  }
  return [...text].length <= max && !CONTROL_OR_LINE_END.test(text);
}

/**
 * The subject for a request: C in capitals, the other attributes unchanged, no other members. Throws
 * `invalid_request` with the place for a C that is not two letters, and for any other attribute that is blank, longer
 * than its bound, not well-formed, or contains control characters or line ends.
 */
export function toCsrSubject(subject: CsrSubject): CsrSubject {
  const kept: { -readonly [Name in keyof CsrSubject]: CsrSubject[Name] } = { cn: subject.cn };
  for (const name of ['cn', 'o', 'ou', 'l', 'st'] as const) {
    const text = subject[name];
    if (text === undefined) {
      continue;
    }
    if (!isAttribute(text, CHARACTERS_MAX[name])) {
      const expected = `must have 1 to ${CHARACTERS_MAX[name]} characters, without control characters, and not be blank`;
      throw new VaultError('invalid_request', { field: `body.${name}`, expected });
    }
    kept[name] = text;
  }
  if (subject.c !== undefined) {
    if (!COUNTRY.test(subject.c)) {
      throw new VaultError('invalid_request', {
        field: 'body.c',
        expected: 'must be a country code of two letters',
      });
    }
    kept.c = subject.c.toUpperCase();
  }
  return kept;
}

type ClientKeyType = 'ec-p256' | 'rsa-2048';

/** A new request, and the key pair that it was made for. */
export interface CreatedCsr {
  readonly csrPem: string;
  /** PKCS #8 DER. The caller seals and wipes it. */
  readonly privateKey: Uint8Array;
  /** SubjectPublicKeyInfo DER, which a certificate of this request must hold. */
  readonly publicKey: Uint8Array;
  readonly subject: CsrSubject;
}

/** Tags of DER (ITU-T X.690). */
const SEQUENCE = 0x30;
const SET = 0x31;
const BIT_STRING = 0x03;
const UTF8_STRING = 0x0c;
const PRINTABLE_STRING = 0x13;

/** Constants of every request: version 1 (the integer 0), no attributes, whole bytes in the bit string. */
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

/** Runs on a thread of the runtime. */
const generate = promisify(generateKeyPair);

/** The length of an element, up to 65,535: all bounds of a subject together are far below that. */
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

/** X.520 requires a PrintableString for the country, RFC 5280 a UTF8String for all else. */
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

/**
 * Makes a key pair and a request for a certificate of it. Rejects a subject that `toCsrSubject` rejects before
 * any key is made. A P-256 pair takes some 20 us, an RSA pair 40 to 400 ms of one core, off the calling thread.
 */
export async function createCsr(
  options: CsrSubject & { readonly keyType: ClientKeyType },
): Promise<CreatedCsr> {
  const { keyType, ...given } = options;
  const subject = toCsrSubject(given);
  const pair =
    keyType === 'ec-p256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : await generate('rsa', { modulusLength: 2048 });
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
  const info = der(SEQUENCE, VERSION_1, nameOf(subject), publicKey, NO_ATTRIBUTES);
  const signature = der(BIT_STRING, NO_UNUSED_BITS, sign('sha256', info, pair.privateKey));
  const request = der(SEQUENCE, info, SIGNATURE_ALGORITHM[keyType], signature);
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'der' });
  return { csrPem: toPem('CERTIFICATE REQUEST', request), privateKey, publicKey, subject };
}
