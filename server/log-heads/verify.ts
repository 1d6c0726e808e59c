import type { HeadsCheckpoint } from '../../workers/jobs/log-heads/jobs.ts';
import { recover } from '../core/concurrency.ts';
import type { Crypto } from '../crypto/client.ts';
import type { HeadsStore } from './store.ts';

/**
 * A fault of the recorded heads of an account. `damaged`: they do not open. `older`: a checkpoint has a later epoch. `replaced`:
 * a checkpoint of their epoch has other heads. `forked`: two checkpoints of one epoch differ.
 */
export type HeadsReason = 'damaged' | 'older' | 'replaced' | 'forked';

export interface HeadsReport {
  readonly epoch: number;
  readonly logs: number;
  readonly checkpoints: number;
  readonly fault?: HeadsReason;
}

const TEXT_MEMBERS = ['account', 'link', 'time', 'signature'] as const;

/** Parses the JSON text of a checkpoint of heads; undefined for any other text. Its signature is not verified here. */
export function parseHeadsCheckpoint(text: string): HeadsCheckpoint | undefined {
  try {
    const value = JSON.parse(text) as HeadsCheckpoint;
    return TEXT_MEMBERS.every((name) => typeof value[name] === 'string') &&
      Number.isSafeInteger(value.epoch) &&
      Number.isSafeInteger(value.logs)
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

/** Compares the recorded heads of an account with checkpoints. Rejects with `integrity_failed` one of another vault. */
export async function verifyHeads(
  headsStore: HeadsStore,
  crypto: Crypto,
  aid: string,
  given: readonly HeadsCheckpoint[],
): Promise<HeadsReport> {
  const stored = parseHeadsCheckpoint((await headsStore.readCheckpoint(aid)) ?? '');
  // Read after the checkpoint: it can only be newer.
  const { mark } = await headsStore.readKey(aid, '');
  const known = [...given, ...(stored ? [stored] : [])].filter(({ account }) => account === aid);
  for (const checkpoint of known) {
    await crypto.checkHeadsCheckpoint({ checkpoint });
  }
  const read = crypto.readHeadsMark({ params: { aid, kids: [] }, mark, buckets: [] });
  const facts = await recover(read, 'integrity_failed', undefined);
  const checkpoints = known.length;
  if (facts === undefined) {
    return { epoch: 0, logs: 0, checkpoints, fault: 'damaged' };
  }
  const fault = faultOf(facts, known);
  return { epoch: facts.epoch, logs: facts.logs, checkpoints, ...(fault ? { fault } : {}) };
}

function faultOf(
  { epoch, link }: { readonly epoch: number; readonly link: string },
  known: readonly HeadsCheckpoint[],
): HeadsReason | undefined {
  const links = new Map<number, string>();
  for (const checkpoint of known) {
    if ((links.get(checkpoint.epoch) ?? checkpoint.link) !== checkpoint.link) {
      return 'forked';
    }
    links.set(checkpoint.epoch, checkpoint.link);
  }
  if (known.some((checkpoint) => checkpoint.epoch > epoch)) {
    return 'older';
  }
  return (links.get(epoch) ?? link) === link ? undefined : 'replaced';
}
