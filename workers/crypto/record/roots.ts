/**
 * The keys of an installation that outlive the master key, in one service record.
 *
 * Version 1, of installations that have never rotated their root: the root, 32 bytes; everything derives from it.
 * Version 2: `02 | stage 1 | number of roots 1 | roots 32 each, the oldest first | key of chain links 32 | seed of the
 * signing key 32 | ms since 1970 at which the newest began to be written 8`. There are one or two roots.
 */
import { concat, IntegrityError, readBytes, readU8, readU64, u64, utf8 } from '../primitives/bytes.ts';
import { randomBytes } from '../primitives/random.ts';
import { hkdf, KEY_BYTES } from '../primitives/symmetric.ts';
import { createSubkeys } from './service-record.ts';

/**
 * Stage of the change from one root to the next. `known`: all servers are to know the next one; they write under the old
 * one. `moving`: they write under the new one, and the reference index still has entries of the old one. `steady`: the
 * index is under the newest root; an older one is kept for passwords and Idempotency-Keys alone.
 */
export type RootStage = 'steady' | 'known' | 'moving';

/** The content of a root record. Callers neither change nor wipe it. */
export interface Roots {
  readonly version: 1 | 2;
  readonly stage: RootStage;
  /** One or two, the oldest first. */
  readonly roots: readonly Uint8Array[];
  /** The key that links of security logs derive from; it never changes, since links name their predecessors for ever. */
  readonly links: Uint8Array;
  /** The seed of the key that signs checkpoints; it does not change with the root. */
  readonly seed: Uint8Array;
  readonly movedAtMs: number;
}

/** A step from one state to the next. `end` forgets the older root. */
export type RootStep = 'begin' | 'move' | 'settle' | 'end';

const VERSION = 0x02;
const STAGES: readonly RootStage[] = ['steady', 'known', 'moving'];
const ROOTS_AT = 3;
const ID_BYTES = 6;

/** Id of a root in verifiers of passwords and in reports; it reveals nothing of the root. */
export function rootId(root: Uint8Array): string {
  return hkdf(root, utf8('cardvault root id'), ID_BYTES).toHex();
}

/** The keys of a new installation: none derives from another. */
export function newRoots(): Roots {
  const [root, links, seed] = [randomBytes(KEY_BYTES), randomBytes(KEY_BYTES), randomBytes(KEY_BYTES)];
  return { version: 2, stage: 'steady', roots: [root], links, seed, movedAtMs: 0 };
}

/** The plaintext of the record, version 2. */
export function encodeRoots({ stage, roots, links, seed, movedAtMs }: Roots): Uint8Array {
  const head = Uint8Array.of(VERSION, STAGES.indexOf(stage), roots.length);
  return concat([head, ...roots, links, seed, u64(movedAtMs)]);
}

/** Reads the plaintext of the record. Any other bytes: `IntegrityError`. */
export function decodeRoots(bytes: Uint8Array, env: string): Roots {
  if (bytes.length === KEY_BYTES) {
    const root = new Uint8Array(bytes);
    const seed = createSubkeys(root, 'cardvault root key', env)('audit-sign', '');
    return { version: 1, stage: 'steady', roots: [root], links: root, seed, movedAtMs: 0 };
  }
  const count = bytes[0] === VERSION ? readU8(bytes, 2) : 0;
  const stage = STAGES[bytes[1] ?? STAGES.length];
  const end = ROOTS_AT + (count + 2) * KEY_BYTES;
  const isTwo = count === 2;
  if (!(isTwo || (count === 1 && stage === 'steady')) || stage === undefined || bytes.length !== end + 8) {
    throw new IntegrityError('root');
  }
  const keyAt = (i: number): Uint8Array => readBytes(bytes, ROOTS_AT + i * KEY_BYTES, KEY_BYTES).slice();
  const roots = Array.from({ length: count }, (_, i) => keyAt(i));
  const rest = { links: keyAt(count), seed: keyAt(count + 1), movedAtMs: readU64(bytes, end) };
  return { version: 2, stage, roots, ...rest };
}

/** The state after a step; `IntegrityError` if the step does not follow. */
export function stepRoots(now: Roots, step: RootStep, nowMs: number): Roots {
  const { stage, roots } = now;
  const after: Partial<Record<RootStep, Partial<Roots>>> =
    stage === 'known'
      ? { move: { stage: 'moving', movedAtMs: nowMs } }
      : stage === 'moving'
        ? { settle: { stage: 'steady' } }
        : roots.length === 1
          ? { begin: { stage: 'known', roots: [...roots, randomBytes(KEY_BYTES)] } }
          : { end: { roots: roots.slice(1) } };
  const change = after[step];
  if (change === undefined) {
    throw new IntegrityError('root');
  }
  return { ...now, ...change, version: 2 };
}
