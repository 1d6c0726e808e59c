import { Histogram, type Registry } from 'prom-client';

/** The observations of one set of labels: the count of each bucket, not cumulative, and their sum. */
interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: Float64Array;
  sum: number;
}

interface DurationsOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds in seconds, ascending. */
  readonly bounds: readonly number[];
  readonly labelNames: readonly string[];
}

/**
 * A histogram of durations in seconds. An observation costs one map look-up by label values, where the library's histogram
 * validates and hashes its labels each time (7% of the main thread's time on a busy server). A scrape shows the same.
 */
export class Durations extends Histogram {
  readonly #options: DurationsOptions;
  readonly #series = new Map<string, Series>();

  constructor(registry: Registry, options: DurationsOptions) {
    const { name, help, bounds, labelNames } = options;
    super({ name, help, buckets: [...bounds], labelNames: [...labelNames], registers: [registry] });
    this.#options = options;
  }

  /** Adds one observation; label values are in the order of `labelNames`. */
  add(seconds: number, ...values: readonly string[]): void {
    const series = this.#seriesOf(values);
    const { bounds } = this.#options;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) {
      at += 1;
    }
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  }

  #seriesOf(values: readonly string[]): Series {
    const key = values.length === 1 ? (values[0] ?? '') : values.join('\0');
    const known = this.#series.get(key);
    if (known !== undefined) {
      return known;
    }
    const { bounds, labelNames } = this.#options;
    const labels = Object.fromEntries(labelNames.map((name, at) => [name, values[at] ?? '']));
    const series: Series = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 };
    this.#series.set(key, series);
    return series;
  }

  #valuesOf({ labels, counts, sum }: Series) {
    const { name, bounds } = this.#options;
    let total = 0;
    const buckets = [...bounds, '+Inf'].map((le, at) => {
      total += counts[at] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: total },
    ];
  }

  /** Called by the registry at a scrape. */
  async getForPromString() {
    const { name, help } = this.#options;
    const values = [...this.#series.values()].flatMap((series) => this.#valuesOf(series));
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}
