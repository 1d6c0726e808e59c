import type { RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AccountContext } from './context.ts';
import type { Claim, IdempotencyStore } from './idempotency-store.ts';

const RENEW_MS = 10_000;
/** The delay of a repeat while the first request is in flight. */
const IN_FLIGHT_SECONDS = 1;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A reply, and whether it is the kept one of an earlier request with the same Idempotency-Key. */
export interface Repeatable<Reply> {
  readonly reply: Reply;
  readonly replayed: boolean;
}

/** The identity of a request, with its account and Idempotency-Key; secrets are no part of it. */
export interface IdempotentRequest {
  readonly key: string;
  readonly route: string;
  /** Parameters and body, in any stable form. */
  readonly parts: readonly (string | Uint8Array | undefined | boolean)[];
}

/** The record of what a request has sent to a third party, in addition to its reply. */
export interface SentMark {
  /** True if an earlier run of this request, whose reply was not stored, may have reached the third party. */
  readonly before: boolean;
  /** Set before sending. Rejects, with `outcome_unknown`, other content than an earlier run may have sent. */
  readonly set: (content: Uint8Array) => Promise<void>;
  /** Removes the mark if nothing was sent after all. */
  readonly clear: () => Promise<void>;
}

/** Encodes the replies to keep; the service seals the encoded reply once more. */
export interface ReplyCodec<T> {
  /** `name` identifies this request among all others. */
  readonly pack: (reply: T, name: string) => Promise<Uint8Array>;
  readonly unpack: (kept: Uint8Array, name: string) => Promise<T>;
}

/** A request that has claimed its key. */
interface ClaimedRun {
  readonly aid: string;
  readonly key: string;
  readonly digest: string;
  readonly seed: string;
  readonly printOf: PrintOf;
  /** The fingerprint of what an earlier run may have sent. */
  readonly sentBefore: Buffer | undefined;
  isSent: boolean;
  isDone: boolean;
}

/** The HMAC of data of an account under one of the roots. */
type PrintOf = (data: Uint8Array) => Promise<Uint8Array>;

/** A claim of a key under one of the roots. */
interface Claimed {
  readonly digest: string;
  readonly claim: Claim;
  /** True if the key was unknown under this root. */
  readonly isNew: boolean;
  readonly printOf: PrintOf;
}

/** Keeps replies, so that a request with an Idempotency-Key is run once, on all servers together. */
export class Idempotency {
  constructor(
    private readonly store: IdempotencyStore,
    private readonly crypto: Crypto,
    /** Returns true if names of keys may derive from another root as well. */
    private readonly hasOtherRoot: () => boolean,
    private readonly randomId: RandomId,
  ) {}

  /**
   * Runs `act` once for an Idempotency-Key and keeps its reply; a repeat gets the kept one. `seed` is the same when a
   * request whose server died is repeated, so that its random choices are the same.
   */
  async run<T>(
    { account }: AccountContext,
    unscoped: IdempotentRequest,
    act: (seed: string, sent: SentMark) => Promise<T>,
    codec: ReplyCodec<T> = plainCodec(),
  ): Promise<Repeatable<T>> {
    const { aid, credential } = account;
    // Restricts the keys of a credential to it: no other caller gets its replies.
    const request =
      credential === undefined ? unscoped : { ...unscoped, route: `${unscoped.route} ${credential.id}` };
    const { digest, claim, printOf } = await this.claimKey(aid, request);
    switch (claim.kind) {
      case 'busy':
        throw new VaultError('idempotency_conflict', { retryAfterSeconds: IN_FLIGHT_SECONDS });
      case 'other':
        throw new VaultError('idempotency_conflict');
      case 'done': {
        const kept = await this.crypto.openRecord({ place: placeOf(aid, digest), record: claim.reply });
        return { reply: await codec.unpack(kept, digest), replayed: true };
      }
      case 'mine': {
        const { seed, sent: sentBefore } = claim;
        const isSent = sentBefore !== undefined;
        const { key } = request;
        return this.runClaimed(
          { aid, key, digest, seed, printOf, sentBefore, isSent, isDone: false },
          act,
          codec,
        );
      }
    }
  }

