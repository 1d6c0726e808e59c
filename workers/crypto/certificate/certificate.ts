import { type KeyObject, X509Certificate } from 'node:crypto';
import { equalBytes } from '../primitives/bytes.ts';
import { readPem, toPem, toPemBytes } from '../primitives/pem.ts';

type Fault = 'certificate_invalid' | 'certificate_private_key' | 'certificate_mismatch';

/** The sent text is not a certificate that can be presented. Callers answer `code`. */
export class CertificateError extends Error {
  constructor(readonly code: Fault) {
    super('The certificate was rejected.');
    this.name = 'CertificateError';
  }
}

/** A parsed certificate. All PEM in it was written again: nothing of the caller's text is left. */
interface ClientCertificate {
  readonly certPem: string;
  /** The certificates above it, each the issuer of the one before; empty when none were sent. */
  readonly chain: readonly string[];
  /** SubjectPublicKeyInfo DER. */
  readonly publicKey: Uint8Array;
  /** The attributes of the subject as the runtime prints them: `C=DE, CN=Example`. */
  readonly subject: string;
  /** The last instant at which it is valid, as RFC 3339 text in UTC with milliseconds. */
  readonly expiry: string;
}

/** The input of the TLS client. */
export interface ClientCredential {
  readonly certPem: string;
  /** PKCS #8 in PEM, as bytes. The caller wipes it. */
  readonly keyPem: Uint8Array;
}

/** Bounds of what is parsed: characters of PEM, and certificates in it. */
const TEXT_MAX = 65_536;
const CERTIFICATES_MAX = 8;

function reject(code: Fault): never {
  throw new CertificateError(code);
}

/** One certificate, which must fill its bytes exactly. */
function parse(der: Uint8Array): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(der);
  } catch {
    return reject('certificate_invalid');
  }
  // The runtime ignores bytes that follow the certificate.
  return equalBytes(certificate.raw, der) ? certificate : reject('certificate_invalid');
}

/**
 * Checks that a certificate was issued by another: a CA, not the same, with matching names, whose key verifies the
 * signature. Times are not checked: the third party decides about those.
 */
function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return (
      issuer.ca &&
      !equalBytes(issuer.raw, certificate.raw) &&
      certificate.checkIssued(issuer) &&
      certificate.verify(issuer.publicKey)
    );
  } catch {
    return false;
  }
}

/** Checks for the two types of key that `createCsr` makes. */
function isKeyOfOurs({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return (
    (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') ||
    (asymmetricKeyType === 'rsa' && asymmetricKeyDetails?.modulusLength === 2048)
  );
}

/** SubjectPublicKeyInfo DER of the key; `createCsr` uses no curve that the runtime does not know. */
function publicKeyOf(certificate: X509Certificate): Uint8Array {
  let key: KeyObject;
  try {
    key = certificate.publicKey;
  } catch {
    return reject('certificate_mismatch');
  }
  return isKeyOfOurs(key)
    ? new Uint8Array(key.export({ type: 'spki', format: 'der' }))
    : reject('certificate_mismatch');
}

/** The end of the validity; a date that the runtime cannot read makes the certificate invalid. */
function expiryOf({ validToDate }: X509Certificate): string {
  return Number.isNaN(validToDate.getTime()) ? reject('certificate_invalid') : validToDate.toISOString();
}

/**
 * Reads one certificate in PEM, optionally followed by its issuers, each after the one that it issued: at most eight, in at
 * most 65,536 characters. An expired one is read like any other, since the third party decides. Rejects with
 * `CertificateError`: `certificate_private_key` for a text with a private key in it, `certificate_mismatch` for a key of a
 * type that `createCsr` does not make, `certificate_invalid` for all else.
 */
export function readCertificate(pem: string): ClientCertificate {
  if (pem.length > TEXT_MAX) {
    reject('certificate_invalid');
  }
  if (/PRIVATE\s+KEY/i.test(pem)) {
    reject('certificate_private_key');
  }
  const blocks = readPem(pem) ?? [];
  if (blocks.length > CERTIFICATES_MAX || blocks.some(({ label }) => label !== 'CERTIFICATE')) {
    reject('certificate_invalid');
  }
  const [certificate, ...chain] = blocks.map(({ der }) => parse(der));
  if (certificate === undefined) {
    return reject('certificate_invalid');
  }
  let below = certificate;
  for (const issuer of chain) {
    if (!isIssuedBy(below, issuer)) {
      reject('certificate_invalid');
    }
    below = issuer;
  }
  const publicKey = publicKeyOf(certificate);
  const [certPem = '', ...chainPem] = blocks.map(({ label, der }) => toPem(label, der));
  return {
    certPem,
    chain: chainPem,
    publicKey,
    subject: certificate.subject.replaceAll('\n', ', '),
    expiry: expiryOf(certificate),
  };
}

/** Checks that a certificate was issued for the public key of a request, as SubjectPublicKeyInfo DER. */
export function matchesKey(certificate: ClientCertificate, spki: Uint8Array): boolean {
  return equalBytes(certificate.publicKey, spki);
}

/**
 * Certificate, chain and private key (PKCS #8 DER) for a TLS client. The private key exists as bytes alone, never as text;
 * the caller wipes both forms once the connection is made.
 */
export function clientCredential(parts: {
  readonly certPem: string;
  readonly chain: readonly string[];
  readonly privateKeyDer: Uint8Array;
}): ClientCredential {
  return {
    certPem: [parts.certPem, ...parts.chain].join(''),
    keyPem: toPemBytes('PRIVATE KEY', parts.privateKeyDer),
  };
}
