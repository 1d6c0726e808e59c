import { type RedisLink, script } from '../redis/client.ts';
import { readHash } from '../redis/records/hash.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asBytes, asCount, asOneOf, asOptionalBytes } from '../redis/reply.ts';
import createCertificateText from './create-certificate-2.lua' with { type: 'text' };
import createCsrText from './create-csr-2.lua' with { type: 'text' };
import deleteCsrText from './delete-csr-2.lua' with { type: 'text' };

const createCsr = script(createCsrText);
const deleteCsr = script(deleteCsrText);
const createCertificate = script(createCertificateText);

/** The most requests of one account, and the most certificates. */
const RECORDS_MAX = 1_000;

/** An encrypted record. */
export interface StoredRecord {
  readonly id: string;
  readonly record: Buffer;
}

/** Encrypted certificate signing requests, their private keys, and the certificates issued from them. */
export interface CertStore {
  /** `full` if the account has reached its limit of requests. */
  createCsr(aid: string, id: string, csr: Uint8Array, privateKey: Uint8Array): Promise<'ok' | 'full'>;
  readCsr(aid: string, id: string): Promise<Buffer | undefined>;
  /** The encrypted private key of a request. */
  readCsrKey(aid: string, id: string): Promise<Buffer | undefined>;
  /** In ascending order of id. */
  listCsrs(aid: string): Promise<readonly StoredRecord[]>;
  /** Deletes a request with its private key; false if it did not exist. */
  removeCsr(aid: string, id: string): Promise<boolean>;
  /** `missing` if the request no longer exists. */
  createCertificate(
    aid: string,
    id: string,
    csrId: string,
    record: Uint8Array,
  ): Promise<'ok' | 'full' | 'missing'>;
  /** Undefined if it does not exist. */
  readCertificate(aid: string, id: string): Promise<Buffer | undefined>;
  /** In ascending order of id. */
  listCertificates(aid: string): Promise<readonly StoredRecord[]>;
  /** False if it did not exist. */
  removeCertificate(aid: string, id: string): Promise<boolean>;
}

async function listRecords(redis: RedisLink, key: string): Promise<StoredRecord[]> {
  const fields = await readHash(redis, key);
  return fields.map(({ field, value }) => ({ id: field, record: asBytes(value) }));
}

/** The certificates of one Redis. */
export function createCertStore(redis: RedisLink): CertStore {
  const readField = async (key: string, id: string): Promise<Buffer | undefined> =>
    asOptionalBytes(await redis.command('HGET', [key, id]));

  return {
    async createCsr(aid, id, csr, privateKey) {
      const keys = [redisKeys.csrs(aid), redisKeys.csrKeys(aid)];
      return asOneOf(await redis.run(createCsr, keys, [id, csr, privateKey, RECORDS_MAX]), ['ok', 'full']);
    },
    readCsr: (aid, id) => readField(redisKeys.csrs(aid), id),
    readCsrKey: (aid, id) => readField(redisKeys.csrKeys(aid), id),
    listCsrs: (aid) => listRecords(redis, redisKeys.csrs(aid)),
    async removeCsr(aid, id) {
      return asCount(await redis.run(deleteCsr, [redisKeys.csrs(aid), redisKeys.csrKeys(aid)], [id])) === 1;
    },
    async createCertificate(aid, id, csrId, record) {
      const keys = [redisKeys.certificates(aid), redisKeys.csrs(aid)];
      const reply = await redis.run(createCertificate, keys, [id, record, csrId, RECORDS_MAX]);
      return asOneOf(reply, ['ok', 'full', 'missing']);
    },
    readCertificate: (aid, id) => readField(redisKeys.certificates(aid), id),
    listCertificates: (aid) => listRecords(redis, redisKeys.certificates(aid)),
    async removeCertificate(aid, id) {
      return asCount(await redis.write('HDEL', [redisKeys.certificates(aid), id])) === 1;
    },
  };
}
