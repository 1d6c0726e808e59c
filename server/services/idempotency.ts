import type { Account, Parts, Repeatable } from '../deps.ts';
import { VaultError } from '../errors.ts';

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

export interface IdempotencyService {
  /**
   * Runs `act` once for an Idempotency-Key and keeps its reply; a repeat gets the kept one. `seed` is the
   * same when a request that died half-way is made again, so that random choices can be made again alike.
   */
  readonly run: <T>(request: IdempotentRequest, act: (seed: string) => Promise<T>) => Promise<Repeatable<T>>;
}

/** Every part with its kind and length, so that no two requests look alike. */
function encodeParts(parts: IdempotentRequest['parts']): Uint8Array {
  const chunks = parts.flatMap((part) => {
    const bytes = part instanceof Uint8Array ? part : encoder.encode(String(part ?? ''));
    return [encoder.encode(`${typeof part}:${bytes.length};`), bytes];
  });
  return Buffer.concat(chunks);
}

export function createIdempotency({ crypto, idempotencyStore, randomId }: Parts): IdempotencyService {
  const place = (account: Pick<Account, 'aid'>, digest: string) =>
    ({ purpose: 'idem', account: account.aid, kind: 'reply', path: [digest] }) as const;

  return {
    async run<T>(
      { account, route, key, parts }: IdempotentRequest,
      act: (seed: string) => Promise<T>,
    ): Promise<Repeatable<T>> {
      const [named, fingerprint] = await Promise.all([
        crypto.fingerprint(account.aid, encodeParts([route, key])),
        crypto.fingerprint(account.aid, encodeParts([route, key, ...parts])),
      ]);
      const digest = Buffer.from(named).toString('base64url');
      const claim = await idempotencyStore.claim(digest, fingerprint, randomId());
      if (claim.kind === 'conflict') {
        throw new VaultError('idempotency_conflict');
      }
      if (claim.kind === 'done') {
        const kept = await crypto.openRecord(place(account, digest), claim.reply);
        return { reply: JSON.parse(decoder.decode(kept)) as T, replayed: true };
      }
      const renewal = setInterval(() => {
        // A lease that could not be renewed runs out; the request itself goes on and may still be repeated.
        idempotencyStore.renew(digest, claim.seed).catch(() => undefined);
      }, RENEW_MS);
      try {
        const reply = await act(claim.seed);
        const sealed = await crypto.sealRecord(place(account, digest), encoder.encode(JSON.stringify(reply)));
        await idempotencyStore.keep(digest, claim.seed, sealed);
        return { reply, replayed: false };
      } catch (error) {
        if (error instanceof VaultError && error.status < 500) {
          await idempotencyStore.release(digest, claim.seed).catch(() => undefined);
        } else {
          // The outcome is unknown: the seed stays for the repeat that settles it. The caller has waited enough.
          idempotencyStore.yield(digest, claim.seed).catch(() => undefined);
        }
        throw error;
      } finally {
        clearInterval(renewal);
      }
    },
  };
}
