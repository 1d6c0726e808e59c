import type { Progress } from './command.ts';

const BAR_WIDTH = 24;
/** The shortest time between two updates on a terminal. */
const BAR_EVERY_MS = 100;
/** The shortest time between two lines in a file. */
const LINE_EVERY_MS = 5_000;

export interface ProgressScreen {
  readonly err: (text: string) => void;
  /** True if a line can be overwritten. */
  readonly isTerminal: boolean;
  readonly now: () => number;
}

function grouped(count: number): string {
  return Math.floor(count).toLocaleString('en-GB');
}

function amount(done: number, total: number | undefined, unit: string): string {
  return total === undefined ? `${grouped(done)} ${unit}` : `${grouped(done)} of ${grouped(total)} ${unit}`;
}

function bar(done: number, total: number): string {
  const share = total <= 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${`${Math.floor(share * 100)}`.padStart(3)} %  `;
}

/** The rate per second and the remaining time; empty within the first second. */
function speed(done: number, seconds: number, left: number | undefined, unit: string): string {
  if (done <= 0 || seconds < 1) {
    return '';
  }
  const rate = done / seconds;
  const rest = left === undefined || left === 0 ? '' : `, ${duration(left / rate)} left`;
  return `  (${grouped(Math.round(rate))} ${unit} a second${rest})`;
}

/** Such as `1:05` or `2:00:05`. */
function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, i) => (i === 0 ? `${part}` : `${part}`.padStart(2, '0'))).join(':');
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
  /** The start of this run: the work of an earlier run, and finding its end, does not count. */
  let began: { readonly done: number; readonly at: number } | undefined;

  const draw = (): void => {
    const since = began ?? { done: latest, at: now() };
    const left = total === undefined ? undefined : Math.max(0, total - latest);
    const rate = speed(latest - since.done, (now() - since.at) / 1_000, left, unit);
    const text = `${label}  ${total === undefined ? '' : bar(latest, total)}${amount(latest, total, unit)}${rate}`;
    err(isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
    isDrawn = true;
  };

  return {
    at(done, of) {
      if (began === undefined || done === began.done) {
        began = { done, at: now() };
      }
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

export const NO_PROGRESS: Progress = { at: () => undefined, end: () => undefined };
