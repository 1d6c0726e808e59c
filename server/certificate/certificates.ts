import type { RandomId } from '../core/clock.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Limiter } from '../limits/limiter.ts';
import { mapInPieces } from '../limits/pieces.ts';
import type { NamedRecord } from '../redis/records/named.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { Certificate, Csr } from './schema.ts';
import type { CertificateStore, CsrStore } from './store.ts';

type CsrInput = Parameters<Crypto['createCsr']>[0];

/** A certificate with its private key, as connections to third parties present it. */
export type ClientCredential = Awaited<ReturnType<Crypto['clientCredential']>>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Manages client certificates: signing requests, whose private keys never leave the vault, and issued certificates. */
export class Certificates {
  constructor(
    private readonly csrs: CsrStore,
    private readonly store: CertificateStore,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly metering: Metering,
    private readonly randomId: RandomId,
  ) {}

  /** Generates a key pair and a signing request for it. Rejects with `invalid_request` or `certificates_full`. */
  async createCsr(
    ctx: AccountContext,
    subject: CsrInput['subject'],
    keyType: CsrInput['keyType'],
  ): Promise<Csr> {
    const { aid } = ctx.account;
    const id = this.randomId();
    const { csr, record, privateKey } = await this.crypto.createCsr({ place: { aid, id }, keyType, subject });
    if ((await this.csrs.create(aid, id, record, privateKey)) === 'full') {
      throw new VaultError('certificates_full');
    }
    this.metering.count(ctx, 'certificate');
    return csr;
  }

  /** Returns a signing request. Rejects with `csr_not_found`. */
  async readCsr(ctx: AccountContext, id: string): Promise<Csr> {
    const { aid } = ctx.account;
    const record = found(await this.csrs.read(aid, id), 'csr_not_found', 'query.id');
    this.metering.count(ctx, 'certificate');
    return this.openCsr(aid, { id, record });
  }

  /** Returns all signing requests of the account in ascending order of id. */
  async listCsrs(ctx: AccountContext): Promise<readonly Csr[]> {
    const { aid } = ctx.account;
    const found = await this.csrs.readAll(aid);
    this.metering.count(ctx, 'certificate');
    return mapInPieces(this.limiter, aid, found, (csr) => this.openCsr(aid, csr));
  }

  /** Removes a signing request and its private key; certificates issued from it can no longer be used. */
  async removeCsr(ctx: AccountContext, id: string): Promise<void> {
    if (!(await this.csrs.remove(ctx.account.aid, id))) {
      throw new VaultError('csr_not_found', { field: 'query.id' });
    }
    this.metering.count(ctx, 'certificate');
  }

  /** Stores a certificate in PEM. Rejects with `csr_not_found`, `certificates_full`, or if the certificate is invalid. */
  async create(ctx: AccountContext, csrId: string, pem: Uint8Array): Promise<Certificate> {
    const { aid } = ctx.account;
    const csr = found(await this.csrs.read(aid, csrId), 'csr_not_found', 'query.csr_id');
    const read = await this.crypto.readCertificate({ place: { aid, id: csrId }, csr, pem });
    const certificate: Certificate = { id: this.randomId(), csr_id: csrId, ...read };
    const record = await this.crypto.sealRecord({
      place: placeOf('certificate', aid, certificate.id),
      plaintext: encoder.encode(JSON.stringify(certificate)),
    });
    const outcome = await this.store.create(aid, certificate.id, csrId, record);
    if (outcome === 'full') {
      throw new VaultError('certificates_full');
    }
    if (outcome !== 'ok') {
      throw new VaultError('csr_not_found', { field: 'query.csr_id' });
    }
    this.metering.count(ctx, 'certificate');
    return certificate;
  }

  /** Returns a certificate. Rejects with `certificate_not_found`. */
  async read(ctx: AccountContext, id: string): Promise<Certificate> {
    const { aid } = ctx.account;
    const record = found(await this.store.read(aid, id), 'certificate_not_found', 'query.id');
    this.metering.count(ctx, 'certificate');
    return this.open(aid, { id, record });
  }

  /** Returns the certificates of the account, or of one signing request, in ascending order of id. */
  async list(ctx: AccountContext, csrId: string | undefined): Promise<readonly Certificate[]> {
    const all = await this.all(ctx.account.aid);
    this.metering.count(ctx, 'certificate');
    return csrId === undefined ? all : all.filter((certificate) => certificate.csr_id === csrId);
  }

  /** Returns all certificates of an account in ascending order of id, without billing. */
  async all(aid: string): Promise<readonly Certificate[]> {
    const found = await this.store.readAll(aid);
    return mapInPieces(this.limiter, aid, found, (certificate) => this.open(aid, certificate));
  }

  /** Removes a certificate. Rejects with `certificate_not_found`. */
  async remove(ctx: AccountContext, id: string): Promise<void> {
    if (!(await this.store.remove(ctx.account.aid, id))) {
      throw new VaultError('certificate_not_found', { field: 'query.id' });
    }
    this.metering.count(ctx, 'certificate');
  }

  /** Returns a certificate, even an expired one, with its private key; undefined if either was deleted. */
  async find(aid: string, id: string): Promise<ClientCredential | undefined> {
    const certificate = await this.store.read(aid, id);
    if (!certificate) {
      return undefined;
    }
    const { csr_id: csrId } = await this.open(aid, { id, record: certificate });
    const privateKey = await this.csrs.readKey(aid, csrId);
    return (
      privateKey &&
      this.crypto.clientCredential({ place: { aid, certId: id, csrId }, certificate, privateKey })
    );
  }

  private async openCsr(aid: string, { id, record }: NamedRecord): Promise<Csr> {
    const opened = await this.crypto.openRecord({ place: placeOf('csr', aid, id), record });
    const { spki: _, ...csr } = JSON.parse(decoder.decode(opened)) as Csr & { readonly spki: string };
    return csr;
  }

  private async open(aid: string, { id, record }: NamedRecord): Promise<Certificate> {
    const opened = await this.crypto.openRecord({ place: placeOf('certificate', aid, id), record });
    return JSON.parse(decoder.decode(opened)) as Certificate;
  }
}

function found(record: Buffer | undefined, code: ErrorCode, field: string): Buffer {
  if (record === undefined) {
    throw new VaultError(code, { field });
  }
  return record;
}

function placeOf(kind: 'csr' | 'certificate', aid: string, id: string) {
  return { purpose: 'record', account: aid, kind, path: [id] } as const;
}
