import { createHash } from 'node:crypto';
import { CommandError } from '../cli/command.ts';
import { isTransient, mapAhead, pause, withRetries } from '../core/concurrency.ts';
import type { Events } from '../event/events.ts';
import type { AccountContext } from '../request/context.ts';
import type { BatchError } from '../vault/batch/schema.ts';
import type { StoreBatches, StoredOrNot, StoreManyInput } from '../vault/batch/store-batch.ts';
import type { Row } from './rows.ts';
import type { Journal, RejectedRow } from './state.ts';

const BATCH_ROWS = 1_000;
const BATCH_BYTES = 4_194_304;
/** Rows between garbage collections, about a second of work. Left to the runtime, garbage takes twice the memory. */
const COLLECT_ROWS = 16_384;
/** Batches that are stored at once. */
const BATCHES_AHEAD = 3;
/** The longest time whose rows are imported again after an interruption. */
const SAVE_EVERY_MS = 1_000;
/** Events that may wait for a receiver before the import does, and the longest time in which none of them goes. */
const EVENTS_MAX = 50_000;
const EVENTS_STALL_MS = 10_000;
const EVENTS_LOOK_MS = 1_000;
/** Attempts to store a batch while Redis is unavailable, such as while its disk is busy: a minute. */
const TRIES_MAX = 120;

/** The target of an import. */
export interface Target {
  readonly batches: StoreBatches;
  readonly events: Events;
  readonly ctx: AccountContext;
  readonly input: StoreManyInput;
}

/** The number of rows that have their result, and a digest of their places and lengths, as in the state of the import. */
interface Progress {
  readonly rows: number;
  readonly layout: string;
}

/** Rows that are stored at once, and the progress after them. */
interface Batch {
  readonly rows: readonly Row[];
  readonly first: number;
  readonly after: Progress;
}

/** The outcome of a row: its error, or whether its item took the place of another; undefined for a skipped row. */
type Outcome = BatchError | { readonly replaced: boolean } | undefined;

/** Yields the batches after the imported rows; the same ones each time. Throws if the rows before are others. */
async function* batchesOf(source: AsyncIterable<readonly Row[]>, done: Progress): AsyncGenerator<Batch> {
  const layout = new Bun.CryptoHasher('sha256');
  const digest = (): string => layout.copy().digest('hex');
  let [count, bytes] = [0, 0];
  let rows: Row[] = [];
  const batch = (): Batch => ({
    rows,
    first: count - rows.length,
    after: { rows: count, layout: digest() },
  });
  const other = (): CommandError =>
    new CommandError('FILE is not the one whose import was stopped: its first lines have other lengths.', 1);
  let fault: { readonly error: unknown } | undefined;
  try {
    for await (const some of source) {
      for (const row of some) {
        const length = row.item instanceof Uint8Array ? row.item.length : 0;
        layout.update(`${row.line} ${length}\n`);
        count++;
        if (count % COLLECT_ROWS === 0) {
          Bun.gc(true);
        }
        if (count <= done.rows) {
          if (count === done.rows && digest() !== done.layout) {
            throw other();
          }
          continue;
        }
        rows.push(row);
        bytes += length;
        if (rows.length === BATCH_ROWS || bytes >= BATCH_BYTES) {
          yield batch();
          rows = [];
          bytes = 0;
        }
      }
    }
    if (count < done.rows) {
      throw other();
    }
  } catch (error) {
    fault = { error };
  }
  // The readable part of a faulty file is imported first.
  if (rows.length > 0) {
    yield batch();
  }
  if (fault) {
    throw fault.error;
  }
}

/** The place of an item of a batch, as in errors. */
const PLACE = /(body\.)?items\[\d+\]\.?/g;

/** Returns the error of a row, from that of its item in a batch. */
function rowError({ code, error, field }: BatchError): BatchError {
  const own = field?.replace(PLACE, '');
  const text = error.replace(PLACE, '').replace(/^`` /, 'The line ');
  return { code, error: text, ...(own ? { field: own } : {}) };
}

