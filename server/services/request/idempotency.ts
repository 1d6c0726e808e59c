import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { IdempotencyStore } from '../../store/idempotency.ts';
import type { RandomId } from '../common/clock.ts';
import type { AccountContext } from '../common/request-context.ts';

/** A reply, and whether it is the kept one of an earlier request with the same Idempotency-Key. */
export interface Repeatable<Reply> {
  readonly reply: Reply;
  readonly replayed: boolean;
}

const RENEW_MS = 10_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What makes two requests the same, beside account and Idempotency-Key; secrets are no part of it. */
export interface IdempotentRequest {
  /** Its Idempotency-Key. */
  readonly key: string;
  readonly route: string;
  /** Parameters and body, in any stable form. */
  readonly parts: readonly (string | Uint8Array | undefined | boolean)[];
}

/** What is remembered of a request that reaches a third party, beside its reply. */
export interface SentMark {
  /** Whether an earlier run of this request, whose reply was not stored, may have reached the third party. */
  readonly before: boolean;
  /**
   * Set before anything leaves: from now on a repeat knows that something may have been sent. Rejects, with
   * `outcome_unknown`, to send anything else than what was perhaps sent before.
   */
  readonly set: (content: Uint8Array) => Promise<void>;
  /** Taken back when nothing has left after all. */
  readonly clear: () => Promise<void>;
}

/** How a reply is kept; what the codec gives is sealed once more by the service. */
export interface ReplyCodec<T> {
  /** `name` identifies this request among all others. */
  readonly pack: (reply: T, name: string) => Promise<Uint8Array>;
  readonly unpack: (kept: Uint8Array, name: string) => Promise<T>;
}

export interface IdempotencyService {
  /**
   * Runs `act` once for an Idempotency-Key and keeps its reply; a repeat gets the kept one. `seed` is the
   * same when a request that died half-way is made again, so that random choices can be made again alike.
   */
  readonly run: <T>(
    ctx: AccountContext,
    request: IdempotentRequest,
    act: (seed: string, sent: SentMark) => Promise<T>,
    codec?: ReplyCodec<T>,
  ) => Promise<Repeatable<T>>;
}

/** How long to wait before asking again for the reply of the same request, which is still in flight. */
const IN_FLIGHT_SECONDS = 1;

/** Replies that hold nothing but what the caller sees anyway. */
function plainCodec<T>(): ReplyCodec<T> {
  return {
    pack: async (reply) => encoder.encode(JSON.stringify(reply)),
    unpack: async (kept) => JSON.parse(decoder.decode(kept)) as T,
  };
}

/** Every part with its kind and length, so that no two requests look alike. */
function encodeParts(parts: IdempotentRequest['parts']): Uint8Array {
  const chunks = parts.flatMap((part) => {
    const bytes = part instanceof Uint8Array ? part : encoder.encode(String(part ?? ''));
    return [encoder.encode(`${typeof part}:${bytes.length};`), bytes];
  });
  return Buffer.concat(chunks);
}

interface IdempotencyDependencies {
  readonly crypto: Pick<Crypto, 'fingerprint' | 'sealRecord' | 'openRecord'>;
  readonly idempotencyStore: IdempotencyStore;
  readonly randomId: RandomId;
}

/** A request that has claimed its key. */
interface ClaimedRun {
  readonly aid: string;
  readonly key: string;
  readonly digest: string;
  readonly seed: string;
  /** The fingerprint of what an earlier run may have sent. */
  readonly sentBefore: Buffer | undefined;
  isSent: boolean;
  isDone: boolean;
}

function placeOf(aid: string, digest: string) {
  return { purpose: 'idem', account: aid, kind: 'reply', path: [digest] } as const;
}

async function markSent(
  { crypto, idempotencyStore }: IdempotencyDependencies,
  run: ClaimedRun,
  content: Uint8Array,
): Promise<void> {
  const data = encodeParts(['sent', run.key, content]);
  const print = await crypto.fingerprint({ account: run.aid, data });
  if (run.sentBefore === undefined) {
    await idempotencyStore.mark(run.digest, run.seed, print);
  } else if (!run.sentBefore.equals(print)) {
    throw new VaultError('outcome_unknown');
  }
  run.isSent = true;
}

