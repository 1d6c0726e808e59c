import { CommandError, defineCommand } from '../cli/command.ts';
import { readTextFile } from '../cli/file.ts';
import type { RandomId } from '../core/clock.ts';
import type { BinStore } from './store.ts';
import { parseBinCsv, segmentBins } from './table.ts';

interface Needs {
  readonly binStore: BinStore;
  readonly randomId: RandomId;
}

/** Replaces the BIN table, and returns the numbers of rows and of ranges. If a line is invalid, nothing is loaded. */
export async function loadBinTable({ binStore, randomId }: Needs, csvText: string) {
  const parsed = parseBinCsv(csvText);
  if (parsed.kind === 'invalid') {
    return parsed;
  }
  const segments = segmentBins(parsed.rows);
  await binStore.load(randomId(), segments);
  return { kind: 'loaded' as const, rows: parsed.rows.length, segments: segments.length };
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
      const { line, reason } = loaded.error;
      throw new CommandError(`Line ${line} of FILE is invalid; nothing was loaded: ${reason}`, 1);
    }
    const { rows, segments } = loaded;
    return { data: { rows, segments }, shown: `Loaded ${rows} rows (${segments} ranges).` };
  },
});
