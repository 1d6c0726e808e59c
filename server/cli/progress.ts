import type { Progress } from './commands/command.ts';

const BAR_WIDTH = 24;
/** The shortest time between two updates on a terminal. */
const BAR_EVERY_MS = 100;
/** The shortest time between two lines in a file. */
const LINE_EVERY_MS = 5_000;

/** The terminal or file that progress is written to. */
export interface ProgressScreen {
  readonly err: (text: string) => void;
  /** Whether a line can be overwritten. */
  readonly isTerminal: boolean;
  readonly now: () => number;
}

/** A number with separators of thousands. */
function grouped(count: number): string {
  return Math.floor(count).toLocaleString('en-GB');
}

function amount(done: number, total: number | undefined, unit: string): string {
  return total === undefined ? `${grouped(done)} ${unit}` : `${grouped(done)} of ${grouped(total)} ${unit}`;
}

/** The finished share, 0 to 1. */
function shareOf(done: number, total: number): number {
  return total <= 0 ? 1 : Math.min(1, done / total);
}

function bar(done: number, total: number): string {
  const share = shareOf(done, total);
  const filled = Math.round(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${`${Math.floor(share * 100)}`.padStart(3)} %  `;
}

/** Starts to show progress on standard error: a bar on a terminal, otherwise a line every five seconds. */
export function startProgress(
  { err, isTerminal, now }: ProgressScreen,
  label: string,
  unit: string,
  expected?: number,
): Progress {
  let total = expected;
  // A file gets its first line only after the interval, so a short command writes none.
  let shownAt = isTerminal ? Number.NEGATIVE_INFINITY : now();
  let isDrawn = false;
  let latest = 0;

  const draw = (): void => {
    const text = `${label}  ${total === undefined ? '' : bar(latest, total)}${amount(latest, total, unit)}`;
    err(isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
    isDrawn = true;
  };

  return {
    at(done, of) {
      latest = done;
      total = of ?? total;
      if (now() - shownAt >= (isTerminal ? BAR_EVERY_MS : LINE_EVERY_MS)) {
        shownAt = now();
        draw();
      }
    },
    end() {
      if (isTerminal) {
        draw();
        err('\n');
      } else if (isDrawn) {
        draw();
      }
    },
  };
}

/** The noop progress. */
export const NO_PROGRESS: Progress = { at: () => undefined, end: () => undefined };
