import { VaultError } from '../core/errors.ts';
import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asBytes, asList, asText } from '../redis/reply.ts';
import claimText from './claim-idempotency-1.lua' with { type: 'text' };
import finishText from './finish-idempotency-1.lua' with { type: 'text' };

const claim = script(claimText);
const finish = script(finishText);

/** How long a repeated request gets the first reply. */
const LIFETIME_MS = 24 * 60 * 60 * 1_000;
/** How long a claim is valid without `renew`. */
export const LEASE_MS = 30_000;

/** The result of a claim. */
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
export interface IdempotencyStore {
  /** `aid` is stored with it, so that a kept reply can be re-encrypted. */
  claim(digest: string, fingerprint: Uint8Array, seed: string, aid: string): Promise<Claim>;
  /** Whether a key of this digest is claimed, or has its reply. */
  exists(digest: string): Promise<boolean>;
  /** Stores the reply. */
  keep(digest: string, seed: string, reply: Uint8Array): Promise<void>;
  /** Extends the claim. */
  renew(digest: string, seed: string): Promise<void>;
  /**
   * Records that a request to a third party is about to be sent. Throws `idempotency_conflict` if the caller has lost the
   * claim, or another caller has marked it: then nothing may be sent.
   */
  mark(digest: string, seed: string, fingerprint: Uint8Array): Promise<void>;
  /** Removes the mark: nothing was sent. */
  unmark(digest: string, seed: string): Promise<void>;
  /** Ends the claim, so that a repeated request can continue with the same seed. */
  yield(digest: string, seed: string): Promise<void>;
  /** Deletes the claim. */
  release(digest: string, seed: string): Promise<void>;
}

/** The idempotency keys of one Redis. */
export function createIdempotencyStore(redis: RedisLink): IdempotencyStore {
  const finishAs = async (
    digest: string,
    seed: string,
    action: string,
    value: Uint8Array | number,
  ): Promise<string> =>
    asText(await redis.run(finish, [redisKeys.idempotency(digest)], [seed, action, value, LIFETIME_MS]));
  const update = async (...args: Parameters<typeof finishAs>): Promise<void> => {
    await finishAs(...args);
  };
  return {
    async exists(digest) {
      return (await redis.command('EXISTS', [redisKeys.idempotency(digest)])) === 1;
    },
    async claim(digest, fingerprint, seed, aid) {
      const args = [fingerprint, LEASE_MS, seed, LIFETIME_MS, aid];
      const [word, first, second] = asList(await redis.run(claim, [redisKeys.idempotency(digest)], args));
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
    },
    keep: (digest, seed, reply) => update(digest, seed, 'keep', reply),
    renew: (digest, seed) => update(digest, seed, 'renew', LEASE_MS),
    async mark(digest, seed, fingerprint) {
      if ((await finishAs(digest, seed, 'mark', fingerprint)) !== 'ok') {
        throw new VaultError('idempotency_conflict');
      }
    },
    unmark: (digest, seed) => update(digest, seed, 'unmark', 0),
    yield: (digest, seed) => update(digest, seed, 'renew', 0),
    release: (digest, seed) => update(digest, seed, 'release', 0),
  };
}
