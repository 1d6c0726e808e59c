import type { HeadsCheckpoint } from '../../workers/jobs/log-heads/jobs.ts';
import { recover } from '../core/concurrency.ts';
import type { Crypto } from '../crypto/client.ts';
import type { HeadsStore } from './store.ts';

/**
 * What is wrong with the recorded heads of an account. `damaged`: they do not open. `older`: a checkpoint is of a later
 * epoch. `replaced`: a checkpoint of their epoch is of others. `forked`: two checkpoints of one epoch differ.
 */
export type HeadsReason = 'damaged' | 'older' | 'replaced' | 'forked';

/** What a check of the recorded heads of an account has found. */
export interface HeadsReport {
  readonly epoch: number;
  /** Logs that are recorded. */
  readonly logs: number;
  /** Checkpoints that were compared with it. */
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

interface VerifierParts {
  readonly crypto: Pick<Crypto, 'checkHeadsCheckpoint' | 'readHeadsMark'>;
  readonly headsStore: Pick<HeadsStore, 'readCheckpoint' | 'readKey'>;
}

/**
 * Compares what an account has recorded of the logs of its items with its checkpoints: the stored one, and those given,
 * of which it takes its own. A checkpoint that this vault has not signed is rejected with `integrity_failed`.
 */
export async function verifyHeads(
  { crypto, headsStore }: VerifierParts,
  aid: string,
  given: readonly HeadsCheckpoint[],
): Promise<HeadsReport> {
  const stored = parseHeadsCheckpoint((await headsStore.readCheckpoint(aid)) ?? '');
  // Behind the checkpoint: it can only be newer.
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
  { epoch, link }: Pick<HeadsCheckpoint, 'epoch' | 'link'>,
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
