import type { CsrSubject } from '../../server/domain/csr-subject.ts';
import { wipe } from '../crypto/bytes.ts';
import { matchesKey, readCertificate as readPemCertificate } from '../crypto/certificate.ts';
import { createCsr as makeCsr } from '../crypto/csr.ts';
import { field, type Handler, JobFailure, paramsOf, toJsonBytes, toText } from './context.ts';
import type { CertPlace, CreateCsrParams } from './kinds.ts';

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
    throw new JobFailure('certificate_mismatch body');
  }
  const data = [certificate.certPem, ...certificate.chain].join('');
  return [toJsonBytes({ data, expiry: certificate.expiry })];
};
