import type { Wire } from '../wires.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';

/** What the methods of certificates send. */
export const CERTIFICATES: Readonly<Record<string, Wire>> = {
  'certificates.createCsr': {
    call: ({ client }) => client.certificates.createCsr({ cn: 'shop.example', c: 'DE' }),
    request: 'POST /v1/proxy/csr',
    body: { cn: 'shop.example', c: 'DE' },
  },
  'certificates.getCsr': {
    call: ({ client }) => client.certificates.getCsr({ id: 'r&1' }),
    request: 'GET /v1/proxy/csr?id=r%261',
  },
  'certificates.listCsrs': {
    call: ({ client }) => client.certificates.listCsrs(),
    request: 'GET /v1/proxy/csr',
  },
  'certificates.deleteCsr': {
    call: ({ client }) => client.certificates.deleteCsr({ id: 'r1' }),
    request: 'DELETE /v1/proxy/csr?id=r1',
  },
  'certificates.create': {
    call: ({ client }) => client.certificates.create({ csr_id: 'r1', pem: PEM }),
    request: 'POST /v1/proxy/cert?csr_id=r1',
    text: PEM,
  },
  'certificates.get': {
    call: ({ client }) => client.certificates.get({ id: 'c1' }),
    request: 'GET /v1/proxy/cert?id=c1',
  },
  'certificates.list': {
    call: ({ client }) => client.certificates.list(),
    request: 'GET /v1/proxy/cert',
  },
  'certificates.list of a request': {
    call: ({ client }) => client.certificates.list({ csr_id: 'r1' }),
    request: 'GET /v1/proxy/cert?csr_id=r1',
  },
  'certificates.delete': {
    call: ({ client }) => client.certificates.delete({ id: 'c1' }),
    request: 'DELETE /v1/proxy/cert?id=c1',
  },
};
