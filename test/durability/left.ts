/** Finds accepted requests that are still in Redis. */
import { JobQueue } from '../../server/job/queue.ts';
import type { MortalVault } from './server.ts';

const POLL_MS = 20;
/** Upper bound in ms after which every accepted request has ended: pauses, deadlines and takeover by another server. */
const SETTLE_MS_MAX = 240_000;

type Place = Pick<MortalVault, 'raw' | 'socketPath'>;

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** Jobs that the directories of accounts name, or that lie outside of them: the larger number. */
export async function jobsLeft({ raw }: Pick<Place, 'raw'>): Promise<number> {
  const [directories, names] = [await raw.keys('{a:*}j'), await raw.keys('{a:*}j:*')];
  const listed = await Promise.all(directories.map((name) => raw.zcard(name)));
  // What only keeps an id from being used again has no record.
  const lying = await Promise.all(names.map((name) => raw.hexists(name, 'r')));
  return Math.max(sum(listed), sum(lying));
}

/** Ids in the queue: waiting, delayed or running. */
export async function queueLeft({ socketPath }: Pick<Place, 'socketPath'>): Promise<number> {
  const queue = new JobQueue({ kind: 'socket', path: socketPath }, () => undefined);
  try {
    return await queue.size();
  } finally {
    await queue.close();
  }
}

/** Looks until there is nothing, or for too long; gives what it saw last. */
export async function untilNone(look: () => Promise<number>): Promise<number> {
  const end = performance.now() + SETTLE_MS_MAX;
  let left = await look();
  while (left > 0 && performance.now() < end) {
    await Bun.sleep(POLL_MS);
    left = await look();
  }
  return left;
}
