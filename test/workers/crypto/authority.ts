/** A certificate authority for tests, made with a library that shares no code with ours. */
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Pkcs10CertificateRequest,
  PublicKey,
  X509CertificateGenerator,
} from '@peculiar/x509';

const DAY_MS = 86_400_000;
const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

interface Terms {
  /** When the certificate ends; ten days from now when it is not given. */
  readonly notAfter?: Date;
}

export interface Authority {
  readonly pem: string;
  /** A client certificate for what a request asks, whose own signature is checked first. */
  issue(csrPem: string, terms?: Terms): Promise<string>;
  /** A client certificate for any public key, as SubjectPublicKeyInfo DER. */
  issueFor(spki: Uint8Array, terms?: Terms): Promise<string>;
  /** An authority below this one; without `mayIssue` its own certificate does not say that it is one. */
  below(name: string, mayIssue?: boolean): Promise<Authority>;
  /** An authority at the top with the same key and another name. */
  renamed(name: string): Promise<Authority>;
}

let serial = 1;

function base(notAfter = new Date(Date.now() + 10 * DAY_MS)) {
  return {
    serialNumber: (serial++).toString(16).padStart(4, '0'),
    notBefore: new Date(Math.min(Date.now(), notAfter.getTime()) - DAY_MS),
    notAfter,
  };
}

const CA = new BasicConstraintsExtension(true, undefined, true);
const CLIENT = new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]);

function authorityOf(pem: string, name: string, keys: CryptoKeyPair): Authority {
  const issuer = `CN=${name}`;
  const sign = async (subject: string, publicKey: PublicKey, { notAfter }: Terms) => {
    const certificate = await X509CertificateGenerator.create({
      ...base(notAfter),
      issuer,
      subject,
      publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: EC,
      extensions: [CLIENT],
    });
    return `${certificate.toString('pem')}\n`;
  };
  return {
    pem,
    async issue(csrPem, terms = {}) {
      const request = new Pkcs10CertificateRequest(csrPem);
      if (!(await request.verify())) {
        throw new TypeError('the request is not signed with its own key');
      }
      return await sign(request.subject, request.publicKey, terms);
    },
    issueFor: (spki, terms = {}) => sign('CN=some client', new PublicKey(new Uint8Array(spki)), terms),
    async below(inner, mayIssue = true) {
      const innerKeys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
      const certificate = await X509CertificateGenerator.create({
        ...base(),
        issuer,
        subject: `CN=${inner}`,
        publicKey: innerKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: EC,
        extensions: mayIssue ? [CA] : [],
      });
      return authorityOf(`${certificate.toString('pem')}\n`, inner, innerKeys);
    },
    renamed: (other) => topAuthority(other, keys),
  };
}

async function topAuthority(name: string, keys: CryptoKeyPair): Promise<Authority> {
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...base(),
    name: `CN=${name}`,
    keys,
    signingAlgorithm: EC,
    extensions: [CA],
  });
  return authorityOf(`${certificate.toString('pem')}\n`, name, keys);
}

/** A new authority at the top, with a key of its own. */
export async function newAuthority(name = 'Test Root'): Promise<Authority> {
  return await topAuthority(name, await crypto.subtle.generateKey(EC, true, ['sign', 'verify']));
}
