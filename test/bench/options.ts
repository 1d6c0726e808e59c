/** What a run of the benchmark measures, by its arguments. */
import { parseArgs } from 'node:util';

/** What can be measured by itself. */
export const SECTIONS = [
  'store',
  'decrypt',
  'capture',
  'connections',
  'list',
  'decrypt_all',
  'batch',
  'cold',
  'proxy',
  'memory',
  'growth',
  'pgcrypto',
] as const;

export type Section = (typeof SECTIONS)[number];

/** What is measured, and for how long. */
export interface BenchOptions {
  /** A look at whether it runs, whose figures mean little. */
  readonly isQuick: boolean;
  /** Seconds of one round of a phase. */
  readonly seconds: number;
  /** Seconds before the first round, in which the runtime compiles what it will run. */
  readonly warmUpSeconds: number;
  /** Rounds of each phase. */
  readonly rounds: number;
  /** Cold unlocks, runs of `decrypt_all`, and every so many proxied calls. */
  readonly repeats: number;
  /** Cards that are stored for the sections about stored cards. */
  readonly stored: number;
  /** The most cards that are stored to see what their number changes. */
  readonly cards: number;
  readonly sections: ReadonlySet<Section>;
}

/** What `--help` prints. */
export const USAGE = `bun run bench [--quick] [--only SECTIONS] [--cards N]

  --quick           one round of one second each: shows the main ratios within two minutes, roughly
  --only SECTIONS   a list such as store,decrypt of:
                      ${SECTIONS.join(', ')}
                    "connections" adds 1, 8 and 128 connections to store, decrypt, capture and list;
                    "pgcrypto" adds PostgreSQL to store and decrypt, where it is installed
  --cards N         the most cards of the section "growth", from 1000; 100000 if left out`;

const CARDS_MOST = 100_000;
const CARDS_QUICK = 1_000;

/** Sections that add to others and measure nothing by themselves. */
const ADDING: ReadonlySet<Section> = new Set(['connections', 'pgcrypto']);

function sectionOf(text: string): Section {
  const found = SECTIONS.find((section) => section === text);
  if (found === undefined) {
    throw new Error(`--only takes a list of: ${SECTIONS.join(', ')}`);
  }
  return found;
}

/** Reads the arguments; any other is refused, with a sentence for a person. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: SECTIONS.join() },
      cards: { type: 'string' },
    },
  });
  const { quick: isQuick } = values;
  const sections = new Set(values.only.split(',').map(sectionOf));
  if (sections.isSubsetOf(ADDING)) {
    throw new Error(`${[...sections].join(' and ')} of what? Add a section such as store`);
  }
  const cards = Number(values.cards ?? (isQuick ? CARDS_QUICK : CARDS_MOST));
  if (!Number.isSafeInteger(cards) || cards < CARDS_QUICK) {
    throw new Error(`--cards takes a number from ${CARDS_QUICK}`);
  }
  return isQuick
    ? { isQuick, seconds: 1, warmUpSeconds: 1, rounds: 1, repeats: 3, stored: 2_000, cards, sections }
    : { isQuick, seconds: 7, warmUpSeconds: 10, rounds: 3, repeats: 10, stored: 10_000, cards, sections };
}
