import { bindParts } from '../core/bind.ts';
import { createMemory } from '../core/cache.ts';
import { type Clock, DAY_MS } from '../core/clock.ts';
import { createSharedRuns } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { formatExpiry } from '../domain/text/time.ts';
import type { SealingKey } from './capture-schema.ts';
import type { SealingStore } from './sealing-store.ts';

/** How long a server uses what it has read: no request for a sealed capture costs a command of its own. */
const KNOWN_MS = 60_000;
/** Yesterday's key and today's, and tomorrow's of a server whose clock is ahead. */
const DAYS_MAX = 3;
const KID = /^(\d{1,6})-[0-9a-f]{16}$/;

/** The public half of a key. */
type Published = Pick<SealingKey, 'kid' | 'public_key'>;

interface SealingDependencies {
  readonly crypto: Pick<Crypto, 'createSealingKey' | 'describeSealingKey'>;
  readonly sealingStore: SealingStore;
  readonly now: Clock;
}

type SealingParts = ReturnType<typeof createParts>;

function createParts(dependencies: SealingDependencies) {
  return {
    ...dependencies,
    records: createMemory<Buffer>(DAYS_MAX, KNOWN_MS, dependencies.now),
    published: createMemory<Published>(DAYS_MAX, KNOWN_MS, dependencies.now),
    reading: createSharedRuns<Buffer | undefined>(),
    publishing: createSharedRuns<Published>(),
  };
}

/**
 * Keys that browsers seal captures to. All servers of a vault have the same: a new one each day of UTC, which is accepted
 * on the day after as well. The private halves are only opened in the threads.
 */
export type Sealing = ReturnType<typeof createSealing>;

/** Makes the sealing keys of a server. */
export function createSealing(dependencies: SealingDependencies) {
  return bindParts(createParts(dependencies), { current, recordOf });
}

function dayOf({ now }: SealingParts): number {
  return Math.floor(now() / DAY_MS);
}

/** The record of a day; undefined where there is none. What is found is kept for a while. */
function read({ reading, records, sealingStore }: SealingParts, day: number): Promise<Buffer | undefined> {
  const name = String(day);
  return reading(name, async () => {
    const known = records.get(name);
    if (known !== undefined) {
      return known;
    }
    const view = await sealingStore.read(day);
    // A view would keep all that arrived with it.
    const record = view && Buffer.from(view);
    if (record !== undefined) {
      records.set(name, record);
    }
    return record;
  });
}

/** The public half of the key of a day, which is created where there is none yet. */
async function publish(parts: SealingParts, day: number): Promise<Published> {
  const { crypto, now, published, sealingStore } = parts;
  const name = String(day);
  const stored = await read(parts, day);
  const record =
    stored ??
    (await sealingStore.create(
      day,
      await crypto.createSealingKey({ day: name }),
      day - 1,
      (day + 2) * DAY_MS - now(),
    ));
  const { kid, publicKey } = await crypto.describeSealingKey({ day: name, record });
  const found = { kid, public_key: publicKey.toBase64({ alphabet: 'base64url', omitPadding: true }) };
  published.set(name, found);
  return found;
}

/** The key to seal to now, whichever endpoint it is for. */
async function current(parts: SealingParts): Promise<SealingKey> {
  const day = dayOf(parts);
  const name = String(day);
  const found = parts.published.get(name) ?? (await parts.publishing(name, () => publish(parts, day)));
  return { ...found, suite: 'P256-HKDF-SHA256-AES256GCM', expires_at: formatExpiry((day + 2) * DAY_MS) };
}

/** The sealed record of a key; `sealing_key_expired` for one that is not accepted, or is none. */
async function recordOf(parts: SealingParts, kid: string): Promise<Uint8Array> {
  const day = Number(KID.exec(kid)?.[1] ?? Number.NaN);
  const record = Math.abs(day - dayOf(parts)) <= 1 ? await read(parts, day) : undefined;
  if (record === undefined) {
    throw new VaultError('sealing_key_expired');
  }
  return record;
}
