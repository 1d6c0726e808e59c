import { VaultError } from '../core/errors.ts';
import { networkOf } from '../domain/text/network.ts';
import { isLong } from './body.ts';

/** The minimum cost of a body: the objects of its request and its connection. It also bounds the requests of a source. */
const LEAST_BYTES = 8_192;
/** Bytes of short bodies, which are the most frequent, and of long ones. */
const SHORT_BUDGET = 16 * 1_048_576;
const LONG_BUDGET = 16 * 1_048_576;
/** Bytes of bodies of accounts that arrive later than their heads. */
const ACCOUNT_BUDGET = 128 * 1_048_576;
/** The part of each budget that one owner can hold. */
const OWNER_PART = 0.5;

interface Share {
  bytes: number;
  /** Bodies that can be cut off, the oldest first. */
  readonly waiting: Set<HeldBytes>;
}

interface Lane {
  readonly bytesMax: number;
  held: number;
  readonly shares: Map<string, Share>;
}

/** The owner of a body: a network without a sign-in yet, or an account. */
type OwnerKind = 'anonymous' | 'account';

type Cut = (error: VaultError) => void;

/** A part of the budget that is held for one body. Only the budget changes it. */
export interface HeldBytes {
  readonly kind: OwnerKind;
  readonly owner: string;
  lane: Lane;
  bytes: number;
  cut: Cut | undefined;
  isOver: boolean;
}

/**
 * Bounds the memory of bodies of unauthenticated callers, and of slow bodies. The runtime receives a body even if it is not
 * read: a request without a share must be answered, or its body cancelled, at once. If the budget is used up, the owner with
 * the most bytes loses its oldest incomplete body, so that slow senders cannot block others.
 */
export interface BodyBudget {
  /** Reserves bytes for a body; throws `overloaded` above the limit of the budget or of the owner. */
  readonly hold: (owner: string, bytes: number, kind?: OwnerKind) => HeldBytes;
  /** Marks the body as incomplete: it can be released for others, and `cut` is then called. */
  readonly wait: (held: HeldBytes, cut: Cut) => void;
  /** Marks the body as complete. A short one is released: admission bounds the number of these. */
  readonly arrived: (held: HeldBytes) => void;
  /** Reserves more bytes for a body, at least twice as many as before; throws `overloaded`. */
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

/** The largest share with incomplete bodies. */
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

/** Releases the share of a request's body, if it has one. */
export function releaseBody(
  ctx: { held: HeldBytes | undefined },
  { bodies }: { readonly bodies: BodyBudget },
): void {
  if (ctx.held !== undefined) {
    bodies.release(ctx.held);
    ctx.held = undefined;
  }
}

/** The part of a request that its body needs. */
interface BodyOwner {
  readonly ip: string;
  held: HeldBytes | undefined;
}

/** Waits for a body. Only now one of an account reserves bytes: most bodies arrive together with their heads. */
export function waitForBody(
  ctx: BodyOwner,
  { bodies }: { readonly bodies: BodyBudget },
  aid: string | undefined,
  length: number | undefined,
  cut: Cut,
): void {
  ctx.held ??= bodies.hold(aid ?? networkOf(ctx.ip), length ?? 0, 'account');
  bodies.wait(ctx.held, cut);
}

/** Reserves bytes for a body without a declared length; throws `overloaded`. */
export function growBody(
  { held }: BodyOwner,
  { bodies }: { readonly bodies: BodyBudget },
  bytes: number,
): void {
  if (held !== undefined && bytes > held.bytes) {
    bodies.grow(held, bytes);
  }
}

export function endWait({ held }: BodyOwner, { bodies }: { readonly bodies: BodyBudget }): void {
  if (held !== undefined) {
    bodies.arrived(held);
  }
}
