import appendAuditText from './lua/audit/append-audit-1.lua' with { type: 'text' };
import putCheckpointText from './lua/audit/put-checkpoint-1.lua' with { type: 'text' };
import readMarksText from './lua/audit/read-audit-marks-1.lua' with { type: 'text' };
import trimAuditText from './lua/audit/trim-audit-1.lua' with { type: 'text' };
import { bytes, count, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const appendAudit = script(appendAuditText);
const readMarks = script(readMarksText);
const trimAudit = script(trimAuditText);
const putCheckpoint = script(putCheckpointText);

/** Entries that follow each other, and the sealed head that they make. */
export interface AuditBatch {
  /** The sealed head that they were made to follow; undefined for the first ones of a chain. */
  readonly seen: Uint8Array | undefined;
  /** Who writes, in no more than 64 visible characters, and which of its batches this is: the same one is never written twice. */
  readonly writer: string;
  readonly number: number;
  readonly head: Uint8Array;
  /** The sequence of the first entry. */
  readonly first: number;
  readonly entries: readonly Uint8Array[];
}

/** What bounds a chain as it lies in Redis, sealed, and how many entries are there. */
export interface StoredMarks {
  readonly head: Buffer | undefined;
  readonly start: Buffer | undefined;
  readonly entries: number;
}

/** Security logs, one chain for each account and one, with an empty id, for the operator. */
export interface AuditStore {
  /** Undefined when it is done; else the head that is there now, empty for none. */
  append(aid: string, batch: AuditBatch): Promise<{ readonly head: Buffer } | undefined>;
  readMarks(aid: string): Promise<StoredMarks>;
  /** Entries by their sequence; undefined for those that are not there. */
  read(aid: string, sequences: readonly number[]): Promise<readonly (Buffer | undefined)[]>;
  /** Removes the entries from `first` to `last`, if the start is as read; false when it is not. */
  trim(
    aid: string,
    read: Uint8Array | undefined,
    start: Uint8Array,
    range: { readonly first: number; readonly last: number },
  ): Promise<boolean>;
  /** Enters a chain in the list of all chains. */
  enter(aid: string): Promise<void>;
  /** Account ids of all chains, in no order. */
  chains(): Promise<readonly string[]>;
  /** The newest checkpoint, as it was put. */
  readCheckpoint(aid: string): Promise<{ readonly sequence: number; readonly text: string } | undefined>;
  putCheckpoint(aid: string, sequence: number, checkpoint: string): Promise<void>;
  /** Removes a chain whole. */
  remove(aid: string): Promise<void>;
}

const orUndefined = (part: unknown): Buffer | undefined => {
  const found = bytes(part);
  return found.length > 0 ? found : undefined;
};

export function createAuditStore(redis: RedisLink): AuditStore {
  return {
    async append(aid, { seen = '', writer, number, head, first, entries }) {
      const args = [seen, writer, number, head, first, ...entries];
      const [word, now] = list(await redis.run(appendAudit, [redisKeys.auditChain(aid)], args));
      return text(word) === 'ok' ? undefined : { head: bytes(now) };
    },
    async readMarks(aid) {
      const [head, start, entries] = list(await redis.run(readMarks, [redisKeys.auditChain(aid)], []));
      return { head: orUndefined(head), start: orUndefined(start), entries: count(entries) };
    },
    async read(aid, sequences) {
      if (sequences.length === 0) {
        return [];
      }
      const found = list(await redis.command('HMGET', [redisKeys.auditChain(aid), ...sequences]));
      return found.map((entry) => (entry === null ? undefined : bytes(entry)));
    },
    async trim(aid, read = new Uint8Array(0), start, { first, last }) {
      const args = [read, start, first, last];
      return text(await redis.run(trimAudit, [redisKeys.auditChain(aid)], args)) === 'ok';
    },
    async enter(aid) {
      await redis.write('HSETNX', [redisKeys.auditChains, aid, '']);
    },
    async chains() {
      return list(await redis.command('HKEYS', [redisKeys.auditChains])).map(text);
    },
    async readCheckpoint(aid) {
      const found = await redis.command('HGET', [redisKeys.auditChains, aid]);
      const [, sequence, json] = /^(\d+) (.*)$/s.exec(found === null ? '' : text(found)) ?? [];
      return sequence === undefined || json === undefined
        ? undefined
        : { sequence: Number(sequence), text: json };
    },
    async putCheckpoint(aid, sequence, checkpoint) {
      await redis.run(putCheckpoint, [redisKeys.auditChains], [aid, sequence, checkpoint]);
    },
    async remove(aid) {
      await redis.write('UNLINK', [redisKeys.auditChain(aid)]);
      await redis.write('HDEL', [redisKeys.auditChains, aid]);
    },
  };
}
