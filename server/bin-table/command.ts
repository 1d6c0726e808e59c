import { CommandError, defineCommand } from '../cli/command.ts';
import { readTextFile } from '../cli/file.ts';
import type { RandomId } from '../core/clock.ts';
import type { BinStore } from './store.ts';
import { type BinCsvError, parseBinCsv, segmentBins } from './table.ts';

/** The result of loading a BIN table: the numbers of rows and of ranges, or the first invalid line. */
export type BinLoad =
  | { readonly kind: 'loaded'; readonly rows: number; readonly segments: number }
  | { readonly kind: 'invalid'; readonly error: BinCsvError };

/** The needs of the command. */
interface Needs {
  readonly binStore: BinStore;
  readonly randomId: RandomId;
}

/** Replaces the BIN table. If a line is invalid, nothing is loaded. */
export async function loadBinTable({ binStore, randomId }: Needs, csvText: string): Promise<BinLoad> {
  const parsed = parseBinCsv(csvText);
  if (parsed.kind === 'invalid') {
    return parsed;
  }
  const segments = segmentBins(parsed.rows);
  const texts = segments.map(({ low, high, issuers }) => ({ low, high, issuers: JSON.stringify(issuers) }));
  await binStore.load(randomId(), texts);
  return { kind: 'loaded', rows: parsed.rows.length, segments: segments.length };
}

/** `vault bin load FILE`. Requests use the old table until the new one is complete. */
export const binCommand = defineCommand({
  words: ['bin', 'load'],
  argument: 'FILE',
  options: {},
  summary:
    'Replaces the BIN table by a CSV file with the header bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level.',
  audit: { action: 'bins.load' },
  opens: 'vault',
  async run({ argument }, needs: Needs) {
    const loaded = await loadBinTable(needs, await readTextFile(argument));
    if (loaded.kind === 'invalid') {
      throw new CommandError(
        `Line ${loaded.error.line} of FILE is invalid; nothing was loaded: ${loaded.error.reason}`,
        1,
      );
    }
    const { rows, segments } = loaded;
    return { data: { rows, segments }, shown: `Loaded ${rows} rows (${segments} ranges).` };
  },
});
