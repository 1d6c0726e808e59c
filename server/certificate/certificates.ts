import { bindParts } from '../core/bind.ts';
import type { RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Certificate, Csr } from './schema.ts';
import type { CertStore } from './store.ts';

type CsrInput = Parameters<Crypto['createCsr']>[0];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface CertParts {
  readonly crypto: Pick<
    Crypto,
    'clientCredential' | 'createCsr' | 'openRecord' | 'readCertificate' | 'sealRecord'
  >;
  readonly certStore: CertStore;
  readonly metering: Pick<MeteringService, 'count'>;
  readonly randomId: RandomId;
}

/** Client certificates: requests whose key pairs are made here and never leave, and what was issued from them. */
export type Certs = ReturnType<typeof createCerts>;

/** Finds what connections to third parties present. */
export type ClientCredentials = Pick<Certs, 'find'>;

/** Makes the client certificates of a server. */
export function createCerts(parts: CertParts) {
  return bindParts(parts, {
    ...{ createCsr, readCsr, listCsrs, removeCsr },
    ...{ createCertificate, readCertificate, listCertificates, removeCertificate, find },
  });
}

function placeOf(kind: 'csr' | 'certificate', aid: string, id: string) {
  return { purpose: 'record', account: aid, kind, path: [id] } as const;
}

async function openCsr({ crypto }: CertParts, aid: string, id: string, record: Uint8Array): Promise<Csr> {
  const opened = await crypto.openRecord({ place: placeOf('csr', aid, id), record });
  const { spki: _, ...csr } = JSON.parse(decoder.decode(opened)) as Csr & { readonly spki: string };
  return csr;
}

async function openCertificate(
  { crypto }: CertParts,
  aid: string,
  id: string,
  record: Uint8Array,
): Promise<Certificate> {
  const opened = await crypto.openRecord({ place: placeOf('certificate', aid, id), record });
  return JSON.parse(decoder.decode(opened)) as Certificate;
}

/** Makes a key pair and a request for a certificate of it. Rejects with `invalid_request` and `certificates_full`. */
async function createCsr(
  { crypto, certStore, metering, randomId }: CertParts,
  ctx: AccountContext,
  { key_type: keyType, ...subject }: CsrInput['subject'] & { readonly key_type: CsrInput['keyType'] },
): Promise<Csr> {
  const { aid } = ctx.account;
  const id = randomId();
  const { csr, record, privateKey } = await crypto.createCsr({ place: { aid, id }, keyType, subject });
  if ((await certStore.createCsr(aid, id, record, privateKey)) === 'full') {
    throw new VaultError('certificates_full');
  }
  metering.count(ctx, 'certificate');
  return csr;
}

/** Rejects with `csr_not_found`. */
async function readCsr(parts: CertParts, ctx: AccountContext, id: string): Promise<Csr> {
  const { aid } = ctx.account;
  const record = await parts.certStore.readCsr(aid, id);
  if (!record) {
    throw new VaultError('csr_not_found', { field: 'query.id' });
  }
  parts.metering.count(ctx, 'certificate');
  return openCsr(parts, aid, id, record);
}

/** All requests of the account, in the order of the store. */
async function listCsrs(parts: CertParts, ctx: AccountContext): Promise<readonly Csr[]> {
  const { aid } = ctx.account;
  const found = await parts.certStore.listCsrs(aid);
  parts.metering.count(ctx, 'certificate');
  return Promise.all(found.map(({ id, record }) => openCsr(parts, aid, id, record)));
}

/** Deletes the private key as well: certificates issued from the request can no longer be used. */
async function removeCsr({ certStore, metering }: CertParts, ctx: AccountContext, id: string): Promise<void> {
  if (!(await certStore.removeCsr(ctx.account.aid, id))) {
    throw new VaultError('csr_not_found', { field: 'query.id' });
  }
  metering.count(ctx, 'certificate');
}

/**
 * Stores a certificate; `pem` is the body as sent. Rejects with `csr_not_found`, `certificates_full`, and what is wrong with
 * the certificate.
 */
async function createCertificate(
  { crypto, certStore, metering, randomId }: CertParts,
  ctx: AccountContext,
  { csr_id, pem }: { readonly csr_id: string; readonly pem: Uint8Array },
): Promise<Certificate> {
  const { aid } = ctx.account;
  const csr = await certStore.readCsr(aid, csr_id);
  if (!csr) {
    throw new VaultError('csr_not_found', { field: 'query.csr_id' });
  }
  const read = await crypto.readCertificate({ place: { aid, id: csr_id }, csr, pem });
  const certificate: Certificate = { id: randomId(), csr_id, ...read };
  const record = await crypto.sealRecord({
    place: placeOf('certificate', aid, certificate.id),
    plaintext: encoder.encode(JSON.stringify(certificate)),
  });
  const outcome = await certStore.createCertificate(aid, certificate.id, csr_id, record);
  if (outcome === 'full') {
    throw new VaultError('certificates_full');
  }
  if (outcome !== 'ok') {
    throw new VaultError('csr_not_found', { field: 'query.csr_id' });
  }
  metering.count(ctx, 'certificate');
  return certificate;
}

/** Rejects with `certificate_not_found`. */
async function readCertificate(parts: CertParts, ctx: AccountContext, id: string): Promise<Certificate> {
  const { aid } = ctx.account;
  const record = await parts.certStore.readCertificate(aid, id);
  if (!record) {
    throw new VaultError('certificate_not_found', { field: 'query.id' });
  }
  parts.metering.count(ctx, 'certificate');
  return openCertificate(parts, aid, id, record);
}

/** All certificates of the account, or those of one request. */
async function listCertificates(
  parts: CertParts,
  ctx: AccountContext,
  { csr_id }: { readonly csr_id?: string | undefined },
): Promise<readonly Certificate[]> {
  const { aid } = ctx.account;
  const found = await parts.certStore.listCertificates(aid);
  const all = await Promise.all(found.map(({ id, record }) => openCertificate(parts, aid, id, record)));
  parts.metering.count(ctx, 'certificate');
  return csr_id === undefined ? all : all.filter((certificate) => certificate.csr_id === csr_id);
}

/** Rejects with `certificate_not_found`. */
async function removeCertificate(
  { certStore, metering }: CertParts,
  ctx: AccountContext,
  id: string,
): Promise<void> {
  if (!(await certStore.removeCertificate(ctx.account.aid, id))) {
    throw new VaultError('certificate_not_found', { field: 'query.id' });
  }
  metering.count(ctx, 'certificate');
}

/** A certificate with its private key; undefined when either was deleted. An expired one is found like any other. */
async function find(
  parts: CertParts,
  aid: string,
  certId: string,
): Promise<Awaited<ReturnType<Crypto['clientCredential']>> | undefined> {
  const { crypto, certStore } = parts;
  const certificate = await certStore.readCertificate(aid, certId);
  if (!certificate) {
    return undefined;
  }
  const { csr_id: csrId } = await openCertificate(parts, aid, certId, certificate);
  const privateKey = await certStore.readCsrKey(aid, csrId);
  return privateKey && crypto.clientCredential({ place: { aid, certId, csrId }, certificate, privateKey });
}
