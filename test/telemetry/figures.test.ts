import { expect, test } from 'bun:test';
import { Counter, Registry } from 'prom-client';
import { asFigures, type Figures, lastingFigures, sumFigures } from '../../server/telemetry/figures.ts';
import { Metrics } from '../../server/telemetry/metrics.ts';

/** In seconds; sums of it are exact. */
const SHORT = 2 ** -9;

const NONE = { used: 0, waiting: 0 };
const IDLE_WORK = { write: NONE, read: NONE, list: NONE, open: NONE, page: NONE, unlock: NONE, guess: NONE };

/** The metrics of a process with one worker thread, of which `busy` run a job. */
async function figuresOf(busy: number, isRedisConnected: boolean, requests: readonly number[]) {
  const metrics = new Metrics({ version: '1', environment: 'staging' });
  metrics.watch({
    threads: () => ({
      ...{
        queued: { hot: busy, bulk: 0, cold: 1, guess: 0 },
        coldRunning: 1,
        threadsAlive: 2,
        threadsBusy: busy,
      },
    }),
    isRedisConnected: () => isRedisConnected,
    redis: async () => ({
      ...{ memoryUsedBytes: 100 + busy, memoryMaxBytes: 0, isAofEnabled: true, isAofWriteOk: busy > 1 },
    }),
    lastBackup: async () => 1_000 * busy,
    expiring: async () => [{ kind: 'tls', within: '30d', count: 1 }],
    jobs: { queued: async () => 7, inFlight: () => busy },
    isSadRewritten: () => busy > 1,
    sink: () => ({ isOk: true, backlog: 0 }),
    events: () => ({ waiting: 0, paused: 0 }),
    work: () => ({ ...IDLE_WORK, read: { used: busy, waiting: 1 }, page: { used: 1, waiting: busy } }),
  });
  for (const seconds of requests) {
    metrics.startRequest();
    metrics.observeRequest('/v1/vault', 'GET', 200, seconds, undefined);
  }
  metrics.observeEvent('started', {});
  metrics.startRequest();
  const figures = await metrics.collect();
  metrics.close();
  return figures;
}

function valuesOf(text: string): (line: string) => number | undefined {
  const values = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
  return (line) => values.get(line);
}

async function sumOf(all: readonly Figures[]) {
  return valuesOf(await sumFigures(all).metrics());
}

test('counters and histograms are summed, gauges by their meaning', async () => {
  const read = await sumOf([await figuresOf(1, true, [SHORT, 3]), await figuresOf(2, true, [SHORT])]);
  const request = 'route="/v1/vault",method="GET",status="2xx"';
  expect(
    [
      `vault_http_request_duration_seconds_count{${request}}`,
      `vault_http_request_duration_seconds_sum{${request}}`,
      `vault_http_request_duration_seconds_bucket{le="0.0025",${request}}`,
      `vault_http_request_duration_seconds_bucket{le="+Inf",${request}}`,
      'vault_events_total{event="started"}',
      ...['vault_http_requests_in_flight', 'vault_work_in_flight{class="read"}', 'vault_work_running'],
      ...['vault_worker_threads_alive', 'vault_worker_threads_busy', 'vault_argon2_in_flight'],
      ...['vault_worker_jobs_queued{lane="hot"}', 'vault_worker_jobs_queued{lane="bulk"}'],
      'vault_proxy_jobs_in_flight',
    ].map(read),
  ).toEqual([3, 3 + 2 * SHORT, 2, 3, 2, 2, 3 + 2, 3, 4, 3, 2, 3, 3, 3]);
  // All processes see the same Redis: a sum would lie.
  expect(read('vault_proxy_jobs_queued')).toBe(7);
  expect(read('vault_redis_memory_used_bytes')).toBe(102);
  expect(read('vault_last_backup_timestamp_seconds')).toBe(2);
  expect(read('vault_redis_aof_write_ok')).toBe(0);
  expect(read('vault_redis_connected')).toBe(1);
  expect(read('vault_build_info{version="1",environment="staging"}')).toBe(1);
  expect(Math.abs((read('process_start_time_seconds') ?? 0) * 1_000 - performance.timeOrigin)).toBeLessThan(
    2_000,
  );
});

test('one process without Redis shows, and its unknown values do not count', async () => {
  const read = await sumOf([await figuresOf(1, true, []), await figuresOf(2, false, [])]);
  expect(read('vault_redis_connected')).toBe(0);
  expect(read('vault_redis_memory_used_bytes')).toBe(101);
});

test('the sum has every metric that one process has', async () => {
  const one = await figuresOf(1, true, []);
  const names = (figures: Figures): string[] => figures.map(({ name }) => name).toSorted();
  expect(names(await sumFigures([one, one]).getMetricsAsJSON())).toEqual(names(one));
});

test('an ended process keeps its counters and loses its gauges, however often it is added up', async () => {
  const ended = lastingFigures(await figuresOf(1, false, [SHORT]));
  const twice = await sumFigures([ended, ended]).getMetricsAsJSON();
  const read = await sumOf([twice, await figuresOf(2, true, [SHORT])]);
  expect(read('vault_events_total{event="started"}')).toBe(3);
  expect(read('vault_worker_threads_busy')).toBe(2);
  expect(read('vault_redis_connected')).toBe(1);
  const again = lastingFigures(twice);
  expect(again.map(({ name }) => name)).toEqual(twice.map(({ name }) => name));
});

test('a label that only one process has is kept', async () => {
  const registryOf = async (label: string): Promise<Figures> => {
    const registry = new Registry();
    const options = { name: 'vault_test_total', help: 'A test.', labelNames: ['of'], registers: [registry] };
    new Counter(options).inc({ of: label }, 2);
    return registry.getMetricsAsJSON();
  };
  const read = await sumOf([await registryOf('one'), await registryOf('two'), await registryOf('two')]);
  expect([read('vault_test_total{of="one"}'), read('vault_test_total{of="two"}')]).toEqual([2, 4]);
});

test('the figures of a process are taken as they are', async () => {
  const figures = await figuresOf(1, false, [SHORT, 3]);
  expect(asFigures(structuredClone(figures))).toEqual(figures);
  const sum = await sumFigures([figures, await figuresOf(2, true, [])]).getMetricsAsJSON();
  expect(asFigures(lastingFigures(sum))).toEqual(lastingFigures(sum));
  expect(asFigures([...figures, { ...figures[0], type: 'none' }])).toBeUndefined();
});
