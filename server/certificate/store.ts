import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { RECORDS_MAX, RecordHash } from '../redis/records/named.ts';
import { asCount, asOneOf, asOptionalBytes } from '../redis/reply.ts';
import createCertificateText from './create-certificate-2.lua' with { type: 'text' };
import createCsrText from './create-csr-2.lua' with { type: 'text' };
import deleteCsrText from './delete-csr-2.lua' with { type: 'text' };

const createCsr = script(createCsrText);
const deleteCsr = script(deleteCsrText);
const createCertificate = script(createCertificateText);

export class CsrStore extends RecordHash {
  constructor(redis: RedisLink) {
    super(redis, redisKeys.csrs);
  }

  /** Adds a request with its private key; `full` if the account has reached its limit. */
  async create(aid: string, id: string, csr: Uint8Array, privateKey: Uint8Array): Promise<'ok' | 'full'> {
    const keys = [redisKeys.csrs(aid), redisKeys.csrKeys(aid)];
    return asOneOf(await this.redis.run(createCsr, keys, [id, csr, privateKey, RECORDS_MAX]), ['ok', 'full']);
  }

  /** Returns the encrypted private key of a request; undefined if it does not exist. */
  async readKey(aid: string, id: string): Promise<Buffer | undefined> {
    return asOptionalBytes(await this.redis.command('HGET', [redisKeys.csrKeys(aid), id]));
  }

  /** Removes a request with its private key; returns false if it did not exist. */
  override async remove(aid: string, id: string): Promise<boolean> {
    const keys = [redisKeys.csrs(aid), redisKeys.csrKeys(aid)];
    return asCount(await this.redis.run(deleteCsr, keys, [id])) === 1;
  }
}

export class CertificateStore extends RecordHash {
  constructor(redis: RedisLink) {
    super(redis, redisKeys.certificates);
  }

  /** Adds a certificate; `missing` if its request no longer exists, `full` if the account has reached its limit. */
  async create(
    aid: string,
    id: string,
    csrId: string,
    record: Uint8Array,
  ): Promise<'ok' | 'full' | 'missing'> {
    const keys = [redisKeys.certificates(aid), redisKeys.csrs(aid)];
    const reply = await this.redis.run(createCertificate, keys, [id, record, csrId, RECORDS_MAX]);
    return asOneOf(reply, ['ok', 'full', 'missing']);
  }
}
