import type { Certificate, Csr } from '../http/schema/cert.ts';
import type { Caller } from './common.ts';

/** Types only, a part of deps.ts: client certificates for requests to third parties. */

export interface CreateCsrInput {
  readonly cn: string;
  readonly o?: string | undefined;
  readonly ou?: string | undefined;
  readonly l?: string | undefined;
  readonly st?: string | undefined;
  readonly c?: string | undefined;
  readonly key_type: 'ec-p256' | 'rsa-2048';
}

export interface CertService {
  readonly createCsr: (caller: Caller, input: CreateCsrInput) => Promise<Csr>;
  readonly readCsr: (caller: Caller, id: string) => Promise<Csr>;
  readonly listCsrs: (caller: Caller) => Promise<readonly Csr[]>;
  /** Deletes the private key as well: certificates issued from the request can no longer be used. */
  readonly removeCsr: (caller: Caller, id: string) => Promise<void>;
  /** `pem` is the body as sent. */
  readonly createCertificate: (
    caller: Caller,
    input: { readonly csr_id: string; readonly pem: Uint8Array },
  ) => Promise<Certificate>;
  readonly readCertificate: (caller: Caller, id: string) => Promise<Certificate>;
  readonly listCertificates: (
    caller: Caller,
    filter: { readonly csr_id?: string | undefined },
  ) => Promise<readonly Certificate[]>;
  readonly removeCertificate: (caller: Caller, id: string) => Promise<void>;
}
