import replaceFieldText from '../lua/maintenance/replace-field-1.lua' with { type: 'text' };
import replaceRecordText from '../lua/maintenance/replace-record-1.lua' with { type: 'text' };
import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/keys.ts';
import { bytes, list, text } from '../redis/reply.ts';
import { canScan, scanHash, scanNames } from '../redis/scan.ts';

const replaceField = script(replaceFieldText);
const replaceRecord = script(replaceRecordText);

/** Where a record lies: a string, or a field of a hash. */
interface Home {
  readonly key: string;
  readonly field?: string;
}

const inHash =
  (keyOf: (aid: string) => string) =>
  (aid: string, field: string): Home => ({ key: keyOf(aid), field });

/** Every kind of sealed record outside of items, and where it lies. */
const HOMES = {
  root: (): Home => ({ key: redisKeys.installation, field: 'root' }),
  compliance: (): Home => ({ key: redisKeys.compliance, field: 'r' }),
  account: inHash(() => redisKeys.accounts),
  key: (aid: string, user: string): Home => ({ key: redisKeys.keyRecord(aid, user) }),
  rule: inHash(redisKeys.rules),
  csr: inHash(redisKeys.csrs),
  'csr key': inHash(redisKeys.csrKeys),
  certificate: inHash(redisKeys.certificates),
  'security log': inHash(redisKeys.auditChain),
  endpoint: (_: string, id: string): Home => ({ key: redisKeys.endpoint(id), field: 'p' }),
  'endpoint wrap': (_: string, id: string): Home => ({ key: redisKeys.endpoint(id), field: 'w' }),
  form: (_: string, id: string): Home => ({ key: redisKeys.form(id), field: 's' }),
  job: (aid: string, id: string): Home => ({ key: redisKeys.job(aid, id), field: 'r' }),
  'job reply': (aid: string, id: string): Home => ({ key: redisKeys.job(aid, id), field: 'l' }),
  reply: (_: string, digest: string): Home => ({ key: redisKeys.idempotency(digest), field: 'r' }),
} satisfies Record<string, (aid: string, id: string) => Home>;

/** A kind of sealed record outside of items. */
export type RecordKind = keyof typeof HOMES;

const homeOf = (kind: RecordKind, aid: string, id: string): Home => HOMES[kind](aid, id);

/** Kinds whose records of one account are the fields of one hash. */
export type HashKind = 'account' | 'rule' | 'csr' | 'csr key' | 'certificate' | 'security log';

/** A reply that is kept for an Idempotency-Key. */
export interface KeptReply {
  readonly digest: string;
  /** Absent in those of before accounts were noted. */
  readonly aid: string | undefined;
  readonly record: Buffer;
}

/** Sealed records of all kinds, as bytes that lie somewhere. */
export interface RecordStore {
  /** The records of one hash, a few at a time. */
  list(
    kind: HashKind,
    aid: string,
  ): AsyncGenerator<readonly { readonly id: string; readonly record: Buffer }[], void, void>;
  /** Replaces the record that was read, whatever else may lie beside it; false when it is another one by now. */
  replace(kind: RecordKind, aid: string, id: string, read: Uint8Array, record: Uint8Array): Promise<boolean>;
  /** A record as it is now; undefined when there is none. */
  read(kind: RecordKind, aid: string, id: string): Promise<Buffer | undefined>;
  /** The sealed root. */
  readRoot(): Promise<Buffer>;
  /** Whether Redis lets us look for what no directory names. */
  canScan(): Promise<boolean>;
  /** Replies that are kept for Idempotency-Keys, a few at a time. Throws where Redis forbids SCAN. */
  replies(): AsyncGenerator<readonly KeptReply[], void, void>;
}

const REPLY_PATTERN = redisKeys.idempotency('*');
const REPLY_PREFIX = redisKeys.idempotency('').length - 1;

export function createRecordStore(redis: RedisLink): RecordStore {
  const readReply = async (name: Buffer): Promise<KeptReply[]> => {
    const [record, aid] = list(await redis.command('HMGET', [name, 'r', 'a']));
    const digest = text(name).slice(REPLY_PREFIX, -1);
    return Buffer.isBuffer(record) ? [{ digest, record, aid: aid === null ? undefined : text(aid) }] : [];
  };
  return {
    async *list(kind, aid) {
      for await (const part of scanHash(redis, HOMES[kind](aid, '').key)) {
        yield part.map(({ field, value }) => ({ id: field, record: value }));
      }
    },
    async replace(kind, aid, id, read, record) {
      const { key, field } = homeOf(kind, aid, id);
      const reply =
        field === undefined
          ? await redis.run(replaceRecord, [key], [read, record])
          : await redis.run(replaceField, [key], [field, read, record]);
      return text(reply) === 'ok';
    },
    async read(kind, aid, id) {
      const { key, field } = homeOf(kind, aid, id);
      const found = await (field === undefined
        ? redis.command('GET', [key])
        : redis.command('HGET', [key, field]));
      return found === null ? undefined : bytes(found);
    },
    async readRoot() {
      return bytes(await redis.command('HGET', [redisKeys.installation, 'root']));
    },
    canScan: () => canScan(redis),
    async *replies() {
      for await (const names of scanNames(redis, REPLY_PATTERN)) {
        const found = await Promise.all(names.map(readReply));
        yield found.flat();
      }
    },
  };
}
