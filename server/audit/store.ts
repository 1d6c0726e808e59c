import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asBytes, asCount, asList, asOptionalBytes, asText, isOk } from '../redis/reply.ts';
import appendAuditText from './append-audit-1.lua' with { type: 'text' };
import putCheckpointText from './put-checkpoint-1.lua' with { type: 'text' };
import readMarksText from './read-audit-marks-1.lua' with { type: 'text' };
import trimAuditText from './trim-audit-1.lua' with { type: 'text' };

const appendAudit = script(appendAuditText);
const readMarks = script(readMarksText);
const trimAudit = script(trimAuditText);
const putCheckpoint = script(putCheckpointText);

/** Consecutive entries, and the encrypted head of the chain after them. */
export interface AuditBatch {
  /** The encrypted head that the entries follow; undefined at the start of a chain. */
  readonly seen: Uint8Array | undefined;
  /** The id of the writer (at most 64 visible characters) and the number of its batch: a batch is never written twice. */
  readonly writer: string;
  readonly number: number;
  readonly head: Uint8Array;
  /** The sequence number of the first entry. */
  readonly first: number;
  readonly entries: readonly Uint8Array[];
}

/** The encrypted ends of a chain, and its number of entries. */
export interface StoredMarks {
  readonly head: Buffer | undefined;
  readonly start: Buffer | undefined;
  readonly entries: number;
}

/** `conflict`: the chain has another head, which is empty for an empty chain. */
export type AppendResult =
  | { readonly kind: 'appended' }
  | { readonly kind: 'conflict'; readonly head: Buffer };

/** Security logs: one chain per account, and one with an empty id for the operator. */
export interface AuditStore {
  /**
   * Appends a batch if the chain still has the head `seen`. A repeated batch is reported as appended and not written
   * again.
   */
  append(aid: string, batch: AuditBatch): Promise<AppendResult>;
  /** Both ends of a chain and its number of entries, at one moment. */
  readMarks(aid: string): Promise<StoredMarks>;
  /** Entries by sequence number; undefined for missing ones. */
  read(aid: string, sequences: readonly number[]): Promise<readonly (Buffer | undefined)[]>;
  /** Removes the entries `first` to `last`; false if the start is not the one that was read. */
  trim(
    aid: string,
    read: Uint8Array | undefined,
    start: Uint8Array,
    range: { readonly first: number; readonly last: number },
  ): Promise<boolean>;
  /** Adds a chain to the list of all chains. */
  enter(aid: string): Promise<void>;
  /** Account ids of all chains, in no order. */
  chains(): Promise<readonly string[]>;
  /** The newest checkpoint. */
  readCheckpoint(aid: string): Promise<{ readonly sequence: number; readonly text: string } | undefined>;
  /** Stores a checkpoint, unless a later one is stored. */
  putCheckpoint(aid: string, sequence: number, checkpoint: string): Promise<void>;
  /** Removes a complete chain. */
  remove(aid: string): Promise<void>;
}

/** An empty part means a missing value. */
function asMark(part: unknown): Buffer | undefined {
  const found = asBytes(part);
  return found.length > 0 ? found : undefined;
}

/** The security logs of one Redis. */
export function createAuditStore(redis: RedisLink): AuditStore {
  return {
    async append(aid, { seen = '', writer, number, head, first, entries }) {
      const args = [seen, writer, number, head, first, ...entries];
      const [word, current] = asList(await redis.run(appendAudit, [redisKeys.auditChain(aid)], args));
      return isOk(word) ? { kind: 'appended' } : { kind: 'conflict', head: asBytes(current) };
    },
    async readMarks(aid) {
      const [head, start, entries] = asList(
        await redis.runUnreplicated(readMarks, [redisKeys.auditChain(aid)], []),
      );
      return { head: asMark(head), start: asMark(start), entries: asCount(entries) };
    },
    async read(aid, sequences) {
      if (sequences.length === 0) {
        return [];
      }
      const found = asList(await redis.command('HMGET', [redisKeys.auditChain(aid), ...sequences]));
      return found.map(asOptionalBytes);
    },
    async trim(aid, read = new Uint8Array(0), start, { first, last }) {
      const args = [read, start, first, last];
      return isOk(await redis.run(trimAudit, [redisKeys.auditChain(aid)], args));
    },
    async enter(aid) {
      await redis.write('HSETNX', [redisKeys.auditChains, aid, '']);
    },
    async chains() {
      return asList(await redis.command('HKEYS', [redisKeys.auditChains])).map(asText);
    },
    async readCheckpoint(aid) {
      const found = await redis.command('HGET', [redisKeys.auditChains, aid]);
      const [, sequence, json] = /^(\d+) (.*)$/s.exec(found === null ? '' : asText(found)) ?? [];
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
