import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message, NO_QUERY } from '../schema/common.ts';
import type { Certificates } from './certificates.ts';
import {
  Certificate,
  CertificatePem,
  CertificateQuery,
  CertificateReadQuery,
  CertificatesReply,
  CreateCertificateQuery,
  CreateCsrBody,
  Csr,
  CsrQuery,
  CsrReadQuery,
  CsrsReply,
} from './schema.ts';

interface Needs {
  readonly certificates: Certificates;
}

const COMMON = {
  noun: 'proxy',
  auth: 'basic',
  passphrase: 'none',
  meter: ['certificate'],
  idempotent: false,
} as const;

const createCsr = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/proxy/csr',
  operationId: 'createCsr',
  scope: 'cert:write',
  summary: 'Create a certificate signing request',
  description:
    'Generates a key pair and a certificate signing request for it. The private key never leaves the vault. Send the request to the issuer of client certificates for the third party.',
  query: NO_QUERY,
  body: { kind: 'json', schema: CreateCsrBody, bytesMax: BODY_BYTES.short },
  response: Csr,
  errors: ['certificates_full'],
  audit: { action: 'csr.create', of: 'all' },
  handle: async ({ ctx, body }, services: Needs) => {
    const { key_type = 'ec-p256', cn, o, ou, l, st, c } = body;
    const csr = await services.certificates.createCsr(ctx, { cn, o, ou, l, st, c }, key_type);
    return { json: csr, object: objectOf('csr', csr.id) };
  },
});

const readCsrs = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/proxy/csr',
  operationId: 'readCsrs',
  scope: 'cert:write',
  summary: 'Read one certificate signing request, or list all',
  description: 'With `id`, returns that request; otherwise all requests of the account.',
  query: CsrReadQuery,
  body: { kind: 'none' },
  response: CsrsReply,
  errors: ['csr_not_found'],
  handle: async ({ ctx, query: { id } }, services: Needs) => ({
    json:
      id === undefined
        ? await services.certificates.listCsrs(ctx)
        : await services.certificates.readCsr(ctx, id),
  }),
});

const removeCsr = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/proxy/csr',
  operationId: 'deleteCsr',
  scope: 'cert:write',
  summary: 'Delete a certificate signing request',
  description:
    'Deletes the request and its private key. Certificates that were issued from it can no longer be used.',
  query: CsrQuery,
  body: { kind: 'none' },
  response: Message,
  errors: ['csr_not_found'],
  audit: { action: 'csr.delete', of: 'all', object: ({ query }) => objectOf('csr', query.id) },
  handle: async ({ ctx, query }, services: Needs) => {
    await services.certificates.removeCsr(ctx, query.id);
    return { json: { message: 'The certificate signing request and its key were deleted.' } };
  },
});

const createCertificate = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/proxy/cert',
  operationId: 'createCertificate',
  scope: 'cert:write',
  summary: 'Store a client certificate',
  description:
    'Stores a certificate that was issued from a signing request of the account. The body is the PEM itself, and its public key must be that of the request. Its id is the client_cert_id of proxy requests.',
  query: CreateCertificateQuery,
  body: {
    kind: 'stored',
    schema: CertificatePem,
    bytesMax: BODY_BYTES.short,
    type: 'application/x-pem-file',
  },
  response: Certificate,
  errors: [
    'csr_not_found',
    'certificate_invalid',
    'certificate_private_key',
    'certificate_mismatch',
    'certificates_full',
  ],
  audit: { action: 'certificate.create', of: 'all', object: ({ query }) => objectOf('csr', query.csr_id) },
  handle: async ({ ctx, query, body }, services: Needs) => {
    const json = await services.certificates.create(ctx, query.csr_id, body);
    return { json, object: objectOf('certificate', json.id) };
  },
});

const readCertificates = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/proxy/cert',
  operationId: 'readCertificates',
  scope: 'cert:write',
  summary: 'Read one client certificate, or list all',
  description:
    'With `id`, returns that certificate; otherwise all certificates of the account, or of one signing request.',
  query: CertificateReadQuery,
  body: { kind: 'none' },
  response: CertificatesReply,
  errors: ['certificate_not_found'],
  handle: async ({ ctx, query: { id, csr_id } }, services: Needs) => ({
    json:
      id === undefined
        ? await services.certificates.list(ctx, csr_id)
        : await services.certificates.read(ctx, id),
  }),
});

const removeCertificate = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/proxy/cert',
  operationId: 'deleteCertificate',
  scope: 'cert:write',
  summary: 'Delete a client certificate',
  description:
    'Deletes a certificate. Its signing request is kept, and another certificate can be issued from it.',
  query: CertificateQuery,
  body: { kind: 'none' },
  response: Message,
  errors: ['certificate_not_found'],
  audit: {
    action: 'certificate.delete',
    of: 'all',
    object: ({ query }) => objectOf('certificate', query.id),
  },
  handle: async ({ ctx, query }, services: Needs) => {
    await services.certificates.remove(ctx, query.id);
    return { json: { message: 'The certificate was deleted.' } };
  },
});

export const CERTIFICATE_ROUTES = [
  createCsr,
  readCsrs,
  removeCsr,
  createCertificate,
  readCertificates,
  removeCertificate,
];
