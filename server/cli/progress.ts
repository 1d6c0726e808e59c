import type { Progress } from './commands/command.ts';

const BAR_WIDTH = 24;
const BAR_EVERY_MS = 100;
const LINE_EVERY_MS = 5_000;

/** Where progress is shown. */
export interface ProgressScreen {
  readonly err: (text: string) => void;
  /** Whether a line can be drawn over. */
  readonly isTerminal: boolean;
  readonly now: () => number;
}

const grouped = (count: number): string => Math.floor(count).toLocaleString('en-GB');

const amount = (done: number, total: number | undefined, unit: string): string =>
  total === undefined ? `${grouped(done)} ${unit}` : `${grouped(done)} of ${grouped(total)} ${unit}`;

const shareOf = (done: number, total: number): number => (total <= 0 ? 1 : Math.min(1, done / total));

const bar = (done: number, total: number): string => {
  const share = shareOf(done, total);
  const filled = Math.round(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${`${Math.floor(share * 100)}`.padStart(3)} %  `;
};

/** Begins to show a work: a bar that is drawn over on a terminal, elsewhere a plain line every five seconds. */
export const startProgress = (
  { err, isTerminal, now }: ProgressScreen,
  label: string,
  unit: string,
  expected?: number,
): Progress => {
  let total = expected;
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
};

/** Shows nothing. */
export const NO_PROGRESS: Progress = { at: () => undefined, end: () => undefined };
