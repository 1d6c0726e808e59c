import { AggregatorRegistry, type Registry } from 'prom-client';

/** The metrics of one process, as data that another process can add up. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * Adds up the metrics of several processes: counters and histograms are summed, and each gauge by the aggregator that
 * it was registered with. Sets of labels that only some processes have are kept.
 */
export function sumFigures(all: readonly Figures[]): Registry {
  return AggregatorRegistry.aggregate([...all]);
}

/** What stays true of a process that has ended: its counters and histograms, without its gauges. */
export function lastingFigures(figures: Figures): Figures {
  return figures.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
