import { Metrics } from '../../server/telemetry/metrics.ts';
import type { Handle } from './clients.ts';

/** One series of the Prometheus text format. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The metrics of a server as Prometheus reads them. */
export interface Scrape {
  readonly text: string;
  readonly series: readonly Series[];
  /** The value of a series by name and labels, which may be some of its labels; 0 when there is none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

function seriesOf(line: string): Series {
  const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
  if (name === '') {
    throw new Error(`not a line of the format: ${line}`);
  }
  const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text] as const);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}

/** Reads `/metrics` whole, and refuses a line that is not of the format. */
export async function scrape(handle: Handle): Promise<Scrape> {
  const response = await handle(new Request('http://localhost/metrics'));
  const text = await response.text();
  const series = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(seriesOf);
  return {
    text,
    series,
    value: (name, labels = {}) =>
      series.find(
        (one) =>
          one.name === name && Object.entries(labels).every(([label, text]) => one.labels[label] === text),
      )?.value ?? 0,
  };
}

/** The `/metrics` of a server with every feature, before its first request. */
export async function renderAll(): Promise<string> {
  const metrics = new Metrics();
  const idle = { used: 0, waiting: 0 };
  metrics.watch({
    threads: () => ({
      ...{ queued: { hot: 0, bulk: 0, cold: 0, guess: 0 }, coldRunning: 0, threadsAlive: 1, threadsBusy: 0 },
    }),
    isRedisConnected: () => true,
    redis: async () => ({
      memoryUsedBytes: 1,
      memoryMaxBytes: 0,
      isAofEnabled: true,
      isAofWriteOk: true,
    }),
    lastBackup: async () => 0,
    expiring: async () => [{ kind: 'tls', within: '30d', count: 1 }],
    jobs: { queued: async () => 0, inFlight: () => 0 },
    isSadRewritten: () => true,
    sink: () => ({ isOk: true, backlog: 0 }),
    events: () => ({ waiting: 0, paused: 0 }),
    work: () => ({ write: idle, read: idle, list: idle, open: idle, page: idle, unlock: idle, guess: idle }),
  });
  const text = await metrics.render();
  metrics.close();
  return text;
}