async function clearSent({ idempotencyStore }: IdempotencyDependencies, run: ClaimedRun): Promise<void> {
  await idempotencyStore.unmark(run.digest, run.seed);
  run.isSent = false;
}

/** Gives up the claim of a run that has failed. */
async function giveUp(
  { idempotencyStore }: IdempotencyDependencies,
  { digest, seed, isSent, isDone }: ClaimedRun,
  error: unknown,
): Promise<void> {
  if (error instanceof VaultError && error.status < 500 && !isSent && !isDone) {
    await idempotencyStore.release(digest, seed).catch(() => undefined);
  } else {
    // The outcome is unknown: the seed stays for the repeat that settles it. The caller has waited enough.
    idempotencyStore.yield(digest, seed).catch(() => undefined);
  }
}

/** Does the work of a claimed key and keeps its reply; the claim is renewed meanwhile. */
async function runClaimed<T>(
  dependencies: IdempotencyDependencies,
  run: ClaimedRun,
  act: (seed: string, sent: SentMark) => Promise<T>,
  codec: ReplyCodec<T>,
): Promise<Repeatable<T>> {
  const { crypto, idempotencyStore } = dependencies;
  const { aid, digest, seed } = run;
  const renewal = setInterval(() => {
    // A lease that could not be renewed runs out; the request itself goes on and may still be repeated.
    idempotencyStore.renew(digest, seed).catch(() => undefined);
  }, RENEW_MS);
  try {
    const reply = await act(seed, {
      before: run.isSent,
      set: (content) => markSent(dependencies, run, content),
      clear: () => clearSent(dependencies, run),
    });
    run.isDone = true;
    const plaintext = await codec.pack(reply, digest);
    const sealed = await crypto.sealRecord({ place: placeOf(aid, digest), plaintext });
    await idempotencyStore.keep(digest, seed, sealed);
    return { reply, replayed: false };
  } catch (error) {
    await giveUp(dependencies, run, error);
    throw error;
  } finally {
    clearInterval(renewal);
  }
}

async function run<T>(
  dependencies: IdempotencyDependencies,
  { aid }: AccountContext['account'],
  { route, key, parts }: IdempotentRequest,
  act: (seed: string, sent: SentMark) => Promise<T>,
  codec: ReplyCodec<T>,
): Promise<Repeatable<T>> {
  const { crypto, idempotencyStore, randomId } = dependencies;
  const [named, fingerprint] = await Promise.all([
    crypto.fingerprint({ account: aid, data: encodeParts([route, key]) }),
    crypto.fingerprint({ account: aid, data: encodeParts([route, key, ...parts]) }),
  ]);
  const digest = Buffer.from(named).toString('base64url');
  const claim = await idempotencyStore.claim(digest, fingerprint, randomId(), aid);
  switch (claim.kind) {
    case 'busy':
      throw new VaultError('idempotency_conflict', { retryAfterSeconds: IN_FLIGHT_SECONDS });
    case 'other':
      throw new VaultError('idempotency_conflict');
    case 'done': {
      const kept = await crypto.openRecord({ place: placeOf(aid, digest), record: claim.reply });
      return { reply: await codec.unpack(kept, digest), replayed: true };
    }
    case 'mine': {
      const { seed, sent: sentBefore } = claim;
      const claimed = { aid, key, digest, seed, sentBefore, isSent: sentBefore !== undefined, isDone: false };
      return runClaimed(dependencies, claimed, act, codec);
    }
  }
}

/** Makes the one memory of replies: what was done under an Idempotency-Key is done once, on all servers together. */
export function createIdempotency(dependencies: IdempotencyDependencies): IdempotencyService {
  return {
    run: <T>(
      { account }: AccountContext,
      request: IdempotentRequest,
      act: (seed: string, sent: SentMark) => Promise<T>,
      codec: ReplyCodec<T> = plainCodec(),
    ) => run(dependencies, account, request, act, codec),
  };
}
