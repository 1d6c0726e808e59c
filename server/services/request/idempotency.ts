import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { IdempotencyStore } from '../../store/idempotency.ts';
import type { RandomId } from '../common/clock.ts';
import type { Account } from '../common/request-context.ts';

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
  readonly account: Pick<Account, 'aid'>;
  readonly route: string;
  readonly key: string;
  /** Parameters and body, in any stable form. */
  readonly parts: readonly (string | Uint8Array | undefined | boolean)[];
}

/** What is remembered of a request that reaches a third party, beside its reply. */
export interface SentMark {
  /** Whether an earlier run of this request, whose reply nobody has kept, may have reached the third party. */
  readonly before: boolean;
  /**
   * Set before anything leaves: from now on a repeat knows that something may have been sent. Refuses, with
   * `outcome_unknown`, to send anything else than what was perhaps sent before.
   */
  readonly set: (content: Uint8Array) => Promise<void>;
  /** Taken back when nothing has left after all. */
  readonly clear: () => Promise<void>;
}

/** How a reply is kept; what the codec gives is sealed once more by the service. */
export interface ReplyCodec<T> {
  /** `name` tells this request from every other one. */
  readonly pack: (reply: T, name: string) => Promise<Uint8Array>;
  readonly unpack: (kept: Uint8Array, name: string) => Promise<T>;
}

export interface IdempotencyService {
  /**
   * Runs `act` once for an Idempotency-Key and keeps its reply; a repeat gets the kept one. `seed` is the
   * same when a request that died half-way is made again, so that random choices can be made again alike.
   */
  readonly run: <T>(
    request: IdempotentRequest,
    act: (seed: string, sent: SentMark) => Promise<T>,
    codec?: ReplyCodec<T>,
  ) => Promise<Repeatable<T>>;
}

/** How long to wait before asking again for the reply of the same request, which somebody still works on. */
const IN_FLIGHT_SECONDS = 1;

/** Replies that hold nothing but what the caller sees anyway. */
const plainCodec = <T>(): ReplyCodec<T> => ({
  pack: async (reply) => encoder.encode(JSON.stringify(reply)),
  unpack: async (kept) => JSON.parse(decoder.decode(kept)) as T,
});

/** Every part with its kind and length, so that no two requests look alike. */
function encodeParts(parts: IdempotentRequest['parts']): Uint8Array {
  const chunks = parts.flatMap((part) => {
    const bytes = part instanceof Uint8Array ? part : encoder.encode(String(part ?? ''));
    return [encoder.encode(`${typeof part}:${bytes.length};`), bytes];
  });
  return Buffer.concat(chunks);
}

export function createIdempotency({
  crypto,
  idempotencyStore,
  randomId,
}: {
  readonly crypto: Pick<Crypto, 'fingerprint' | 'sealRecord' | 'openRecord'>;
  readonly idempotencyStore: IdempotencyStore;
  readonly randomId: RandomId;
}): IdempotencyService {
  const place = (account: Pick<Account, 'aid'>, digest: string) =>
    ({ purpose: 'idem', account: account.aid, kind: 'reply', path: [digest] }) as const;

  return {
    async run<T>(
      { account, route, key, parts }: IdempotentRequest,
      act: (seed: string, sent: SentMark) => Promise<T>,
      codec: ReplyCodec<T> = plainCodec(),
    ): Promise<Repeatable<T>> {
      const [named, fingerprint] = await Promise.all([
        crypto.fingerprint({ account: account.aid, data: encodeParts([route, key]) }),
        crypto.fingerprint({ account: account.aid, data: encodeParts([route, key, ...parts]) }),
      ]);
      const digest = Buffer.from(named).toString('base64url');
      const claim = await idempotencyStore.claim(digest, fingerprint, randomId(), account.aid);
      if (claim.kind === 'busy') {
        throw new VaultError('idempotency_conflict', { retryAfterSeconds: IN_FLIGHT_SECONDS });
      }
      if (claim.kind === 'other') {
        throw new VaultError('idempotency_conflict');
      }
      if (claim.kind === 'done') {
        const kept = await crypto.openRecord({ place: place(account, digest), record: claim.reply });
        return { reply: await codec.unpack(kept, digest), replayed: true };
      }
      const { seed } = claim;
      let isSent = claim.sent !== undefined;
      let isDone = false;
      const sent: SentMark = {
        before: isSent,
        set: async (content) => {
          const print = await crypto.fingerprint({
            account: account.aid,
            data: encodeParts(['sent', key, content]),
          });
          if (claim.sent === undefined) {
            await idempotencyStore.mark(digest, seed, print);
          } else if (!claim.sent.equals(print)) {
            throw new VaultError('outcome_unknown');
          }
          isSent = true;
        },
        clear: async () => {
          await idempotencyStore.unmark(digest, seed);
          isSent = false;
        },
      };
      const renewal = setInterval(() => {
        // A lease that could not be renewed runs out; the request itself goes on and may still be repeated.
        idempotencyStore.renew(digest, seed).catch(() => undefined);
      }, RENEW_MS);
      try {
        const reply = await act(seed, sent);
        isDone = true;
        const sealed = await crypto.sealRecord({
          place: place(account, digest),
          plaintext: await codec.pack(reply, digest),
        });
        await idempotencyStore.keep(digest, seed, sealed);
        return { reply, replayed: false };
      } catch (error) {
        if (error instanceof VaultError && error.status < 500 && !isSent && !isDone) {
          await idempotencyStore.release(digest, seed).catch(() => undefined);
        } else {
          // The outcome is unknown: the seed stays for the repeat that settles it. The caller has waited enough.
          idempotencyStore.yield(digest, seed).catch(() => undefined);
        }
        throw error;
      } finally {
        clearInterval(renewal);
      }
    },
  };
}
