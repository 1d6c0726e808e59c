import { VaultError } from '../core/errors.ts';
import { type Capacity, type ClassLimits, limitsOf, type WorkClass } from './classes.ts';

/** The time for which an owner is active after a request. */
const ACTIVE_MS = 1_000;
/** The interval at which waits are compared with their limit. */
const CHECK_MS = 250;

/** Acquired units that the limiter takes back by `cut` if others need them and their owner has the most. */
export interface Revocable {
  readonly units: number;
  readonly cut: (error: VaultError) => void;
}

interface Waiter {
  readonly units: number;
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: VaultError) => void;
}

/** A class of work: its units, and its queue, which serves owners round robin. */
interface WorkState {
  readonly limits: ClassLimits;
  used: number;
  readonly usedBy: Map<string, number>;
  waiting: number;
  /** Waiting requests by owner, the oldest first, in round-robin order. No queue is empty. */
  readonly queues: Map<string, Waiter[]>;
  /** Units that can be taken back by owner, the oldest first. No set is empty. */
  readonly revocable: Map<string, Set<Revocable>>;
}

/** The units of a class that are in use, and the requests that wait for some. */
export interface WorkStats {
  readonly used: number;
  readonly waiting: number;
}

/**
 * Decides who waits for whom. Work of a class starts while there are units for it and its owner; the rest waits in one fair
 * queue over owners, or is rejected as `overloaded`. In a full queue the owner with the most requests loses its newest.
 */
export class Limiter {
  private readonly states: Readonly<Record<WorkClass, WorkState>>;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The two owners with the latest requests: whether more than one is active. */
  private newest = { owner: '', atMs: Number.NEGATIVE_INFINITY };
  private other = this.newest;

  constructor(
    capacity: Capacity,
    private readonly clock: () => number,
  ) {
    const states = Object.entries(limitsOf(capacity)).map(([work, limits]) => [work, stateOf(limits)]);
    this.states = Object.fromEntries(states) as Record<WorkClass, WorkState>; // Each class has its entry.
  }

  /**
   * Acquires units for work of an account, or of a source without one: at once with `undefined`, or when the promise
   * resolves. Throws or rejects with `overloaded`. `release` must be called once after it.
   */
  acquire(work: WorkClass, owner: string, units = 1): Promise<void> | undefined {
    const state = this.states[work];
    if (this.hasRoom(state, owner, units) && !state.queues.has(owner)) {
      grant(state, owner, units);
      return undefined;
    }
    if (state.limits.waiting > 0) {
      return this.wait(state, owner, units);
    }
    this.revoke(state, owner, units);
    grant(state, owner, units);
    return undefined;
  }

  /** Releases units, and starts the waiting work that has room now. */
  release(work: WorkClass, owner: string, units = 1): void {
    const state = this.states[work];
    grant(state, owner, -units);
    while (state.waiting > 0 && state.used < state.limits.max && this.startNext(state)) {
      // Until none has room.
    }
  }

  /** Acquires units for longer than a call; returns the function that releases them, once. */
  async hold(work: WorkClass, owner: string, units = 1): Promise<() => void> {
    await this.acquire(work, owner, units);
    let isHeld = true;
    return () => {
      if (isHeld) {
        isHeld = false;
        this.release(work, owner, units);
      }
    };
  }

  /** Runs work under one unit. */
  async run<T>(work: WorkClass, owner: string, act: () => Promise<T>): Promise<T> {
    const granted = this.acquire(work, owner);
    if (granted !== undefined) {
      await granted;
    }
    try {
      return await act();
    } finally {
      this.release(work, owner);
    }
  }

  /** Allows the limiter to take acquired units back, until `withdraw`. */
  offer(work: WorkClass, owner: string, entry: Revocable): void {
    const { revocable } = this.states[work];
    const entries = revocable.get(owner) ?? new Set();
    revocable.set(owner, entries.add(entry));
  }

  withdraw(work: WorkClass, owner: string, entry: Revocable): void {
    removeOffer(this.states[work], owner, entry);
  }

  /** Records a request of an owner, which is active for a second. */
  noteActive(owner: string): void {
    const atMs = this.clock();
    if (this.newest.owner !== owner) {
      this.other = this.newest;
      this.newest = { owner, atMs };
    } else {
      this.newest.atMs = atMs;
    }
  }

  /** True if no other owner has sent a request within the last second. */
  isAlone(owner: string): boolean {
    const { atMs } = this.newest.owner === owner ? this.other : this.newest;
    return this.clock() - atMs >= ACTIVE_MS;
  }

  stats(): Readonly<Record<WorkClass, WorkStats>> {
    return this.states;
  }

  private hasRoom(state: WorkState, owner: string, units: number): boolean {
    return state.used + units <= state.limits.max && this.mayHave(state, owner, units);
  }