/** Returns the outcome of each row, from the results of `act` for its items. */
async function outcomesOf(
  rows: readonly Row[],
  act: (items: readonly Uint8Array[]) => Promise<readonly (StoredOrNot | undefined)[]>,
): Promise<readonly Outcome[]> {
  const items = rows.flatMap(({ item }) => (item instanceof Uint8Array ? [item] : []));
  const results = items.length === 0 ? [] : await act(items);
  let next = 0;
  return rows.map(({ item }) => {
    if (!(item instanceof Uint8Array)) {
      return item;
    }
    const result = results[next++];
    return result && 'code' in result ? rowError(result) : { replaced: result?.created === false };
  });
}

/** Stores a batch. The same rows have the same seed each time, so none is stored twice. */
function storeBatch({ batches, ctx, input }: Target, id: string, { rows, first }: Batch) {
  const seed = createHash('sha256').update(`import ${id} ${first}`).digest('base64url').slice(0, id.length);
  return outcomesOf(rows, (items) =>
    withRetries(() => batches.storeMany(ctx, input, items, seed), isTransient, TRIES_MAX),
  );
}

function rejectedOf(rows: readonly Row[], outcomes: readonly Outcome[]): RejectedRow[] {
  return outcomes.flatMap((outcome, i) =>
    outcome && 'code' in outcome ? [{ line: rows[i]?.line ?? 0, ...outcome }] : [],
  );
}

function skippedOf(outcomes: readonly Outcome[]): number {
  return outcomes.filter((outcome) => outcome === undefined).length;
}

/** Waits while a receiver that answers has too many events. Returns false if it makes no progress: then the import does not wait for it. */
async function pace({ events, ctx: { account } }: Target): Promise<boolean> {
  let least = Number.POSITIVE_INFINITY;
  let sinceMs = performance.now();
  for (;;) {
    const waiting = await events.crowd(account.aid);
    if (waiting <= EVENTS_MAX) {
      return true;
    }
    if (waiting < least) {
      least = waiting;
      sinceMs = performance.now();
    } else if (performance.now() - sinceMs > EVENTS_STALL_MS) {
      return false;
    }
    await pause(EVENTS_LOOK_MS);
  }
}

/** Imports the rows that are not imported yet. Rows before a fault of the file are imported. */
export async function importRows(
  target: Target,
  source: AsyncIterable<readonly Row[]>,
  journal: Journal,
  report: (rows: number) => void,
): Promise<void> {
  const { state } = journal;
  let savedAt = performance.now();
  let isPaced = true;
  report(state.rows);
  const store = async (batch: Batch) => {
    await journal.begin();
    return { batch, outcomes: await storeBatch(target, state.id, batch) };
  };
  try {
    for await (const { batch, outcomes } of mapAhead(batchesOf(source, { ...state }), BATCHES_AHEAD, store)) {
      const rejected = rejectedOf(batch.rows, outcomes);
      const skipped = skippedOf(outcomes);
      journal.reject(rejected);
      state.refused += rejected.length;
      state.skipped = (state.skipped ?? 0) + skipped;
      state.items += outcomes.length - rejected.length - skipped;
      state.replaced += outcomes.filter(
        (outcome) => outcome && 'replaced' in outcome && outcome.replaced,
      ).length;
      Object.assign(state, batch.after);
      report(state.rows);
      if (performance.now() - savedAt >= SAVE_EVERY_MS) {
        await journal.save();
        await target.events.round();
        if (isPaced) {
          isPaced = await pace(target);
        }
        savedAt = performance.now();
      }
    }
    await journal.begin();
    state.ended_at = new Date().toISOString();
  } finally {
    await journal.save();
  }
}

/** Checks all rows as an import does, and stores nothing. Returns the rows that it would reject, except for tokens that are taken. */
export async function checkRows(
  { batches, ctx, input }: Target,
  source: AsyncIterable<readonly Row[]>,
  report: (rows: number) => void,
): Promise<{ readonly rows: number; readonly skipped: number; readonly rejected: readonly RejectedRow[] }> {
  const rejected: RejectedRow[] = [];
  let [rows, skipped] = [0, 0];
  const check = async (batch: Batch) => ({
    batch,
    outcomes: await outcomesOf(batch.rows, (items) => batches.checkMany(ctx, input, items)),
  });
  const nothing = { rows: 0, layout: '' };
  for await (const { batch, outcomes } of mapAhead(batchesOf(source, nothing), BATCHES_AHEAD, check)) {
    rejected.push(...rejectedOf(batch.rows, outcomes));
    skipped += skippedOf(outcomes);
    rows = batch.after.rows;
    report(rows);
  }
  return { rows, skipped, rejected };
}
