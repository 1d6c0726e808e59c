import type { Clock, RandomId } from '../../core/clock.ts';
import type { Cursors } from '../../core/cursors.ts';
import { VaultError } from '../../core/errors.ts';
import type { ChallengeStore } from './challenge-store.ts';

/** Longer than any challenge is good, by the clock of any server. */
const USED_MS = 20 * 60 * 1_000;

/** What a challenge is for: a ceremony of WebAuthn or a sign-in at a provider, and whom it is for if that is known. */
export type ChallengeUse = readonly [
  ceremony: 'invitation' | 'passkey' | 'signin' | 'oidc',
  ...subject: readonly string[],
];

/**
 * Challenges, good once and for minutes at every server of the vault. A challenge authenticates itself, so that strangers who ask
 * for some store nothing; one that was answered rightly, or came back from a provider, is remembered until it has expired.
 */
export class Challenges {
  constructor(
    private readonly store: ChallengeStore,
    private readonly cursors: Cursors,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** A new challenge, in base64url, which is good for at most ten minutes. */
  make(use: ChallengeUse, ms: number): string {
    return this.cursors.sign(scopeOf(use), [this.randomId(), this.now() + ms]);
  }

  /** True for a challenge of this use that has not expired. It may have been used. */
  isOpen(use: ChallengeUse, challenge: string): boolean {
    try {
      const [, expiresAtMs] = this.cursors.verify(scopeOf(use), challenge) as [string, number]; // `make` has signed it.
      return expiresAtMs > this.now();
    } catch (error) {
      if (error instanceof VaultError) {
        return false;
      }
      throw error;
    }
  }

  /** Uses up an open challenge, after its answer was verified; false if it was used already. */
  take(challenge: string): Promise<boolean> {
    return this.store.use(challenge, USED_MS);
  }
}

function scopeOf(use: ChallengeUse): readonly string[] {
  return ['challenge', ...use];
}
