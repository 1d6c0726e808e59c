import type { RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AccountContext } from './context.ts';
import type { Claim, IdempotencyStore } from './idempotency-store.ts';

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
  readonly crypto: Pick<Crypto, 'fingerprint' | 'otherFingerprints' | 'sealRecord' | 'openRecord'>;
  readonly idempotencyStore: IdempotencyStore;
  /** Whether names of keys may derive from another root as well. */
  readonly hasOtherRoot: () => boolean;
  readonly randomId: RandomId;
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

function placeOf(aid: string, digest: string) {
  return { purpose: 'idem', account: aid, kind: 'reply', path: [digest] } as const;
}

async function markSent(
  { idempotencyStore }: IdempotencyDependencies,
  run: ClaimedRun,
  content: Uint8Array,
): Promise<void> {
  const data = encodeParts(['sent', run.key, content]);
  const print = await run.printOf(data);
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

/** A claim of a key under one of the roots. */
interface Claimed {
  readonly digest: string;
  readonly claim: Claim;
  /** Whether nothing was known of the key under this root. */
  readonly isNew: boolean;
  readonly printOf: PrintOf;
}

async function digestOf(printOf: PrintOf, { route, key }: IdempotentRequest): Promise<string> {
  return Buffer.from(await printOf(encodeParts([route, key]))).toString('base64url');
}

async function claimWith(
  { idempotencyStore, randomId }: IdempotencyDependencies,
  aid: string,
  request: IdempotentRequest,
  printOf: PrintOf,
): Promise<Claimed> {
  const { route, key, parts } = request;
  const [digest, fingerprint] = await Promise.all([
    digestOf(printOf, request),
    printOf(encodeParts([route, key, ...parts])),
  ]);
  const seed = randomId();
  const claim = await idempotencyStore.claim(digest, fingerprint, seed, aid);
  return { digest, claim, isNew: claim.kind === 'mine' && claim.seed === seed, printOf };
}

/**
 * Claims the key of a request. While there is another root, the key may be claimed under that: by an earlier request, or
 * by a server that still writes under it. Whoever claims first looks for the other claim then, so that of two at the same
 * moment one at least sees the other; it gives up its own. A server that writes under the newest root goes on with the
 * older claim, one that writes under the older rejects, to be repeated: never do both go on.
 */
async function claimKey(
  dependencies: IdempotencyDependencies,
  aid: string,
  request: IdempotentRequest,
): Promise<Claimed> {
  const { crypto, hasOtherRoot, idempotencyStore } = dependencies;
  const own = await claimWith(dependencies, aid, request, (data) =>
    crypto.fingerprint({ account: aid, data }),
  );
  if (own.claim.kind !== 'mine' || !own.isNew || !hasOtherRoot()) {
    return own;
  }
  const otherPrint: PrintOf = async (data) =>
    (await crypto.otherFingerprints({ account: aid, data })).prints[0] ?? new Uint8Array(0);
  const { prints, isWritingNewest } = await crypto.otherFingerprints({
    account: aid,
    data: new Uint8Array(0),
  });
  if (prints.length === 0 || !(await idempotencyStore.exists(await digestOf(otherPrint, request)))) {
    return own;
  }
  await idempotencyStore.release(own.digest, own.claim.seed);
  if (!isWritingNewest) {
    throw new VaultError('idempotency_conflict', { retryAfterSeconds: IN_FLIGHT_SECONDS });
  }
  return claimWith(dependencies, aid, request, otherPrint);
}

/** Keys of a credential are its own: nobody else's reply is repeated to it. */
function scoped({ credential }: AccountContext['account'], request: IdempotentRequest): IdempotentRequest {
  return credential === undefined ? request : { ...request, route: `${request.route} ${credential.id}` };
}

async function run<T>(
  dependencies: IdempotencyDependencies,
  { aid }: AccountContext['account'],
  request: IdempotentRequest,
  act: (seed: string, sent: SentMark) => Promise<T>,
  codec: ReplyCodec<T>,
): Promise<Repeatable<T>> {
  const { crypto } = dependencies;
  const { key } = request;
  const { digest, claim, printOf } = await claimKey(dependencies, aid, request);
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
      const claimed = {
        aid,
        key,
        digest,
        seed,
        printOf,
        sentBefore,
        isSent: sentBefore !== undefined,
        isDone: false,
      };
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
    ) => run(dependencies, account, scoped(account, request), act, codec),
  };
}
