import type { RedisLink } from '../client.ts';
import { asText } from '../reply.ts';

/** A lease, which one of several holders has at a time. It ends by itself where its holder has died. */
export class Lease {
  constructor(
    private readonly redis: RedisLink,
    private readonly key: string,
  ) {}

  /** Acquires it for some ms, unless it is held. */
  async claim(holder: string, ms: number): Promise<boolean> {
    return (await this.redis.write('SET', [this.key, holder, 'NX', 'PX', ms])) !== null;
  }

  /** False if it is another's by now, or nobody's. */
  async extend(holder: string, ms: number): Promise<boolean> {
    return (await this.isHeldBy(holder)) && (await this.redis.write('PEXPIRE', [this.key, ms])) === 1;
  }

  async release(holder: string): Promise<void> {
    if (await this.isHeldBy(holder)) {
      await this.redis.write('DEL', [this.key]);
    }
  }

  /** Returns how many ms it lasts; 0 if nobody has it. */
  async left(): Promise<number> {
    return Math.max(0, Number(await this.redis.command('PTTL', [this.key])));
  }

  private async isHeldBy(holder: string): Promise<boolean> {
    const found = await this.redis.command('GET', [this.key]);
    return found !== null && asText(found) === holder;
  }
}