  /**
   * Claims the key of a request. While there is another root, an earlier request, or a server that still writes under that
   * root, may hold a claim under it. The first to claim therefore looks for the other claim, so that of two concurrent
   * claims at least one sees the other; it releases its own. A server that writes under the newest root continues with the
   * older claim; one that writes under the older root rejects the request, to be repeated. Both never continue.
   */
  private async claimKey(aid: string, request: IdempotentRequest): Promise<Claimed> {
    const { crypto, store } = this;
    const own = await this.claimWith(aid, request, (data) => crypto.fingerprint({ account: aid, data }));
    if (own.claim.kind !== 'mine' || !own.isNew || !this.hasOtherRoot()) {
      return own;
    }
    const otherPrint: PrintOf = async (data) =>
      (await crypto.otherFingerprints({ account: aid, data })).prints[0] ?? new Uint8Array(0);
    const { prints, isWritingNewest } = await crypto.otherFingerprints({
      account: aid,
      data: new Uint8Array(0),
    });
    if (prints.length === 0 || !(await store.exists(await digestOf(otherPrint, request)))) {
      return own;
    }
    await store.release(own.digest, own.claim.seed);
    if (!isWritingNewest) {
      throw new VaultError('idempotency_conflict', { retryAfterSeconds: IN_FLIGHT_SECONDS });
    }
    return this.claimWith(aid, request, otherPrint);
  }

  private async claimWith(aid: string, request: IdempotentRequest, printOf: PrintOf): Promise<Claimed> {
    const { route, key, parts } = request;
    const [digest, fingerprint] = await Promise.all([
      digestOf(printOf, request),
      printOf(encodeParts([route, key, ...parts])),
    ]);
    const seed = this.randomId();
    const claim = await this.store.claim(digest, fingerprint, seed, aid);
    return { digest, claim, isNew: claim.kind === 'mine' && claim.seed === seed, printOf };
  }

  /** Runs the work of a claimed key and keeps its reply; extends the claim meanwhile. */
  private async runClaimed<T>(
    run: ClaimedRun,
    act: (seed: string, sent: SentMark) => Promise<T>,
    codec: ReplyCodec<T>,
  ): Promise<Repeatable<T>> {
    const { aid, digest, seed } = run;
    const renewal = setInterval(() => {
      // Without an extension the lease expires; the request itself continues and may still be repeated.
      this.store.renew(digest, seed).catch(() => undefined);
    }, RENEW_MS);
    try {
      const reply = await act(seed, {
        before: run.isSent,
        set: (content) => this.markSent(run, content),
        clear: () => this.clearSent(run),
      });
      run.isDone = true;
      const plaintext = await codec.pack(reply, digest);
      const sealed = await this.crypto.sealRecord({ place: placeOf(aid, digest), plaintext });
      await this.store.keep(digest, seed, sealed);
      return { reply, replayed: false };
    } catch (error) {
      await this.giveUp(run, error);
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  private async markSent(run: ClaimedRun, content: Uint8Array): Promise<void> {
    const print = await run.printOf(encodeParts(['sent', run.key, content]));
    if (run.sentBefore === undefined) {
      await this.store.mark(run.digest, run.seed, print);
    } else if (!run.sentBefore.equals(print)) {
      throw new VaultError('outcome_unknown');
    }
    run.isSent = true;
  }

  private async clearSent(run: ClaimedRun): Promise<void> {
    await this.store.unmark(run.digest, run.seed);
    run.isSent = false;
  }

  /** Gives up the claim of a run that has failed. */
  private async giveUp({ digest, seed, isSent, isDone }: ClaimedRun, error: unknown): Promise<void> {
    if (error instanceof VaultError && error.status < 500 && !isSent && !isDone) {
      await this.store.release(digest, seed).catch(() => undefined);
    } else {
      // The outcome is unknown: the seed stays for a repeat. Not awaited, so that the caller need not wait longer.
      this.store.yield(digest, seed).catch(() => undefined);
    }
  }
}

function placeOf(aid: string, digest: string) {
  return { purpose: 'idem', account: aid, kind: 'reply', path: [digest] } as const;
}

async function digestOf(printOf: PrintOf, { route, key }: IdempotentRequest): Promise<string> {
  return Buffer.from(await printOf(encodeParts([route, key]))).toString('base64url');
}

/** Encodes every part with its kind and length, so that no two requests look alike. */
function encodeParts(parts: IdempotentRequest['parts']): Uint8Array {
  const chunks = parts.flatMap((part) => {
    const bytes = part instanceof Uint8Array ? part : encoder.encode(String(part ?? ''));
    return [encoder.encode(`${typeof part}:${bytes.length};`), bytes];
  });
  return Buffer.concat(chunks);
}

/** Encodes replies that hold only what the caller sees anyway. */
function plainCodec<T>(): ReplyCodec<T> {
  return {
    pack: async (reply) => encoder.encode(JSON.stringify(reply)),
    unpack: async (kept) => JSON.parse(decoder.decode(kept)) as T,
  };
}
