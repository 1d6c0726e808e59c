import type { Connection } from '../../server/domain/connection/connection.ts';
import type { CaptureKey } from '../crypto/endpoint/record.ts';
import type { UnlockedKey } from '../crypto/key/unlocked.ts';
import { EMPTY, equalBytes } from '../crypto/primitives/bytes.ts';

/** The source of an open key. All of it must be the same for two jobs to share an opening. */
interface Wanted {
  /** The kind of opening, and the names that its records are bound to. */
  readonly names: readonly (string | number)[];
  readonly records: readonly Uint8Array[];
  readonly secret: Uint8Array;
}

/** An open key. The bytes are views into the frame, which is wiped after its openings are. */
export interface Opening<Opened extends Disposable> extends Wanted {
  readonly opened: Opened;
}

/**
 * The open keys of a frame, with their sources. Jobs with the same records and the same secret share one opening, which is
 * wiped when the frame ends: nothing that is open outlives it.
 */
export interface Openings {
  readonly keys: Opening<UnlockedKey>[];
  readonly captures: Opening<CaptureKey>[];
  /** The connection that was opened last, which most requests of a frame use, with its credentials and its record. */
  connection:
    | {
        readonly aid: string;
        readonly id: string;
        readonly record: Uint8Array;
        readonly opened: Connection;
      }
    | undefined;
}

export function createOpenings(): Openings {
  return { keys: [], captures: [], connection: undefined };
}

function isSame(found: Wanted, wanted: Wanted): boolean {
  return (
    found.names.length === wanted.names.length &&
    found.names.every((name, i) => name === wanted.names[i]) &&
    found.records.every((record, i) => equalBytes(record, wanted.records[i] ?? EMPTY)) &&
    equalBytes(found.secret, wanted.secret)
  );
}

/**
 * The opening of another job of the frame from the same records under the same secret, which is compared in constant time;
 * otherwise the result of `open`. It belongs to the frame: a job neither wipes it nor holds it across an `await`.
 */
export function shareOpening<Opened extends Disposable, Result extends Opened | undefined>(
  openings: Opening<Opened>[],
  wanted: Wanted,
  open: () => Result,
): Opened | Result {
  const found = openings.find((opening) => isSame(opening, wanted));
  if (found) {
    return found.opened;
  }
  const opened = open();
  if (opened) {
    openings.push({ ...wanted, opened });
  }
  return opened;
}

/**
 * Runs `work` with an open key when it can be used. Until then the key is no longer its frame's; it is wiped after the work,
 * with all that the work has opened.
 */
export async function workLater<T>(
  openings: Openings,
  opened: Disposable,
  ready: Promise<unknown>,
  work: () => T,
): Promise<T> {
  for (const list of [openings.keys, openings.captures]) {
    const index = list.findIndex((opening) => opening.opened === opened);
    list.splice(index, index < 0 ? 0 : 1);
  }
  try {
    await ready;
    return work();
  } finally {
    opened[Symbol.dispose]();
    endOpenings(openings);
  }
}

/** Wipes all that the frame has opened. */
export function endOpenings(openings: Openings): void {
  const { keys, captures } = openings;
  openings.connection = undefined;
  for (const { opened } of [...keys.splice(0), ...captures.splice(0)]) {
    opened[Symbol.dispose]();
  }
}
