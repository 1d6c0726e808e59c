/** The time for which an owner is active after a request. */
const LATELY_MS = 1_000;

interface Activity {
  readonly owner: string;
  atMs: number;
}

/** The two owners with the latest requests: whether more than one is active. */
export interface Neighbours {
  newest: Activity;
  other: Activity;
}

export function createNeighbours(): Neighbours {
  const none = (): Activity => ({ owner: '', atMs: Number.NEGATIVE_INFINITY });
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

/** True if another owner has sent a request within the last second. */
export function hasNeighbours({ newest, other }: Neighbours, owner: string, now: number): boolean {
  const { atMs } = newest.owner === owner ? other : newest;
  return now - atMs < LATELY_MS;
}
