/** Figures of the server, from its metrics in the Prometheus text format. */

/** One sample of a metric. */
interface Sample {
  readonly labels: string;
  readonly value: number;
}

/** Samples by the name of their metric. */
export type Figures = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;

/** Reads the metrics of the server that serves this page; none where they cannot be had. */
export async function readFigures(): Promise<Figures> {
  const figures = new Map<string, Sample[]>();
  const reply = await fetch('/metrics');
  for (const line of reply.ok ? (await reply.text()).split('\n') : []) {
    const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
    if (name !== '') {
      figures.set(name, [...(figures.get(name) ?? []), { labels, value: Number(value) }]);
    }
  }
  return figures;
}

/** The sum of all samples of a metric. */
export function sumOf(figures: Figures, name: string): number {
  return (figures.get(name) ?? []).reduce((sum, { value }) => sum + value, 0);
}

/** The upper bound within which a share of a histogram lies, over all of its labels, in the unit of its bounds. */
export function percentile(figures: Figures, name: string, share: number): number | undefined {
  const counts = new Map<number, number>();
  for (const { labels, value } of figures.get(`${name}_bucket`) ?? []) {
    const bound = Number(/le="([^"]*)"/.exec(labels)?.[1]?.replace('+Inf', 'Infinity'));
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  const all = counts.get(Number.POSITIVE_INFINITY) ?? 0;
  const bounds = [...counts].sort(([a], [b]) => a - b);
  return all === 0 ? undefined : bounds.find(([, count]) => count >= share * all)?.[0];
}
