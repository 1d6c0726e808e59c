/** How the records of a key are replaced: its own, and that of its recovery. */

import { recover, replaceOrConfirm, withRetries } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import type { KeyHandle, KeyOpener } from './opener.ts';
import type { KeyStore } from './store.ts';

/** A record that was only sealed again under another master key is no reason to reject: that happens seldom. */
const RESEALED_TRIES_MAX = 3;

/** What replacing needs. */
export interface ReplaceParts {
  readonly keyStore: Pick<KeyStore, 'read' | 'readPair' | 'change'>;
  readonly opener: Pick<KeyOpener, 'find' | 'forget' | 'finishChange'>;
  readonly metering: Pick<MeteringService, 'request'>;
}

/** Both records of a key as they were read, to be replaced. */
export interface ReadRecords {
  readonly key: KeyHandle;
  readonly record: Uint8Array;
  readonly recovery: Buffer | undefined;
}

/** What takes their place. */
interface NextRecords {
  readonly record: Uint8Array;
  readonly recovery: Uint8Array | undefined;
}

/** The same key under the same passphrase, whose records were only sealed again meanwhile; undefined for another. */
async function findSame({ opener }: Pick<ReplaceParts, 'opener'>, key: KeyHandle) {
  const found = await recover(opener.find(key, key.user), 'key_not_found', undefined);
  return found?.kid === key.kid && found.gen === key.gen ? found : undefined;
}

/**
 * Runs `attempt` with a key, and again while it gives nothing, since its records have changed, but the key is the same.
 * Rejects with `key_changed` otherwise.
 */
export async function withSameKey<T>(
  parts: Pick<ReplaceParts, 'opener'>,
  key: KeyHandle,
  attempt: (key: KeyHandle) => Promise<T | undefined>,
): Promise<T> {
  let target: KeyHandle | undefined = key;
  for (let tries = 1; target && tries <= RESEALED_TRIES_MAX; tries++) {
    const result = await attempt(target);
    if (result !== undefined) {
      return result;
    }
    target = await findSame(parts, target);
  }
  throw new VaultError('key_changed');
}

/** Replaces both records of a key once; undefined when one of them has changed meanwhile. */
async function replaceOnce(
  { keyStore, metering }: ReplaceParts,
  ctx: AccountContext,
  key: KeyHandle,
  gen: number | undefined,
  make: (read: ReadRecords) => Promise<NextRecords>,
): Promise<{ readonly key: KeyHandle; readonly next: NextRecords } | undefined> {
  const { aid, user, kid } = key;
  const { record, recovery } = await keyStore.readPair(aid, user);
  if (!record?.equals(key.record)) {
    return undefined;
  }
  const next = await make({ key, record, recovery });
  // Counted in advance: nothing may fail once a new passphrase is in force, which may exist nowhere else.
  await metering.request(ctx);
  const isReplaced = await replaceOrConfirm(
    next.record,
    () => keyStore.change({ aid, user, kid, gen, read: { record, recovery }, next }),
    () => keyStore.read(aid, user),
  );
  return isReplaced ? { key, next } : undefined;
}

/** Replaces both records of a key, which keeps its passphrase, and gives the new ones. Rejects with `key_changed` when another change came first. */
export async function replaceRecords(
  parts: ReplaceParts,
  ctx: AccountContext,
  key: KeyHandle,
  make: (read: ReadRecords) => Promise<NextRecords>,
): Promise<NextRecords> {
  const { next } = await withSameKey(parts, key, (target) =>
    replaceOnce(parts, ctx, target, undefined, make),
  );
  return next;
}

/**
 * Puts a key under a new passphrase and its next generation, and stops what the old one was used for. Rejects with
 * `key_changed` when another change came first.
 */
export async function renewKey(
  parts: ReplaceParts,
  ctx: AccountContext,
  key: KeyHandle,
  make: (read: ReadRecords) => Promise<NextRecords>,
): Promise<void> {
  const { opener } = parts;
  const gen = key.gen + 1;
  const { key: changed } = await withSameKey(parts, key, (target) =>
    replaceOnce(parts, ctx, target, gen, make),
  );
  opener.forget(changed);
  const { aid, kid } = changed;
  // From here on the caller gets the passphrase, whatever Redis does: the sweep, or the first unlock, does the rest.
  await withRetries(() => opener.finishChange({ aid, kid, gen })).catch(() => undefined);
}
