/** Who asks beside whom: an account that is alone may take what it must leave to others as soon as there are any. */

/** How long somebody counts after a request. */
const LATELY_MS = 1_000;

interface Asked {
  readonly owner: string;
  atMs: number;
}

/** The two who asked last, each with the time of its last request. */
export interface Neighbours {
  newest: Asked;
  other: Asked;
}

/** Nobody has asked yet. */
export function createNeighbours(): Neighbours {
  const none = (): Asked => ({ owner: '', atMs: Number.NEGATIVE_INFINITY });
  return { newest: none(), other: none() };
}

/** Records a request of an owner at `now`, in milliseconds. */
export function record(neighbours: Neighbours, owner: string, now: number): void {
  if (neighbours.newest.owner !== owner) {
    neighbours.other = neighbours.newest;
    neighbours.newest = { owner, atMs: now };
  } else {
    neighbours.newest.atMs = now;
  }
}

/** Whether somebody else than `owner` has asked within the last second. */
export function hasNeighbours({ newest, other }: Neighbours, owner: string, now: number): boolean {
  const { atMs } = newest.owner === owner ? other : newest;
  return now - atMs < LATELY_MS;
}
