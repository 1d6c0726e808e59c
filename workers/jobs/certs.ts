import type { CsrSubject } from '../../server/domain/account/csr-subject.ts';
import {
  matchesKey,
  clientCredential as pairFor,
  readCertificate as readPemCertificate,
} from '../crypto/certificate/certificate.ts';
import { createCsr as makeCsr } from '../crypto/certificate/csr.ts';
import { IntegrityError, utf8, wipe } from '../crypto/primitives/bytes.ts';
import { field, type Handler, JobFailure, paramsOf, toJsonBytes, toText } from './context.ts';
import type { CertPlace, CreateCsrParams } from './kinds.ts';
import type { CredentialParams } from './proxy-kinds.ts';

/** Makes a key pair and a request for it. The private key leaves the thread sealed, and is opened by proxy jobs alone. */
export const createCsr: Handler = async (context, fields) => {
  const { aid, id, keyType } = paramsOf<CreateCsrParams>(fields);
  const given = JSON.parse(toText(field(fields, 1))) as CsrSubject;
  const { csrPem, privateKey, publicKey, subject } = await makeCsr({ ...given, keyType });
  try {
    const csr = { id, ...subject, data: csrPem };
    const record = toJsonBytes({ ...csr, spki: publicKey.toBase64() });
    return [
      toJsonBytes(csr),
      context.sealer.seal('record', aid, 'csr', [id], record),
      context.sealer.seal('record', aid, 'csr key', [id], privateKey),
    ];
  } finally {
    wipe(privateKey);
  }
};

/** Reads a certificate that must have been issued for the key of a request. */
export const readCertificate: Handler = (context, fields) => {
  const { aid, id } = paramsOf<CertPlace>(fields);
  const opened = context.sealer.open('record', aid, 'csr', [id], field(fields, 1));
  const { spki } = JSON.parse(toText(opened)) as { readonly spki: string };
  const certificate = readPemCertificate(toText(field(fields, 2)));
  if (!matchesKey(certificate, Uint8Array.fromBase64(spki))) {
    throw new JobFailure('certificate_mismatch', 'body');
  }
  const data = [certificate.certPem, ...certificate.chain].join('');
  return [toJsonBytes({ data, expiry: certificate.expiry })];
};

/** A stored certificate with the private key of the request that it was issued from, as a TLS client takes them. */
export const clientCredential: Handler = (context, fields) => {
  const { aid, certId, csrId } = paramsOf<CredentialParams>(fields);
  const opened = context.sealer.open('record', aid, 'certificate', [certId], field(fields, 1));
  const certificate = JSON.parse(toText(opened)) as { readonly csr_id: string; readonly data: string };
  if (certificate.csr_id !== csrId) {
    throw new IntegrityError('certificate');
  }
  const privateKeyDer = context.sealer.open('record', aid, 'csr key', [csrId], field(fields, 2));
  try {
    const { certPem, keyPem } = pairFor({ certPem: certificate.data, chain: [], privateKeyDer });
    return [utf8(certPem), keyPem];
  } finally {
    wipe(privateKeyDer);
  }
};