  private mayHave({ limits, used, usedBy }: WorkState, owner: string, units: number): boolean {
    const own = usedBy.get(owner) ?? 0;
    const { each, beside = each } = limits;
    return own + units <= beside || (own + units <= each && used === own && this.isAlone(owner));
  }

  private wait(state: WorkState, owner: string, units: number): Promise<void> {
    if (state.waiting >= state.limits.waiting) {
      dropNewest(state, owner);
    }
    if (this.timer === undefined) {
      this.startTimer();
    }
    return new Promise((resolve, reject) => {
      const queue = state.queues.get(owner) ?? [];
      queue.push({ units, sinceMs: this.clock(), resolve, reject });
      state.queues.set(owner, queue);
      state.waiting += 1;
    });
  }

  /** Starts the next request that has room; false if none has. */
  private startNext(state: WorkState): boolean {
    const { queues } = state;
    for (const [owner, queue] of queues) {
      const [next] = queue;
      if (next !== undefined && this.hasRoom(state, owner, next.units)) {
        removeWaiter(state, owner, queue, 0);
        if (queue.length > 0) {
          queues.delete(owner);
          queues.set(owner, queue);
        }
        grant(state, owner, next.units);
        next.resolve();
        return true;
      }
    }
    return false;
  }

  /** Takes back the oldest units of the owners with the most until there is room; throws `overloaded` if that is `owner`. */
  private revoke(state: WorkState, owner: string, units: number): void {
    const { limits, usedBy, revocable } = state;
    if (!this.mayHave(state, owner, units)) {
      throw new VaultError('overloaded');
    }
    const own = (usedBy.get(owner) ?? 0) + units;
    while (state.used + units > limits.max) {
      const [most, size] = largestOf(revocable.keys(), (name) => usedBy.get(name) ?? 0);
      const [oldest] = revocable.get(most) ?? [];
      if (oldest === undefined || size <= own) {
        throw new VaultError('overloaded');
      }
      removeOffer(state, most, oldest);
      grant(state, most, -oldest.units);
      oldest.cut(new VaultError('overloaded'));
    }
  }

  private startTimer(): void {
    this.timer = setTimeout(() => this.expire(), CHECK_MS);
    this.timer.unref();
  }

  /** Rejects requests that have waited for too long. */
  private expire(): void {
    const now = this.clock();
    this.timer = undefined;
    for (const state of Object.values(this.states)) {
      for (const [owner, queue] of state.queues) {
        while (queue[0] !== undefined && now - queue[0].sinceMs >= state.limits.waitMs) {
          removeWaiter(state, owner, queue, 0)?.reject(new VaultError('overloaded'));
        }
      }
      if (state.waiting > 0 && this.timer === undefined) {
        this.startTimer();
      }
    }
  }
}

function stateOf(limits: ClassLimits): WorkState {
  return { limits, used: 0, usedBy: new Map(), waiting: 0, queues: new Map(), revocable: new Map() };
}

/** Adds units to those of an owner; a negative number takes them away. */
function grant(state: WorkState, owner: string, units: number): void {
  const own = (state.usedBy.get(owner) ?? 0) + units;
  state.used += units;
  if (own === 0) {
    state.usedBy.delete(owner);
  } else {
    state.usedBy.set(owner, own);
  }
}

function removeOffer({ revocable }: WorkState, owner: string, entry: Revocable): void {
  const entries = revocable.get(owner);
  if (entries?.delete(entry) === true && entries.size === 0) {
    revocable.delete(owner);
  }
}

/** Rejects the newest waiting request of the owner with the most; throws `overloaded` if that is `owner`. */
function dropNewest(state: WorkState, owner: string): void {
  const { queues } = state;
  const [most, size] = largestOf(queues.keys(), (name) => queues.get(name)?.length ?? 0);
  const queue = queues.get(most);
  if (queue === undefined || size <= (queues.get(owner)?.length ?? 0) + 1) {
    throw new VaultError('overloaded');
  }
  removeWaiter(state, most, queue, size - 1)?.reject(new VaultError('overloaded'));
}

function removeWaiter(state: WorkState, owner: string, queue: Waiter[], at: number): Waiter | undefined {
  const [waiter] = queue.splice(at, 1);
  state.waiting -= 1;
  if (queue.length === 0) {
    state.queues.delete(owner);
  }
  return waiter;
}

function largestOf(
  owners: Iterable<string>,
  sizeOf: (owner: string) => number,
): readonly [owner: string, size: number] {
  let [most, largest] = ['', 0];
  for (const owner of owners) {
    const size = sizeOf(owner);
    if (size > largest) {
      [most, largest] = [owner, size];
    }
  }
  return [most, largest];
}
