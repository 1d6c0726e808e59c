import type { CsrSubject } from '../../crypto/certificate/csr.ts';
import { bytes, concealed, json, message, text, utf8Text } from '../codec.ts';
import { defineJob } from '../define.ts';

export interface CertPlace {
  readonly aid: string;
  readonly id: string;
}

type GivenSubject = { readonly [Name in keyof CsrSubject]: CsrSubject[Name] | undefined };

/** A request as the API shows it; parts of the subject that were not given are omitted. */
export interface CsrText extends CsrSubject {
  readonly id: string;
  readonly data: string;
}

export interface CredentialPlace {
  readonly aid: string;
  readonly certId: string;
  readonly csrId: string;
}

export const CERT_JOBS = {
  /** Makes a key pair and a request for it. Cold: making a pair takes a core for as long as a passphrase does. */
  createCsr: defineJob({
    lane: 'cold',
    share: ({ place }) => place.aid,
    input: message({
      place: json<CertPlace>(),
      keyType: json<'ec-p256' | 'rsa-2048'>(),
      subject: json<GivenSubject>(),
    }),
    output: message({ csr: json<CsrText>(), record: bytes, privateKey: bytes }),
  }),
  /** The certificates of a PEM text; the first must be for the key of the request (`certificate_mismatch`). */
  readCertificate: defineJob({
    lane: 'bulk',
    share: ({ place }) => place.aid,
    input: message({ place: json<CertPlace>(), csr: bytes, pem: bytes }),
    output: json<{ readonly data: string; readonly expiry: string }>(),
  }),
  /** Returns what the TLS client presents: the certificate with its chain, and the private key in PEM. */
  clientCredential: defineJob({
    lane: 'hot',
    input: message({ place: json<CredentialPlace>(), certificate: bytes, privateKey: bytes }),
    output: message({ certPem: text, keyPem: concealed(utf8Text) }),
  }),
};
