import { VaultError } from '../core/errors.ts';
import { networkOf } from '../domain/text/network.ts';
import { isLong } from './body.ts';

/** What a body weighs at least: the objects of its request and its connection. It bounds the requests of a source too. */
const LEAST_BYTES = 8_192;
/** How many bytes there may be of short bodies, which most are, and of long ones. */
const SHORT_BUDGET = 16 * 1_048_576;
const LONG_BUDGET = 16 * 1_048_576;
/** The same for bodies of accounts, as far as they come later than their heads. */
const ACCOUNT_BUDGET = 128 * 1_048_576;
/** One owner gets this part of each. */
const OWNER_PART = 0.5;

/** What one owner holds of a budget. */
interface Share {
  bytes: number;
  /** What may be cut off, the oldest first. */
  readonly waiting: Set<HeldBytes>;
}

/** What is held of one budget. */
interface Lane {
  readonly bytesMax: number;
  held: number;
  readonly shares: Map<string, Share>;
}

/** Whose body it is: of a network that nobody has signed in from yet, or of an account. */
type OwnerKind = 'anonymous' | 'account';

/** Ends the waiting for a body. */
type Cut = (error: VaultError) => void;

/** A part of the budget, held for one body. Only the budget changes it. */
export interface HeldBytes {
  readonly kind: OwnerKind;
  readonly owner: string;
  lane: Lane;
  bytes: number;
  cut: Cut | undefined;
  isOver: boolean;
}

/**
 * Bounds the memory of bodies whose callers have not proved who they are, and of those that come slowly. The runtime
 * receives a body as fast as it comes, whether or not somebody reads it: what is not held here must be answered, or its
 * body cancelled, at once.
 *
 * Whoever finds no room gets that of another owner who holds more, as long as bodies of that one are waited for: so nobody
 * takes all room from others by sending slowly.
 */
export interface BodyBudget {
  /** Holds a body of so many bytes; throws `overloaded` when there is no room, in all or for the owner. */
  readonly hold: (owner: string, bytes: number, kind?: OwnerKind) => HeldBytes;
  /** From now on the body is waited for: when others need its room it is released, and `cut` is called. */
  readonly wait: (held: HeldBytes, cut: Cut) => void;
  /** The body is there. A short one holds nothing more: the places of those who are let in bound what is there of these. */
  readonly arrived: (held: HeldBytes) => void;
  /** Holds more for a body that turns out to have so many bytes, at least twice as many; throws `overloaded`. */
  readonly grow: (held: HeldBytes, bytes: number) => void;
  /** A second call has no effect, nor has one after `cut`. */
  readonly release: (held: HeldBytes) => void;
}

function createLane(bytesMax: number): Lane {
  return { bytesMax, held: 0, shares: new Map() };
}

function add(held: HeldBytes): void {
  const { lane, owner, bytes, cut } = held;
  const share = lane.shares.get(owner) ?? { bytes: 0, waiting: new Set() };
  lane.held += bytes;
  share.bytes += bytes;
  lane.shares.set(owner, share);
  if (cut !== undefined) {
    share.waiting.add(held);
  }
}

function remove(held: HeldBytes): void {
  const { lane, owner, bytes } = held;
  const share = lane.shares.get(owner);
  if (share === undefined) {
    return;
  }
  lane.held -= bytes;
  share.bytes -= bytes;
  share.waiting.delete(held);
  if (share.bytes === 0) {
    lane.shares.delete(owner);
  }
}

function release(held: HeldBytes): void {
  if (!held.isOver) {
    held.isOver = true;
    remove(held);
  }
}

/** Who holds most, of those whose bodies are waited for. */
function findLargest({ shares }: Lane): Share | undefined {
  let largest: Share | undefined;
  for (const share of shares.values()) {
    if (share.waiting.size > 0 && share.bytes > (largest?.bytes ?? 0)) {
      largest = share;
    }
  }
  return largest;
}

function makeRoom(lane: Lane, owner: string, bytes: number): void {
  const own = (lane.shares.get(owner)?.bytes ?? 0) + bytes;
  if (own > lane.bytesMax * OWNER_PART) {
    throw new VaultError('overloaded');
  }
  while (lane.held + bytes > lane.bytesMax) {
    const largest = findLargest(lane);
    const [oldest] = largest?.waiting ?? [];
    if (largest === undefined || oldest === undefined || largest.bytes <= own) {
      throw new VaultError('overloaded');
    }
    release(oldest);
    oldest.cut?.(new VaultError('overloaded'));
  }
}

function wait(held: HeldBytes, cut: Cut): void {
  if (!held.isOver) {
    held.cut = cut;
    held.lane.shares.get(held.owner)?.waiting.add(held);
  }
}

function arrived(held: HeldBytes): void {
  if (!isLong(held.bytes)) {
    release(held);
  }
  held.cut = undefined;
  held.lane.shares.get(held.owner)?.waiting.delete(held);
}

/** Creates the budget of one process. */
export function createBodyBudget(): BodyBudget {
  const short = createLane(SHORT_BUDGET);
  const long = createLane(LONG_BUDGET);
  const account = createLane(ACCOUNT_BUDGET);
  const laneOf = (kind: OwnerKind, bytes: number): Lane =>
    kind === 'account' ? account : isLong(bytes) ? long : short;
  return {
    hold: (owner, length, kind = 'anonymous') => {
      const bytes = Math.max(LEAST_BYTES, length);
      const lane = laneOf(kind, bytes);
      makeRoom(lane, owner, bytes);
      const held = { kind, owner, lane, bytes, cut: undefined, isOver: false };
      add(held);
      return held;
    },
    wait,
    arrived,
    grow: (held, length) => {
      if (held.isOver) {
        throw new VaultError('overloaded');
      }
      const bytes = Math.max(length, 2 * held.bytes);
      const lane = laneOf(held.kind, bytes);
      makeRoom(lane, held.owner, bytes);
      remove(held);
      held.lane = lane;
      held.bytes = bytes;
      add(held);
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

/** What of a request its body is about. */
interface BodyOwner {
  readonly ip: string;
  held: HeldBytes | undefined;
}

/** A body is not there yet. Until then one of an account holds nothing: most come together with their heads. */
export function waitForBody(
  ctx: BodyOwner,
  { bodies }: { readonly bodies: BodyBudget },
  account: { readonly aid: string } | undefined,
  length: number | undefined,
  cut: Cut,
): void {
  ctx.held ??= bodies.hold(account?.aid ?? networkOf(ctx.ip), length ?? 0, 'account');
  bodies.wait(ctx.held, cut);
}

/** So many bytes have come of a body whose length was not declared; throws `overloaded` when there is no room for them. */
export function growBody(
  { held }: BodyOwner,
  { bodies }: { readonly bodies: BodyBudget },
  bytes: number,
): void {
  if (held !== undefined && bytes > held.bytes) {
    bodies.grow(held, bytes);
  }
}

/** The body of a request is there. */
export function endWait({ held }: BodyOwner, { bodies }: { readonly bodies: BodyBudget }): void {
  if (held !== undefined) {
    bodies.arrived(held);
  }
}
