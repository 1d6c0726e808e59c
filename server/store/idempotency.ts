import { VaultError } from '../core/errors.ts';
import claimText from './lua/record/claim-idempotency-1.lua' with { type: 'text' };
import finishText from './lua/record/finish-idempotency-1.lua' with { type: 'text' };
import { bytes, list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const claim = script(claimText);
const finish = script(finishText);

/** How long a repeat is answered with the first reply. */
const LIFETIME_MS = 24 * 60 * 60 * 1_000;
/** How long a request may be silent before another may take its place. */
export const LEASE_MS = 30_000;

export type Claim =
  /**
   * The caller may act; `seed` is the same for whoever has to repeat this request after a crash. `sent`: somebody
   * marked it before, and may have sent what has this fingerprint.
   */
  | { readonly kind: 'mine'; readonly seed: string; readonly sent: Buffer | undefined }
  | { readonly kind: 'done'; readonly reply: Buffer; readonly seed: string }
  /** The same request is in flight elsewhere. */
  | { readonly kind: 'busy' }
  /** Used for a different request. */
  | { readonly kind: 'other' };

/** Idempotency keys: who works on one, and the sealed replies. */
export interface IdempotencyStore {
  /** `aid` is noted beside it, so that what it keeps can be sealed again. */
  claim(digest: string, fingerprint: Uint8Array, seed: string, aid: string): Promise<Claim>;
  keep(digest: string, seed: string, reply: Uint8Array): Promise<void>;
  renew(digest: string, seed: string): Promise<void>;
  /**
   * Notes that something is about to be sent, before it is. Throws where the claim is not the caller's any more,
   * or somebody else has noted it since: then the caller must not send.
   */
  mark(digest: string, seed: string, fingerprint: Uint8Array): Promise<void>;
  /** Takes the mark back: nothing was sent. */
  unmark(digest: string, seed: string): Promise<void>;
  /** Lets another request take over at once, with the same seed. */
  yield(digest: string, seed: string): Promise<void>;
  release(digest: string, seed: string): Promise<void>;
}

export function createIdempotencyStore(redis: RedisLink): IdempotencyStore {
  const end = async (
    digest: string,
    seed: string,
    what: string,
    value: Uint8Array | number,
  ): Promise<string> =>
    text(await redis.run(finish, [redisKeys.idempotency(digest)], [seed, what, value, LIFETIME_MS]));
  const tell = async (...what: Parameters<typeof end>): Promise<void> => {
    await end(...what);
  };
  return {
    async claim(digest, fingerprint, seed, aid) {
      const args = [fingerprint, LEASE_MS, seed, LIFETIME_MS, aid];
      const [word, first, second] = list(await redis.run(claim, [redisKeys.idempotency(digest)], args));
      switch (text(word)) {
        case 'mine':
          return { kind: 'mine', seed: text(first), sent: text(second) === '' ? undefined : bytes(second) };
        case 'done':
          return { kind: 'done', reply: bytes(first), seed: text(second) };
        case 'busy':
          return { kind: 'busy' };
        case 'other':
          return { kind: 'other' };
        default:
          throw new VaultError('integrity_failed');
      }
    },
    keep: (digest, seed, reply) => tell(digest, seed, 'keep', reply),
    renew: (digest, seed) => tell(digest, seed, 'renew', LEASE_MS),
    async mark(digest, seed, fingerprint) {
      if ((await end(digest, seed, 'mark', fingerprint)) !== 'ok') {
        throw new VaultError('idempotency_conflict');
      }
    },
    unmark: (digest, seed) => tell(digest, seed, 'unmark', 0),
    yield: (digest, seed) => tell(digest, seed, 'renew', 0),
    release: (digest, seed) => tell(digest, seed, 'release', 0),
  };
}
