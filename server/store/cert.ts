import { VaultError } from '../core/errors.ts';
import createCertificateText from './lua/record/create-certificate-2.lua' with { type: 'text' };
import createCsrText from './lua/record/create-csr-2.lua' with { type: 'text' };
import deleteCsrText from './lua/record/delete-csr-2.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const createCsr = script(createCsrText);
const deleteCsr = script(deleteCsrText);
const createCertificate = script(createCertificateText);

/** Requests of one account, and as many certificates. */
const RECORDS_MAX = 1_000;

export interface StoredRecord {
  readonly id: string;
  readonly record: Buffer;
}

/** Sealed certificate signing requests, their private keys, and the certificates issued from them. */
export interface CertStore {
  /** `full` when the account has as many requests as it may have. */
  createCsr(aid: string, id: string, csr: Uint8Array, privateKey: Uint8Array): Promise<'ok' | 'full'>;
  readCsr(aid: string, id: string): Promise<Buffer | undefined>;
  /** The sealed private key of a request. */
  readCsrKey(aid: string, id: string): Promise<Buffer | undefined>;
  /** In ascending order of id. */
  listCsrs(aid: string): Promise<readonly StoredRecord[]>;
  /** Deletes a request with its private key; false when there was none. */
  removeCsr(aid: string, id: string): Promise<boolean>;
  /** `missing` when the request is gone. */
  createCertificate(
    aid: string,
    id: string,
    csrId: string,
    record: Uint8Array,
  ): Promise<'ok' | 'full' | 'missing'>;
  readCertificate(aid: string, id: string): Promise<Buffer | undefined>;
  /** In ascending order of id. */
  listCertificates(aid: string): Promise<readonly StoredRecord[]>;
  removeCertificate(aid: string, id: string): Promise<boolean>;
  removeAll(aid: string): Promise<void>;
}

export function createCertStore(redis: RedisLink): CertStore {
  const readField = async (key: string, id: string): Promise<Buffer | undefined> => {
    const record = await redis.command('HGET', [key, id]);
    return record === null ? undefined : bytes(record);
  };
  const listFields = async (key: string): Promise<StoredRecord[]> => {
    const ids = list(await redis.command('HKEYS', [key]))
      .map(text)
      .sort();
    if (ids.length === 0) {
      return [];
    }
    const records = list(await redis.command('HMGET', [key, ...ids]));
    return ids.flatMap((id, i) => (records[i] === null ? [] : [{ id, record: bytes(records[i]) }]));
  };

  return {
    async createCsr(aid, id, csr, privateKey) {
      const keys = [redisKeys.csrs(aid), redisKeys.csrKeys(aid)];
      const word = text(await redis.run(createCsr, keys, [id, csr, privateKey, RECORDS_MAX]));
      if (word === 'ok' || word === 'full') {
        return word;
      }
      throw new VaultError('internal');
    },
    readCsr: (aid, id) => readField(redisKeys.csrs(aid), id),
    readCsrKey: (aid, id) => readField(redisKeys.csrKeys(aid), id),
    listCsrs: (aid) => listFields(redisKeys.csrs(aid)),
    async removeCsr(aid, id) {
      return count(await redis.run(deleteCsr, [redisKeys.csrs(aid), redisKeys.csrKeys(aid)], [id])) === 1;
    },
    async createCertificate(aid, id, csrId, record) {
      const keys = [redisKeys.certificates(aid), redisKeys.csrs(aid)];
      const word = text(await redis.run(createCertificate, keys, [id, record, csrId, RECORDS_MAX]));
      if (word === 'ok' || word === 'full' || word === 'missing') {
        return word;
      }
      throw new VaultError('internal');
    },
    readCertificate: (aid, id) => readField(redisKeys.certificates(aid), id),
    listCertificates: (aid) => listFields(redisKeys.certificates(aid)),
    async removeCertificate(aid, id) {
      return count(await redis.write('HDEL', [redisKeys.certificates(aid), id])) === 1;
    },
    async removeAll(aid) {
      await redis.write('UNLINK', [redisKeys.csrKeys(aid), redisKeys.csrs(aid), redisKeys.certificates(aid)]);
    },
  };
}
