import { VaultError } from '../core/errors.ts';
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
export class AuditStore {
  constructor(private readonly redis: RedisLink) {}

  /**
   * Appends a batch if the chain still has the head `seen`. A repeated batch is not written again. Rejects with `integrity_failed`
   * if the chain has entries after its head.
   */
  async append(aid: string, batch: AuditBatch): Promise<AppendResult> {
    const { seen = '', writer, number, head, first, entries } = batch;
    const args = [seen, writer, number, head, first, ...entries];
    const [word, current] = asList(await this.redis.run(appendAudit, [redisKeys.auditChain(aid)], args));
    if (asText(word) === 'damaged') {
      throw new VaultError('integrity_failed');
    }
    return isOk(word) ? { kind: 'appended' } : { kind: 'conflict', head: asBytes(current) };
  }

  /** Reads both ends of a chain and its number of entries, at one moment. */
  async readMarks(aid: string): Promise<StoredMarks> {
    const [head, start, entries] = asList(
      await this.redis.runUnreplicated(readMarks, [redisKeys.auditChain(aid)], []),
    );
    return { head: asMark(head), start: asMark(start), entries: asCount(entries) };
  }

  /** Reads entries by sequence number; undefined for missing ones. */
  async read(aid: string, sequences: readonly number[]): Promise<readonly (Buffer | undefined)[]> {
    const found = asList(await this.redis.command('HMGET', [redisKeys.auditChain(aid), ...sequences]));
    return found.map(asOptionalBytes);
  }

  /** Reads consecutive entries, upwards or downwards, from `from` to `to` or until one is missing. */
  async readRun(aid: string, from: number, to: number): Promise<readonly Buffer[]> {
    const step = Math.sign(to - from);
    const sequences = Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + i * step);
    const entries = await this.read(aid, sequences);
    const gap = entries.indexOf(undefined);
    return entries.slice(0, gap < 0 ? entries.length : gap).filter((entry) => entry !== undefined);
  }

  /** Removes the entries `first` to `last`; false if the start is not the one that was read. */
  async trim(
    aid: string,
    read: Uint8Array | undefined,
    start: Uint8Array,
    { first, last }: { readonly first: number; readonly last: number },
  ): Promise<boolean> {
    const args = [read ?? '', start, first, last];
    return isOk(await this.redis.run(trimAudit, [redisKeys.auditChain(aid)], args));
  }

  async enter(aid: string): Promise<void> {
    await this.redis.write('HSETNX', [redisKeys.auditChains, aid, '']);
  }

  /** Lists the account ids of all chains, in no order. */
  async chains(): Promise<readonly string[]> {
    return asList(await this.redis.command('HKEYS', [redisKeys.auditChains])).map(asText);
  }

  async readCheckpoint(aid: string) {
    const found = await this.redis.command('HGET', [redisKeys.auditChains, aid]);
    const [, sequence, json] = /^(\d+) (.*)$/s.exec(found === null ? '' : asText(found)) ?? [];
    return sequence === undefined || json === undefined
      ? undefined
      : { sequence: Number(sequence), text: json };
  }

  /** Stores a checkpoint, unless a later one is stored. */
  async putCheckpoint(aid: string, sequence: number, checkpoint: string): Promise<void> {
    await this.redis.run(putCheckpoint, [redisKeys.auditChains], [aid, sequence, checkpoint]);
  }

  async remove(aid: string): Promise<void> {
    await this.redis.write('UNLINK', [redisKeys.auditChain(aid)]);
    await this.redis.write('HDEL', [redisKeys.auditChains, aid]);
  }
}

/** An empty part means a missing value. */
function asMark(part: unknown): Buffer | undefined {
  const found = asBytes(part);
  return found.length > 0 ? found : undefined;
}
