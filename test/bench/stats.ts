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

/** What a value should come to. */
export interface Aim {
  readonly least?: number;
  readonly most?: number;
}

/** One measured value. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly aim?: Aim;
}

/** Whether a value reaches its aim; undefined without an aim. A value that is no number does not. */
export function isReached(value: number, aim: Aim | undefined): boolean | undefined {
  return aim && value >= (aim.least ?? -Infinity) && value <= (aim.most ?? Infinity);
}
