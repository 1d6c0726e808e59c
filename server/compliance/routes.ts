import { Type } from '@sinclair/typebox';
import { defineRoute } from '../http/route.ts';
import { NO_QUERY } from '../schema/common.ts';
import { PUBLISHED } from '../schema/kinds.ts';
import type { Compliance } from './compliance.ts';

/** Services of these routes. */
interface Needs {
  readonly compliance: Compliance;
}

const PDF = 'application/pdf';

/** A binary file. Published so that clients know its type. */
const PdfFile = Type.String({
  description: 'The document itself.',
  [PUBLISHED]: { format: 'binary' },
});

const readCertificate = defineRoute({
  noun: 'admin',
  auth: 'basic',
  method: 'GET',
  path: '/v1/certificate',
  operationId: 'readComplianceCertificate',
  scope: 'usage:read',
  passphrase: 'none',
  meter: [],
  idempotent: false,
  summary: 'Read the certificate of compliance',
  description:
    "The operator's latest signed PCI DSS certificate, for paying accounts. It is confidential: share it only with those who need it.",
  query: NO_QUERY,
  body: { kind: 'none' },
  file: PDF,
  response: PdfFile,
  errors: ['certificate_not_found'],
  audit: { action: 'compliance_certificate.read', of: 'all' },
  handle: async ({ ctx }, services: Needs) => ({
    file: { bytes: await services.compliance.read(ctx), type: PDF, name: 'pci-dss-certificate.pdf' },
  }),
});

export const COMPLIANCE_ROUTES = [readCertificate];
