import { VaultError } from '../../core/errors.ts';
import { isLong } from './body.ts';

/** What a body weighs at least: the objects of its request and its connection. It bounds the requests of a source too. */
const LEAST_BYTES = 8_192;
/** How many bytes there may be of short bodies, which most are, and of long ones. */
const SHORT_BUDGET = 16 * 1_048_576;
const LONG_BUDGET = 16 * 1_048_576;
/** One source gets this part of each. */
const SOURCE_PART = 0.5;

/** What is held of one budget. */
interface Lane {
  readonly bytesMax: number;
  held: number;
  readonly bySource: Map<string, number>;
}

/** A part of the budget, held for one body. */
export interface HeldBytes {
  readonly lane: Lane;
  readonly source: string;
  readonly bytes: number;
}

/**
 * Bounds the memory of bodies whose callers have not proved who they are. The runtime receives a body as fast as it comes,
 * whether or not somebody reads it: what is not held here must be answered, or its body cancelled, at once.
 */
export interface BodyBudget {
  /**
   * Holds a body of so many bytes; throws `overloaded` when there is no room, in all or for the source. Nothing is held
   * for longer than a sign-in takes, or a body that arrives.
   */
  readonly hold: (source: string, bytes: number) => HeldBytes;
  /** Holds more for a body that turns out to have so many bytes, at least twice as many; throws `overloaded`. */
  readonly grow: (held: HeldBytes, bytes: number) => HeldBytes;
  readonly release: (held: HeldBytes) => void;
}

function createLane(bytesMax: number): Lane {
  return { bytesMax, held: 0, bySource: new Map() };
}

function hold(lane: Lane, source: string, bytes: number): HeldBytes {
  const own = (lane.bySource.get(source) ?? 0) + bytes;
  if (lane.held + bytes > lane.bytesMax || own > lane.bytesMax * SOURCE_PART) {
    throw new VaultError('overloaded');
  }
  lane.held += bytes;
  lane.bySource.set(source, own);
  return { lane, source, bytes };
}

function release({ lane, source, bytes }: HeldBytes): void {
  lane.held -= bytes;
  const own = (lane.bySource.get(source) ?? 0) - bytes;
  if (own > 0) {
    lane.bySource.set(source, own);
  } else {
    lane.bySource.delete(source);
  }
}

/** Creates the budget of one process. */
export function createBodyBudget(): BodyBudget {
  const short = createLane(SHORT_BUDGET);
  const long = createLane(LONG_BUDGET);
  const take = (source: string, bytes: number): HeldBytes =>
    hold(isLong(bytes) ? long : short, source, Math.max(LEAST_BYTES, bytes));
  return {
    hold: take,
    grow: (held, bytes) => {
      const more = take(held.source, Math.max(bytes, 2 * held.bytes));
      release(held);
      return more;
    },
    release,
  };
}

/** Gives back what the body of a request holds, if anything. */
export function releaseBody(
  ctx: { held: HeldBytes | undefined },
  { bodies }: { readonly bodies: BodyBudget },
): void {
  if (ctx.held !== undefined) {
    bodies.release(ctx.held);
    ctx.held = undefined;
  }
}
