/** What can be measured by itself. */
export const SECTIONS = [
  'redis',
  'crypto',
  'memory',
  'decrypt',
  'list',
  'decrypt_all',
  'store',
  'capture',
  'cold',
  'proxy',
  'latency',
  'growth',
  'pgcrypto',
] as const;

export type Section = (typeof SECTIONS)[number];

export interface BenchOptions {
  /** A look at whether it runs, whose figures mean little. */
  readonly isQuick: boolean;
  /** Seconds of one round of a phase. */
  readonly seconds: number;
  /** Seconds before the first round, in which the runtime compiles what it will run. */
  readonly warmUpSeconds: number;
  /** Rounds of each phase; phases that are compared take turns, so that a disturbance meets all of them. */
  readonly rounds: number;
  /** Cold unlocks, runs of `decrypt_all`, and every so many proxied calls. */
  readonly repeats: number;
  /** The most cards that are stored to see what their number changes. */
  readonly cards: number;
  readonly sections: ReadonlySet<Section>;
}

const CARDS_MOST = 100_000;
const CARDS_QUICK = 1_000;

function sectionOf(text: string): Section {
  const found = SECTIONS.find((section) => section === text);
  if (found === undefined) {
    throw new Error(`--only takes a list of: ${SECTIONS.join(', ')}`);
  }
  return found;
}

/** Reads `--quick`, `--only a,b` and `--cards N`; any other argument is refused, with a sentence for a person. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const rest = [...args];
  let isQuick = false;
  let cards = CARDS_MOST;
  let sections: ReadonlySet<Section> = new Set(SECTIONS);
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--quick') {
      isQuick = true;
    } else if (arg === '--cards') {
      cards = Number(rest.shift());
      if (!Number.isSafeInteger(cards) || cards < CARDS_QUICK) {
        throw new Error(`--cards takes a number from ${CARDS_QUICK}`);
      }
    } else if (arg === '--only') {
      sections = new Set((rest.shift() ?? '').split(',').map(sectionOf));
    } else {
      throw new Error(`unknown argument ${arg}: there are --quick, --only and --cards`);
    }
  }
  return isQuick
    ? { isQuick, seconds: 1, warmUpSeconds: 1, rounds: 1, repeats: 3, cards: CARDS_QUICK, sections }
    : { isQuick, seconds: 3, warmUpSeconds: 4, rounds: 3, repeats: 10, cards, sections };
}
