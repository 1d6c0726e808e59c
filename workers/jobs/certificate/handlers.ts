import { VaultError } from '../../../server/core/errors.ts';
import * as x509 from '../../crypto/certificate/certificate.ts';
import type { CsrSubject } from '../../crypto/certificate/csr.ts';
import * as pkcs10 from '../../crypto/certificate/csr.ts';
import { IntegrityError, wipe } from '../../crypto/primitives/bytes.ts';
import { type ThreadHandlers, toJsonBytes, toText } from '../context.ts';
import type { CERT_JOBS } from './jobs.ts';

export const CERT_HANDLERS: ThreadHandlers<typeof CERT_JOBS> = {
  async createCsr({ sealer }, { place: { aid, id }, keyType, subject: given }) {
    // JSON omits members that are undefined.
    const asked = { ...(given as CsrSubject), keyType };
    const { csrPem, privateKey, publicKey, subject } = await pkcs10.createCsr(asked);
    try {
      const csr = { id, ...subject, data: csrPem };
      const record = toJsonBytes({ ...csr, spki: publicKey.toBase64() });
      return {
        csr,
        record: sealer.seal('record', aid, 'csr', [id], record),
        privateKey: sealer.seal('record', aid, 'csr key', [id], privateKey),
      };
    } finally {
      wipe(privateKey);
    }
  },

  readCertificate({ sealer }, { place: { aid, id }, csr, pem }) {
    const opened = sealer.open('record', aid, 'csr', [id], csr);
    const { spki } = JSON.parse(toText(opened)) as { readonly spki: string };
    const certificate = x509.readCertificate(toText(pem));
    if (!x509.matchesKey(certificate, Uint8Array.fromBase64(spki))) {
      throw new VaultError('certificate_mismatch', { field: 'body' });
    }
    return { data: [certificate.certPem, ...certificate.chain].join(''), expiry: certificate.expiry };
  },

  clientCredential({ sealer }, { place: { aid, certId, csrId }, certificate, privateKey }) {
    const opened = sealer.open('record', aid, 'certificate', [certId], certificate);
    const stored = JSON.parse(toText(opened)) as { readonly csr_id: string; readonly data: string };
    if (stored.csr_id !== csrId) {
      throw new IntegrityError('certificate');
    }
    const privateKeyDer = sealer.open('record', aid, 'csr key', [csrId], privateKey);
    try {
      return x509.clientCredential({ certPem: stored.data, chain: [], privateKeyDer });
    } finally {
      wipe(privateKeyDer);
    }
  },
};
