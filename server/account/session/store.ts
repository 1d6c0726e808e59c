import { type RedisLink, script } from '../../redis/client.ts';
import { redisKeys } from '../../redis/records/keys.ts';
import { asList, asOneOf, asOptionalBytes, asText } from '../../redis/reply.ts';
import openText from './open-session-1.lua' with { type: 'text' };
import touchText from './touch-session-1.lua' with { type: 'text' };

const open = script(openText);
const touch = script(touchText);

/** A session as it is stored. */
export interface StoredSession {
  readonly record: Buffer;
  /** Its last use, ms since 1970. */
  readonly usedMs: number;
  readonly network: string;
}

/** Stores sessions by the digest of their token, for as long as they may be idle. */
export class SessionStore {
  constructor(private readonly redis: RedisLink) {}

  async create(digest: string, { record, usedMs, network }: StoredSession, idleMs: number): Promise<void> {
    await this.redis.run(open, [redisKeys.session(digest)], [record, usedMs, network, idleMs]);
  }

  async read(digest: string): Promise<StoredSession | undefined> {
    const fields = await this.redis.command('HMGET', [redisKeys.session(digest), 'r', 'u', 'n']);
    const [r, u, n] = asList(fields);
    const record = asOptionalBytes(r);
    const used = u === null ? '' : asText(u);
    return record === undefined || !/^\d{1,15}$/.test(used)
      ? undefined
      : { record, usedMs: Number(used), network: n === null ? '' : asText(n) };
  }

  /** Records a use, which keeps the session alive unless `usedMs` is undefined; `moved` if it is from another network. */
  async touch(
    digest: string,
    usedMs: number | undefined,
    network: string,
    idleMs: number,
  ): Promise<'ok' | 'moved' | 'gone'> {
    const reply = await this.redis.run(touch, [redisKeys.session(digest)], [usedMs ?? '', network, idleMs]);
    return asOneOf(reply, ['ok', 'moved', 'gone']);
  }

  async remove(digest: string): Promise<void> {
    await this.redis.write('UNLINK', [redisKeys.session(digest)]);
  }
}
