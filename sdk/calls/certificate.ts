/** Client certificates, with which the vault authenticates to third parties. */

import type { CallOptions } from '../transport/call.ts';
import { get, readJson, readOne, remove, sendJson } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  Certificate,
  CreateCertificate,
  CreateCsr,
  Csr,
  DeleteCertificate,
  DeleteCsr,
  ListCertificates,
  Message,
} from '../transport/types.ts';

/**
 * Client certificates, and the requests that they are issued from.
 * @see /guide/client-certificates
 */
export interface CertificateCalls {
  /**
   * Makes a key pair in the vault, which is never shown, and a request for a certificate of it. Retried only
   * if the service has rejected it without any effect: after a lost reply one more request may exist than you know of.
   * @see /guide/client-certificates
   * @throws `certificates_full`
   * @example
   * const { id, data } = await client.certificates.createCsr({ cn: 'shop.example', c: 'DE' });
   */
  readonly createCsr: (subject: CreateCsr, options?: CallOptions) => Promise<Csr>;
  /**
   * One request.
   * @see /guide/client-certificates
   * @throws `csr_not_found`
   * @example
   * const { data } = await client.certificates.getCsr({ id: 'the-csr-id' });
   */
  readonly getCsr: (csr: DeleteCsr, options?: CallOptions) => Promise<Csr>;
  /**
   * All requests of the account, by id.
   * @see /guide/client-certificates
   * @example
   * const csrs = await client.certificates.listCsrs();
   */
  readonly listCsrs: (options?: CallOptions) => Promise<Csr[]>;
  /**
   * Deletes a request and its private key: certificates issued from it can no longer be presented.
   * @see /guide/client-certificates
   * @throws `csr_not_found`
   * @example
   * await client.certificates.deleteCsr({ id: 'the-csr-id' });
   */
  readonly deleteCsr: (csr: DeleteCsr, options?: CallOptions) => Promise<Message>;
  /**
   * Stores a certificate that was issued from a request; `pem` is its text, those that issued it may follow.
   * Throws `certificate_mismatch` for one of another key.
   * @see /guide/client-certificates
   * @throws `csr_not_found`, `certificate_invalid`, `certificate_private_key`, `certificate_mismatch`,
   * `certificates_full`
   * @example
   * const pem = '-----BEGIN CERTIFICATE-----…';
   * const { id } = await client.certificates.create({ csr_id: 'the-csr-id', pem });
   */
  readonly create: (certificate: CreateCertificate, options?: CallOptions) => Promise<Certificate>;
  /**
   * One certificate.
   * @see /guide/client-certificates
   * @throws `certificate_not_found`
   * @example
   * const { expiry } = await client.certificates.get({ id: 'the-certificate-id' });
   */
  readonly get: (certificate: DeleteCertificate, options?: CallOptions) => Promise<Certificate>;
  /**
   * The certificates of the account, or of one request, by id.
   * @see /guide/client-certificates
   * @throws `certificate_not_found`
   * @example
   * const certificates = await client.certificates.list({ csr_id: 'the-csr-id' });
   */
  readonly list: (filter?: ListCertificates, options?: CallOptions) => Promise<Certificate[]>;
  /**
   * Deletes a certificate; its request stays.
   * @see /guide/client-certificates
   * @throws `certificate_not_found`
   * @example
   * await client.certificates.delete({ id: 'the-certificate-id' });
   */
  readonly delete: (certificate: DeleteCertificate, options?: CallOptions) => Promise<Message>;
}

const CSR = ['proxy', 'csr'] as const;
const CERT = ['proxy', 'cert'] as const;

/** The calls of client certificates. */
export function createCertificateCalls(transport: Transport): CertificateCalls {
  return {
    createCsr: (subject, options) => sendJson(transport, 'POST', CSR, 'when_rejected', subject, options),
    getCsr: ({ id }, options) => readOne(transport, CSR, { id }, options),
    listCsrs: (options) => get(transport, CSR, {}, options),
    deleteCsr: (query, options) => remove(transport, CSR, query, options),
    create: ({ pem, ...query }, options) =>
      readJson(transport, {
        method: 'POST',
        path: CERT,
        repeat: 'when_rejected',
        query,
        body: pem,
        type: 'application/x-pem-file',
        options,
      }),
    get: ({ id }, options) => readOne(transport, CERT, { id }, options),
    list: (query, options) => get(transport, CERT, query, options),
    delete: (query, options) => remove(transport, CERT, query, options),
  };
}
