/** Certificates of servers and clients, good and bad ones, made anew for each run. */
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  type GeneralNameType,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { Secret } from '../../server/core/secret.ts';

const DAY_MS = 86_400_000;
const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
/** An extension that nobody knows, marked as one that must be understood. */
const UNKNOWN_CRITICAL = new Extension('1.3.6.1.4.1.55555.1', true, new Uint8Array([5, 0]));

export interface Credential {
  readonly certPem: string;
  readonly keyPem: string;
}

/** What a certificate shall say; the defaults make a good one for `target.example`. */
export interface Terms {
  readonly subject?: string;
  readonly names?: readonly { readonly type: GeneralNameType; readonly value: string }[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly use?: 'serverAuth' | 'clientAuth';
  readonly unknownCritical?: boolean;
  readonly selfSigned?: boolean;
}

export interface Authority {
  readonly pem: string;
  issue(terms?: Terms): Promise<Credential>;
}

let serial = 1;
function nextSerial(): string {
  return (serial++).toString(16).padStart(4, '0');
}
function newKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
}

async function keyPemOf({ privateKey }: CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', privateKey));
  return `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`;
}

function extensionsOf({ names, use, unknownCritical }: Terms): Extension[] {
  const found = names ?? [{ type: 'dns', value: 'target.example' }];
  return [
    new ExtendedKeyUsageExtension([ExtendedKeyUsage[use ?? 'serverAuth']]),
    ...(found.length === 0 ? [] : [new SubjectAlternativeNameExtension([...found])]),
    ...(unknownCritical === true ? [UNKNOWN_CRITICAL] : []),
  ];
}

/** A new root, and what it issues. */
export async function newAuthority(name = 'Outbound Test Root'): Promise<Authority> {
  const rootKeys = await newKeys();
  const valid = {
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 10 * DAY_MS),
    signingAlgorithm: EC,
  };
  const root = await X509CertificateGenerator.createSelfSigned({
    ...valid,
    serialNumber: nextSerial(),
    name: `CN=${name}`,
    keys: rootKeys,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const issue = async (terms: Terms = {}): Promise<Credential> => {
    const keys = await newKeys();
    const subject = terms.subject ?? 'CN=some server';
    const certificate = await X509CertificateGenerator.create({
      ...valid,
      serialNumber: nextSerial(),
      notBefore: terms.notBefore ?? valid.notBefore,
      notAfter: terms.notAfter ?? valid.notAfter,
      issuer: terms.selfSigned === true ? subject : root.subject,
      subject,
      publicKey: keys.publicKey,
      signingKey: terms.selfSigned === true ? keys.privateKey : rootKeys.privateKey,
      extensions: extensionsOf(terms),
    });
    return { certPem: certificate.toString('pem'), keyPem: await keyPemOf(keys) };
  };
  return { pem: root.toString('pem'), issue };
}

/** A credential as a call takes it. */
export function asClientCert({ certPem, keyPem }: Credential) {
  return { certPem, keyPem: new Secret(keyPem) };
}
