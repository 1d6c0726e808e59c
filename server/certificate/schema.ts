import { type Static, Type } from '@sinclair/typebox';
import { Timestamp } from '../schema/common.ts';
import { EXPECTED } from '../schema/kinds.ts';

function Id(description: string) {
  return Type.String({
    pattern: '^[A-Za-z0-9._@:-]{1,128}$',
    [EXPECTED]: 'must have 1 to 128 letters, digits or characters of `._@:-`',
    description,
    examples: ['0q3vJq8nQm2dYtS1b7ZkXw'],
  });
}

export const CsrId = Id('Identifier of the certificate signing request.');
export const CertificateId = Id('Identifier of the certificate: client_cert_id in proxy requests.');

function attribute(description: string, example: string) {
  return Type.Optional(Type.String({ description, examples: [example] }));
}

const SUBJECT = {
  cn: Type.String({ description: 'Common name, 1 to 64 characters.', examples: ['shop.example'] }),
  o: attribute('Organisation, up to 64 characters.', 'Example Ltd'),
  ou: attribute('Organisational unit, up to 64 characters.', 'Payments'),
  l: attribute('Locality, up to 128 characters.', 'Berlin'),
  st: attribute('State or province, up to 128 characters.', 'Berlin'),
  c: attribute('Country, two letters.', 'DE'),
};

export const CreateCsrBody = Type.Object(
  {
    ...SUBJECT,
    key_type: Type.Optional(
      Type.Union(
        (['ec-p256', 'rsa-2048'] as const).map((name) => Type.Literal(name)),
        {
          description:
            'The type of the key pair. Default: `ec-p256`. The private key never leaves the vault.',
        },
      ),
    ),
  },
  { $id: 'CreateCsr' },
);

export const Csr = Type.Object(
  {
    id: CsrId,
    ...SUBJECT,
    data: Type.String({
      description: 'The request in PEM (PKCS #10), for the issuer of the certificate.',
      examples: ['-----BEGIN CERTIFICATE REQUEST-----\n…'],
    }),
  },
  { $id: 'Csr' },
);
export type Csr = Static<typeof Csr>;

const CsrList = Type.Array(Csr, { $id: 'CsrList', description: 'In ascending order of id.' });

export const CsrsReply = Type.Union([Csr, CsrList], {
  $id: 'CsrsReply',
  description: 'With `id` that certificate signing request, otherwise all of them.',
});

export const CsrQuery = Type.Object({ id: CsrId });
export const CsrReadQuery = Type.Object({ id: Type.Optional(CsrId) });

export const CertificatePem = Type.String({
  description:
    'One certificate in PEM. Its issuers may follow, each after the certificate that it issued. At most 64 KB.',
  examples: ['-----BEGIN CERTIFICATE-----\n…'],
});

export const CreateCertificateQuery = Type.Object({ csr_id: CsrId });

export const Certificate = Type.Object(
  {
    id: CertificateId,
    csr_id: CsrId,
    data: Type.String({
      description: 'The certificate in PEM, followed by its issuers if they were sent.',
      examples: ['-----BEGIN CERTIFICATE-----\n…'],
    }),
    expiry: Timestamp(
      'The end of its validity. An expired certificate is still presented to the third party.',
    ),
  },
  { $id: 'Certificate' },
);
export type Certificate = Static<typeof Certificate>;

const CertificateList = Type.Array(Certificate, {
  $id: 'CertificateList',
  description: 'In ascending order of id.',
});

export const CertificatesReply = Type.Union([Certificate, CertificateList], {
  $id: 'CertificatesReply',
  description: 'With `id` that certificate, otherwise a list.',
});

export const CertificateQuery = Type.Object({ id: CertificateId });
export const CertificateReadQuery = Type.Object({
  id: Type.Optional(CertificateId),
  csr_id: Type.Optional(CsrId),
});
