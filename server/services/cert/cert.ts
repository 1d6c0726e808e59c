import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { Certificate, Csr } from '../../http/schema/cert.ts';
import type { CertStore } from '../../store/cert.ts';
import type { RandomId } from '../common/clock.ts';
import type { AccountContext } from '../common/request-context.ts';
import type { MeteringService } from '../request/metering.ts';

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
  readonly createCsr: (ctx: AccountContext, input: CreateCsrInput) => Promise<Csr>;
  readonly readCsr: (ctx: AccountContext, id: string) => Promise<Csr>;
  readonly listCsrs: (ctx: AccountContext) => Promise<readonly Csr[]>;
  /** Deletes the private key as well: certificates issued from the request can no longer be used. */
  readonly removeCsr: (ctx: AccountContext, id: string) => Promise<void>;
  /** `pem` is the body as sent. */
  readonly createCertificate: (
    ctx: AccountContext,
    input: { readonly csr_id: string; readonly pem: Uint8Array },
  ) => Promise<Certificate>;
  readonly readCertificate: (ctx: AccountContext, id: string) => Promise<Certificate>;
  readonly listCertificates: (
    ctx: AccountContext,
    filter: { readonly csr_id?: string | undefined },
  ) => Promise<readonly Certificate[]>;
  readonly removeCertificate: (ctx: AccountContext, id: string) => Promise<void>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Finds what connections to third parties present. */
export interface ClientCredentials {
  /** A certificate with its private key; undefined when either was deleted. An expired one is found like any other. */
  readonly find: (
    aid: string,
    certId: string,
  ) => Promise<Awaited<ReturnType<Crypto['clientCredential']>> | undefined>;
}

function place(kind: 'csr' | 'certificate', aid: string, id: string) {
  return { purpose: 'record', account: aid, kind, path: [id] } as const;
}

function parseCertificate(opened: Uint8Array): Certificate {
  return JSON.parse(decoder.decode(opened)) as Certificate;
}

export function createClientCredentials({
  crypto,
  certStore,
}: {
  readonly crypto: Pick<Crypto, 'clientCredential' | 'openRecord'>;
  readonly certStore: Pick<CertStore, 'readCertificate' | 'readCsrKey'>;
}): ClientCredentials {
  return {
    async find(aid, certId) {
      const record = await certStore.readCertificate(aid, certId);
      if (!record) {
        return undefined;
      }
      const { csr_id: csrId } = parseCertificate(
        await crypto.openRecord({ place: place('certificate', aid, certId), record }),
      );
      const keyRecord = await certStore.readCsrKey(aid, csrId);
      return (
        keyRecord &&
        crypto.clientCredential({ place: { aid, certId, csrId }, certificate: record, privateKey: keyRecord })
      );
    },
  };
}

/** Client certificates: requests whose key pairs are made here and never leave, and what was issued from them. */
export function createCerts({
  crypto,
  certStore,
  metering,
  randomId,
}: {
  readonly crypto: Pick<Crypto, 'createCsr' | 'openRecord' | 'readCertificate' | 'sealRecord'>;
  readonly certStore: CertStore;
  readonly metering: Pick<MeteringService, 'count'>;
  readonly randomId: RandomId;
}): CertService {
  const openCsr = async (aid: string, id: string, record: Uint8Array): Promise<Csr> => {
    const { spki: _, ...csr } = JSON.parse(
      decoder.decode(await crypto.openRecord({ place: place('csr', aid, id), record })),
    ) as Csr & { readonly spki: string };
    return csr;
  };
  const openCertificate = async (aid: string, id: string, record: Uint8Array): Promise<Certificate> =>
    parseCertificate(await crypto.openRecord({ place: place('certificate', aid, id), record }));

  return {
    async createCsr(ctx, { key_type: keyType, ...subject }) {
      const { account } = ctx;
      const { aid } = account;
      const id = randomId();
      const { csr, record, privateKey } = await crypto.createCsr({
        place: { aid, id },
        keyType,
        subject,
      });
      if ((await certStore.createCsr(aid, id, record, privateKey)) === 'full') {
        throw new VaultError('certificates_full');
      }
      metering.count(ctx, 'certificate');
      return csr;
    },
    async readCsr(ctx, id) {
      const { account } = ctx;
      const record = await certStore.readCsr(account.aid, id);
      if (!record) {
        throw new VaultError('csr_not_found', { field: 'query.id' });
      }
      metering.count(ctx, 'certificate');
      return openCsr(account.aid, id, record);
    },
    async listCsrs(ctx) {
      const { account } = ctx;
      const found = await certStore.listCsrs(account.aid);
      metering.count(ctx, 'certificate');
      return Promise.all(found.map(({ id, record }) => openCsr(account.aid, id, record)));
    },
    async removeCsr(ctx, id) {
      const { account } = ctx;
      if (!(await certStore.removeCsr(account.aid, id))) {
        throw new VaultError('csr_not_found', { field: 'query.id' });
      }
      metering.count(ctx, 'certificate');
    },
    async createCertificate(ctx, { csr_id, pem }) {
      const { account } = ctx;
      const { aid } = account;
      const csr = await certStore.readCsr(aid, csr_id);
      if (!csr) {
        throw new VaultError('csr_not_found', { field: 'query.csr_id' });
      }
      const read = await crypto.readCertificate({ place: { aid, id: csr_id }, csr, pem });
      const certificate: Certificate = { id: randomId(), csr_id, ...read };
      const record = await crypto.sealRecord({
        place: place('certificate', aid, certificate.id),
        plaintext: encoder.encode(JSON.stringify(certificate)),
      });
      const outcome = await certStore.createCertificate(aid, certificate.id, csr_id, record);
      if (outcome !== 'ok') {
        throw outcome === 'full'
          ? new VaultError('certificates_full')
          : new VaultError('csr_not_found', { field: 'query.csr_id' });
      }
      metering.count(ctx, 'certificate');
      return certificate;
    },
    async readCertificate(ctx, id) {
      const { account } = ctx;
      const record = await certStore.readCertificate(account.aid, id);
      if (!record) {
        throw new VaultError('certificate_not_found', { field: 'query.id' });
      }
      metering.count(ctx, 'certificate');
      return openCertificate(account.aid, id, record);
    },
    async listCertificates(ctx, { csr_id }) {
      const { account } = ctx;
      const found = await certStore.listCertificates(account.aid);
      const all = await Promise.all(found.map(({ id, record }) => openCertificate(account.aid, id, record)));
      metering.count(ctx, 'certificate');
      return csr_id === undefined ? all : all.filter((certificate) => certificate.csr_id === csr_id);
    },
    async removeCertificate(ctx, id) {
      const { account } = ctx;
      if (!(await certStore.removeCertificate(account.aid, id))) {
        throw new VaultError('certificate_not_found', { field: 'query.id' });
      }
      metering.count(ctx, 'certificate');
    },
  };
}
