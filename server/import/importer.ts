import { createHash } from 'node:crypto';
import { CommandError } from '../cli/command.ts';
import { mapAhead, pause } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { AccountContext } from '../request/context.ts';
import type { BatchError } from '../vault/batch/schema.ts';
import type { StoreBatches } from '../vault/batch/store-batch.ts';
import type { StoreManyInput } from '../vault/batch/write-batch.ts';
import type { Refusal, RefusedRow, Row } from './rows.ts';
import type { Journal, State } from './state.ts';

const BATCH_ROWS = 1_000;
const BATCH_BYTES = 4_194_304;
/** Rows between garbage collections, about a second of work. Left to the runtime, garbage takes twice the memory. */
const COLLECT_ROWS = 16_384;
/** Batches that are stored at once. */
const BATCHES_AHEAD = 3;
/** The longest time whose rows are imported again after an interruption. */
const SAVE_EVERY_MS = 1_000;
/** Retries of a batch, and the pause before each. */
const PATIENCE = 60;
const PAUSE_MS = 1_000;

/** The target of an import. */
export interface Target {
  readonly batches: StoreBatches;
  readonly ctx: AccountContext;
  readonly input: Omit<StoreManyInput, 'items' | 'seed'>;
}

/** Rows that are stored at once, and the progress after them. */
interface Batch {
  readonly rows: readonly Row[];
  readonly first: number;
  readonly after: Pick<State, 'rows' | 'layout'>;
}

/** The outcome of a row. */
type Outcome = { readonly replaced: boolean } | { readonly refusal: Refusal };

function isText(item: Row['item']): item is Uint8Array {
  return item instanceof Uint8Array;
}

/** Yields the batches after the imported rows; the same ones each time. Throws if the rows before are others. */
async function* batchesOf(
  source: AsyncIterable<readonly Row[]>,
  done: Pick<State, 'rows' | 'layout'>,
): AsyncGenerator<Batch> {
  const layout = new Bun.CryptoHasher('sha256');
  let lengths = '';
  const hash = (): Bun.CryptoHasher => {
    layout.update(lengths);
    lengths = '';
    return layout;
  };
  const digest = (): string => hash().copy().digest('hex');
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
        const length = isText(row.item) ? row.item.length : 0;
        lengths += `${row.line} ${length}\n`;
        count++;
        if (count % COLLECT_ROWS === 0) {
          hash();
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
function refusalOf({ code, error, field }: BatchError): Refusal {
  const own = field?.replace(PLACE, '');
  const text = error.replace(PLACE, '').replace(/^`` /, 'The line ');
  return { code, error: text, ...(own ? { field: own } : {}) };
}

/** Returns the outcome of each row, from those of its items. */
async function outcomesOf(
  rows: readonly Row[],
  act: (items: readonly Uint8Array[]) => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> {
  const items = rows.flatMap(({ item }) => (isText(item) ? [item] : []));
  const outcomes = items.length === 0 ? [] : await act(items);
  let next = 0;
  return rows.map(({ item }) => (isText(item) ? (outcomes[next++] as Outcome) : { refusal: item }));
}

/** Retries for a minute while the store is unavailable, such as while its disk is busy. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let left = PATIENCE; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0 || !(error instanceof VaultError) || error.status !== 503) {
        throw error;
      }
      await pause(PAUSE_MS);
    }
  }
}

/** Stores a batch. The same rows have the same seed each time, so none is stored twice. */
function storeBatch({ batches, ctx, input }: Target, id: string, { rows, first }: Batch) {
  const seed = createHash('sha256').update(`import ${id} ${first}`).digest('base64url').slice(0, id.length);
  return outcomesOf(rows, async (items) => {
    const results = await patiently(() => batches.storeMany(ctx, { ...input, items, seed }));
    return results.map((result) =>
      'code' in result ? { refusal: refusalOf(result) } : { replaced: !result.created },
    );
  });
}

function checkBatch({ batches, ctx, input }: Target, { rows }: Batch) {
  return outcomesOf(rows, async (items) => {
    const faults = await batches.checkMany(ctx, { ...input, items });
    return faults.map((fault) => (fault ? { refusal: refusalOf(fault) } : { replaced: false }));
  });
}

function refusedOf(rows: readonly Row[], outcomes: readonly Outcome[]): RefusedRow[] {
  return outcomes.flatMap((outcome, i) =>
    'refusal' in outcome ? [{ line: rows[i]?.line ?? 0, refusal: outcome.refusal }] : [],
  );
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
  report(state.rows);
  const store = async (batch: Batch) => {
    await journal.begin();
    return { batch, outcomes: await storeBatch(target, state.id, batch) };
  };
  try {
    for await (const { batch, outcomes } of mapAhead(batchesOf(source, { ...state }), BATCHES_AHEAD, store)) {
      const refused = refusedOf(batch.rows, outcomes);
      journal.refuse(refused);
      state.refused += refused.length;
      state.items += outcomes.length - refused.length;
      state.replaced += outcomes.filter((outcome) => 'replaced' in outcome && outcome.replaced).length;
      Object.assign(state, batch.after);
      report(state.rows);
      if (performance.now() - savedAt >= SAVE_EVERY_MS) {
        await journal.save();
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
  target: Target,
  source: AsyncIterable<readonly Row[]>,
  report: (rows: number) => void,
): Promise<{ readonly rows: number; readonly refused: readonly RefusedRow[] }> {
  const refused: RefusedRow[] = [];
  let rows = 0;
  const check = async (batch: Batch) => ({ batch, outcomes: await checkBatch(target, batch) });
  const nothing = { rows: 0, layout: '' };
  for await (const { batch, outcomes } of mapAhead(batchesOf(source, nothing), BATCHES_AHEAD, check)) {
    refused.push(...refusedOf(batch.rows, outcomes));
    rows = batch.after.rows;
    report(rows);
  }
  return { rows, refused };
}
