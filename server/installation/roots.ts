import type { RootFacts, RootStep } from '../../workers/jobs/installation/jobs.ts';
import { writeRootCell } from '../../workers/jobs/root-keys.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import type { Crypto } from '../crypto/client.ts';
import type { RedisLink } from '../redis/client.ts';
import { readInstallation, replaceRoot } from './store.ts';

interface RootParts {
  readonly redis: RedisLink;
  readonly crypto: Pick<Crypto, 'cursorKeys' | 'describeRoot' | 'stepRoot'>;
  readonly cell: SharedArrayBuffer;
  readonly now: Clock;
  record: Buffer;
  facts: RootFacts;
  cursorKeys: readonly Uint8Array[];
}

/** Opens the state over the record that the threads of this process were started with. */
export async function openRootState(
  given: Pick<RootParts, 'redis' | 'crypto' | 'cell' | 'now'>,
  record: Buffer,
) {
  const facts = await given.crypto.describeRoot({ root: record });
  const parts: RootParts = { ...given, record, facts, cursorKeys: await given.crypto.cursorKeys() };
  return bindParts(parts, { refresh, step, current, hasOther, wantedPepper, cursorKeys });
}

/** What the record said when it was read last. */
function current({ facts }: RootParts): RootFacts {
  return facts;
}

/** Whether an older or a newer root than the one that is written under is known. */
function hasOther({ facts }: RootParts): boolean {
  return facts.ids.length > 1;
}

/** The id of the root whose pepper passwords are to have; undefined where there is no other that they may have. */
function wantedPepper({ facts: { ids, stage } }: RootParts): string | undefined {
  return ids.length > 1 && stage !== 'known' ? ids.at(-1) : undefined;
}

function cursorKeys(parts: RootParts): readonly Uint8Array[] {
  return parts.cursorKeys;
}

/**
 * Reads the record, and gives it to the threads where it has changed. Rejects, and changes nothing, when the record does
 * not open or Redis is not available.
 */
async function refresh(parts: RootParts): Promise<RootFacts> {
  const installation = await readInstallation(parts.redis);
  if (installation !== undefined && !installation.root.equals(parts.record)) {
    await take(parts, installation.root);
  }
  return parts.facts;
}

async function take(parts: RootParts, record: Buffer): Promise<void> {
  const facts = await parts.crypto.describeRoot({ root: record });
  parts.record = Buffer.from(record);
  writeRootCell(parts.cell, parts.record);
  parts.facts = facts;
  parts.cursorKeys = await parts.crypto.cursorKeys();
}

/** Takes a step of a rotation, and gives what the record says then: another process may have changed it at that moment. */
async function step(parts: RootParts, next: RootStep): Promise<RootFacts> {
  const { crypto, now, record, redis } = parts;
  const changed = await crypto.stepRoot({ root: record, step: next, nowMs: now() });
  await replaceRoot(redis, record, changed);
  return refresh(parts);
}
