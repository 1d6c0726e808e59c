/** Numbers out of samples. */

/** The value below which the share `part` (0 to 1) of the samples lies, by nearest rank; NaN without samples. */
export function percentile(samples: Iterable<number>, part: number): number {
  const sorted = Float64Array.from(samples).sort();
  const rank = Math.ceil(part * sorted.length);
  return sorted[Math.min(sorted.length, Math.max(1, rank)) - 1] ?? Number.NaN;
}

/** The middle sample, or the mean of the two in the middle; NaN without samples. */
export function median(samples: Iterable<number>): number {
  const sorted = Float64Array.from(samples).sort();
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** What a figure should come to: a ratio to the no-op server or the figure itself. */
export interface Aim {
  readonly of: 'ratio' | 'value';
  readonly least?: number;
  readonly most?: number;
}

/** One line of the result. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The value as a share of what the no-op server does, and which of its requests that is. */
  readonly ratio?: { readonly to: string; readonly value: number };
  readonly aim?: Aim;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** Whether a figure reaches its aim; undefined for one without an aim. A figure that is no number does not. */
export function isReached({ value, ratio, aim }: Figure): boolean | undefined {
  if (aim === undefined) {
    return undefined;
  }
  const measured = aim.of === 'ratio' ? (ratio?.value ?? Number.NaN) : value;
  return measured >= (aim.least ?? -Infinity) && measured <= (aim.most ?? Infinity);
}
