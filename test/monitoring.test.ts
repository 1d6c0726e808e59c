import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMetrics } from '../server/telemetry/metrics.ts';

const root = join(import.meta.dir, '..');
function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
const NAME = /\b(?:vault|process|nodejs)_[a-z0-9_]+(?:_seconds|_total|_bytes|_info|_fds|[a-z])\b/g;

/** Every metric that a server has, by name. */
async function metricNames(): Promise<ReadonlySet<string>> {
  const metrics = createMetrics();
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
    jobs: { queued: async () => 0, inFlight: () => 0 },
    isSadRewritten: () => true,
    sink: () => ({ isOk: true, backlog: 0 }),
    work: () => ({ running: 0, inFlight: {} }),
  });
  const text = await metrics.render();
  metrics.close();
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
}

test('the guide names every metric, and no other', async () => {
  const names = await metricNames();
  expect(names.size).toBeGreaterThan(35);
  const named = [...read('docs/guides/monitoring.md').matchAll(/`((?:vault|process|nodejs)_[a-z0-9_]+)`/g)];
  expect(named.map(([, name = '']) => name).toSorted()).toEqual([...names].toSorted());
});

test('the rules for alerts ask for metrics that exist', async () => {
  const names = await metricNames();
  const rules = Bun.YAML.parse(read('deploy/prometheus-rules.yml')) as {
    groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
  };
  const all = rules.groups.flatMap((group) => group.rules);
  expect(all.length).toBeGreaterThan(8);
  for (const { alert, expr, annotations } of all) {
    const asked = [...expr.matchAll(NAME)].map(([name]) => name.replace(/_bucket$/, ''));
    expect([alert, asked.length > 0]).toEqual([alert, true]);
    expect([alert, asked.filter((name) => !names.has(name))]).toEqual([alert, []]);
    expect(annotations.summary).toEndWith('.');
  }
});

test('the dashboard asks for metrics that exist', async () => {
  const names = await metricNames();
  const { panels } = JSON.parse(read('deploy/grafana/cardvault.json')) as {
    panels: { id: number; title: string; targets: { expr: string }[] }[];
  };
  expect(panels.length).toBeGreaterThan(8);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const asked = [...expr.matchAll(NAME)].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ''));
      expect([title, asked.length > 0]).toEqual([title, true]);
      expect([title, asked.filter((name) => !names.has(name))]).toEqual([title, []]);
    }
  }
});
