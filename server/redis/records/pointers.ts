import type { RedisLink } from '../client.ts';
import { asCount, asText } from '../reply.ts';
import { scanHash } from './scan.ts';

const SCAN_STEP = 500;
const POINTER = /^([\w-]*) ([\w-]+) (\d{1,15})$/;

/** A record of an account. */
export interface RecordName {
  /** Empty for the operator's, which belong to no account. */
  readonly aid: string;
  readonly id: string;
}

/** The record that a digest leads to, and when the digest was stored, ms since 1970. */
export interface Pointer extends RecordName {
  readonly digest: string;
  readonly storedMs: number;
}

/**
 * Digests of secrets and ids, for all accounts together, and the records that they lead to. A record names its digests: one is
 * stored before its record and removed after it, and proves nothing by itself.
 */
export class Pointers {
  constructor(
    private readonly redis: RedisLink,
    private readonly hash: string,
  ) {}

  async find(digest: string): Promise<RecordName | undefined> {
    const value = await this.redis.command('HGET', [this.hash, digest]);
    const { aid, id } = pointerOf(digest, value ?? '');
    return id === '' ? undefined : { aid, id };
  }

  /** Lets a digest lead to a record. */
  async point(digest: string, { aid, id }: RecordName, now: number): Promise<void> {
    await this.redis.write('HSET', [this.hash, digest, `${aid} ${id} ${now}`]);
  }

  /** Does the same unless the digest leads somewhere already; then returns false. */
  async claim(digest: string, { aid, id }: RecordName, now: number): Promise<boolean> {
    return asCount(await this.redis.write('HSETNX', [this.hash, digest, `${aid} ${id} ${now}`])) === 1;
  }

  async unpoint(digests: readonly string[]): Promise<void> {
    if (digests.length > 0) {
      await this.redis.write('HDEL', [this.hash, ...digests]);
    }
  }

  /** Yields all digests in chunks; a malformed value leads to no record. */
  async *all(): AsyncGenerator<readonly Pointer[]> {
    for await (const fields of scanHash(this.redis, this.hash, SCAN_STEP)) {
      yield fields.map(({ field, value }) => pointerOf(field, value));
    }
  }
}

function pointerOf(digest: string, value: unknown): Pointer {
  const [, aid = '', id = '', storedMs = '0'] = POINTER.exec(asText(value)) ?? [];
  return { digest, aid, id, storedMs: Number(storedMs) };
}
