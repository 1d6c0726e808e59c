import { VaultError } from '../core/errors.ts';
import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asBytes, asList, asText } from '../redis/reply.ts';
import claimText from './claim-idempotency-1.lua' with { type: 'text' };
import finishText from './finish-idempotency-1.lua' with { type: 'text' };

const claim = script(claimText);
const finish = script(finishText);

/** The time for which a repeated request gets the first reply. */
const LIFETIME_MS = 24 * 60 * 60 * 1_000;
export const LEASE_MS = 30_000;

export type Claim =
  /**
   * The caller may proceed. `seed` stays the same when this request is repeated after a crash. `sent`: an earlier claim
   * was marked, and may have sent the request with this fingerprint.
   */
  | { readonly kind: 'mine'; readonly seed: string; readonly sent: Buffer | undefined }
  | { readonly kind: 'done'; readonly reply: Buffer; readonly seed: string }
  /** The same request is in flight elsewhere. */
  | { readonly kind: 'busy' }
  /** Used for a different request. */
  | { readonly kind: 'other' };

/** Idempotency keys: claims, and encrypted replies. */
export class IdempotencyStore {
  constructor(private readonly redis: RedisLink) {}

  /** Claims a key. `aid` is stored with it, so that a kept reply can be re-encrypted. */
  async claim(digest: string, fingerprint: Uint8Array, seed: string, aid: string): Promise<Claim> {
    const args = [fingerprint, LEASE_MS, seed, LIFETIME_MS, aid];
    const [word, first, second] = asList(await this.redis.run(claim, [redisKeys.idempotency(digest)], args));
    switch (asText(word)) {
      case 'mine':
        return {
          kind: 'mine',
          seed: asText(first),
          sent: asText(second) === '' ? undefined : asBytes(second),
        };
      case 'done':
        return { kind: 'done', reply: asBytes(first), seed: asText(second) };
      case 'busy':
        return { kind: 'busy' };
      case 'other':
        return { kind: 'other' };
      default:
        throw new VaultError('integrity_failed');
    }
  }

  /** True if a key of this digest is claimed, or has its reply. */
  async exists(digest: string): Promise<boolean> {
    return (await this.redis.command('EXISTS', [redisKeys.idempotency(digest)])) === 1;
  }

  async keep(digest: string, seed: string, reply: Uint8Array): Promise<void> {
    await this.finish(digest, seed, 'keep', reply);
  }

  async renew(digest: string, seed: string): Promise<void> {
    await this.finish(digest, seed, 'renew', LEASE_MS);
  }

  /** Records that a request is about to be sent. Throws `idempotency_conflict` if the claim is lost or already marked. */
  async mark(digest: string, seed: string, fingerprint: Uint8Array): Promise<void> {
    if ((await this.finish(digest, seed, 'mark', fingerprint)) !== 'ok') {
      throw new VaultError('idempotency_conflict');
    }
  }

  /** Removes the mark: nothing was sent. */
  async unmark(digest: string, seed: string): Promise<void> {
    await this.finish(digest, seed, 'unmark', 0);
  }

  /** Ends the claim, so that a repeated request can continue with the same seed. */
  async yield(digest: string, seed: string): Promise<void> {
    await this.finish(digest, seed, 'renew', 0);
  }

  async release(digest: string, seed: string): Promise<void> {
    await this.finish(digest, seed, 'release', 0);
  }

  private async finish(
    digest: string,
    seed: string,
    action: 'keep' | 'renew' | 'mark' | 'unmark' | 'release',
    value: Uint8Array | number,
  ): Promise<string> {
    const args = [seed, action, value, LIFETIME_MS];
    return asText(await this.redis.run(finish, [redisKeys.idempotency(digest)], args));
  }
}
