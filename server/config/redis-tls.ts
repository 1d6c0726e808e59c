import type { Secret } from '../core/secret.ts';
import { parseCertificates, parseOwnCertificates, privateKeyOf } from './files.ts';
import type { SettingReader } from './reader.ts';
import { isRedisTls, type RedisSetting } from './redis.ts';
import { checkTlsPair } from './rejections.ts';

/** What TLS to Redis needs besides the address. */
export interface RedisTls {
  /** Certificate authorities besides the built-in ones, in PEM. */
  readonly ca: string | undefined;
  /** The certificate chain that this server shows to Redis, and its private key, in PEM. */
  readonly client: { readonly cert: string; readonly key: Secret<string> } | undefined;
}

/** Files that a Redis without TLS would never be shown: its operator expects a protection that is not there. */
function rejectWithoutTls(reader: SettingReader, redis: RedisSetting | undefined): void {
  const isInvalid = redis === undefined && reader.isSet('VAULT_REDIS_URL');
  if (!isInvalid && (redis === undefined || !isRedisTls(redis))) {
    const name = (['VAULT_REDIS_CA_FILE', 'VAULT_REDIS_CERT_FILE'] as const).find(reader.isSet);
    reader.report(
      name ?? 'VAULT_REDIS_KEY_FILE',
      'is only for TLS: VAULT_REDIS_URL must begin with rediss:// or rediss+sentinel://',
    );
  }
}

/** The files for TLS to the Redis of the settings; undefined if none is named. */
export function readRedisTls(reader: SettingReader, redis: RedisSetting | undefined): RedisTls | undefined {
  const ca = reader.optional('VAULT_REDIS_CA_FILE', parseCertificates);
  const cert = reader.optional('VAULT_REDIS_CERT_FILE', parseOwnCertificates);
  const key = reader.optional('VAULT_REDIS_KEY_FILE', privateKeyOf(cert, 'VAULT_REDIS_CERT_FILE'));
  if (cert === undefined || key === undefined) {
    checkTlsPair(reader, ['VAULT_REDIS_CERT_FILE', 'VAULT_REDIS_KEY_FILE'], {
      cert: cert !== undefined,
      key: key !== undefined,
    });
  }
  const client = cert === undefined || key === undefined ? undefined : Object.freeze({ cert, key });
  if (ca === undefined && client === undefined) {
    return undefined;
  }
  rejectWithoutTls(reader, redis);
  return Object.freeze({ ca, client });
}
