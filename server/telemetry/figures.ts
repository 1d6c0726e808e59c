import { AggregatorRegistry, type Registry } from 'prom-client';

/** The metrics of one process, as data that another process can add up. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Far more than a process has. Bounds the memory of the process that adds up. */
const VALUES_MAX = 20_000;
const TEXT_MAX = 1_000;
const TYPES: readonly unknown[] = ['counter', 'gauge', 'histogram', 'summary'];
const AGGREGATORS: readonly unknown[] = ['sum', 'first', 'omit', 'average', 'min', 'max'];

function isObject(given: unknown): given is Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

function isText(given: unknown): given is string {
  return typeof given === 'string' && given.length <= TEXT_MAX;
}

function isName(given: unknown): boolean {
  return isText(given) && /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(given);
}

function isValue(given: unknown): boolean {
  return (
    isObject(given) &&
    typeof given['value'] === 'number' &&
    (given['metricName'] === undefined || isName(given['metricName'])) &&
    isObject(given['labels']) &&
    Object.entries(given['labels']).every(
      ([name, label]) => isName(name) && (isText(label) || typeof label === 'number'),
    )
  );
}

function isFigure(given: unknown): boolean {
  return (
    isObject(given) &&
    isName(given['name']) &&
    isText(given['help']) &&
    TYPES.includes(given['type']) &&
    AGGREGATORS.includes(given['aggregator']) &&
    Array.isArray(given['values']) &&
    given['values'].length <= VALUES_MAX &&
    given['values'].every(isValue)
  );
}

/** Returns a report that can be added to the metrics of other processes; undefined for anything else. */
export function asFigures(given: unknown): Figures | undefined {
  if (!Array.isArray(given) || given.length > VALUES_MAX || !given.every(isFigure)) {
    return undefined;
  }
  // Each member was checked.
  const figures = given as Figures;
  const values = figures.reduce((sum, figure) => sum + figure.values.length, 0);
  return values <= VALUES_MAX ? figures : undefined;
}

/** Adds up the metrics of several processes: counters and histograms are summed, gauges by their aggregators. */
export function sumFigures(all: readonly Figures[]): Registry {
  return AggregatorRegistry.aggregate([...all]);
}

/** Returns the metrics that remain valid after the end of a process: counters and histograms, without gauges. */
export function lastingFigures(figures: Figures): Figures {
  return figures.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
