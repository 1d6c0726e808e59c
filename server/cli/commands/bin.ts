import type { System } from '../../boot/assemble.ts';
import { type BinCsvError, parseBinCsv, segmentBins } from '../../domain/card/bin-table.ts';
import { CommandError, defineCommand } from './command.ts';
import { readTextFile } from './file.ts';

/** Puts a BIN table in the place of the old one, or names the first line that is wrong and loads nothing. */
export async function loadBinTable(
  { stores, randomId }: Pick<System, 'stores' | 'randomId'>,
  csvText: string,
): Promise<{ readonly rows: number; readonly segments: number } | { readonly error: BinCsvError }> {
  const parsed = parseBinCsv(csvText);
  if ('error' in parsed) {
    return parsed;
  }
  const segments = segmentBins(parsed.rows);
  const texts = segments.map(({ low, high, issuers }) => ({ low, high, issuers: JSON.stringify(issuers) }));
  await stores.binStore.load(randomId(), texts);
  return { rows: parsed.rows.length, segments: segments.length };
}

const loadBins = defineCommand({
  words: ['bin', 'load'],
  argument: 'FILE',
  options: {},
  summary:
    'Replaces the BIN table by a CSV file with the header bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level.',
  audit: { action: 'bins.load' },
  opens: 'vault',
  async run({ argument }, { vault }) {
    const loaded = await loadBinTable(vault, await readTextFile(argument));
    if ('error' in loaded) {
      throw new CommandError(
        `Line ${loaded.error.line} of FILE was refused, and nothing was loaded: ${loaded.error.reason}`,
        1,
      );
    }
    return { data: loaded, shown: `Loaded ${loaded.rows} rows (${loaded.segments} ranges).` };
  },
});

/** Everything about the BIN table. */
export const binCommands = [loadBins];
