import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isErrorCode } from '../server/core/errors.ts';
import { levelOfEvent } from '../server/telemetry/events.ts';
import { renderAll } from './helpers/metrics.ts';

const root = join(import.meta.dir, '..');
function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
const NAME = /\b(?:vault|process|nodejs)_[a-z0-9_]+(?:_seconds|_total|_bytes|_info|_fds|[a-z])\b/g;

/** Every metric that a server has, by name. */
async function metricNames(): Promise<ReadonlySet<string>> {
  return new Set([...(await renderAll()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
}

test('the guide names every metric, and no other', async () => {
  const names = await metricNames();
  expect(names.size).toBeGreaterThan(35);
  const named = [...read('docs/guides/monitoring.md').matchAll(/`((?:vault|process|nodejs)_[a-z0-9_]+)`/g)];
  expect(named.map(([, name = '']) => name).toSorted()).toEqual([...names].toSorted());
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string };
}

function rulesForAlerts(): readonly Rule[] {
  const { groups } = Bun.YAML.parse(read('deploy/prometheus-rules.yml')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

test('the rules for alerts ask for metrics that exist', async () => {
  const names = await metricNames();
  const all = rulesForAlerts();
  expect(all.length).toBeGreaterThan(8);
  for (const { alert, expr, annotations } of all) {
    const asked = [...expr.matchAll(NAME)].map(([name]) => name.replace(/_bucket$/, ''));
    expect([alert, asked.length > 0]).toEqual([alert, true]);
    expect([alert, asked.filter((name) => !names.has(name))]).toEqual([alert, []]);
    expect(annotations.summary).toEndWith('.');
  }
});

/** The values that expressions compare a label with. */
function askedValues(label: string): readonly string[] {
  const pattern = new RegExp(`\\b${label}=~?"([^"]*)"`, 'g');
  const values = rulesForAlerts().flatMap(({ expr }) =>
    [...expr.matchAll(pattern)].map(([, text = '']) => text),
  );
  return values.flatMap((text) => text.split('|'));
}

test('the rules for alerts compare codes with codes, and events with events', () => {
  const codes = askedValues('code');
  expect(codes).toContain('integrity_failed');
  expect(codes.filter((code) => !isErrorCode(code))).toEqual([]);
  const events = askedValues('event');
  expect(events).toContain('log_heads_fault');
  expect(events.filter((event) => levelOfEvent(event, {}) === 'info')).toEqual([]);
});

test('where one event is too many, a rule sees the first one, before which there is no series', () => {
  const single = rulesForAlerts().filter(({ expr }) => /increase\([^)]*\) > 0/.test(expr));
  expect(single.length).toBeGreaterThan(3);
  for (const { alert, expr } of single) {
    for (const [, series, window] of expr.matchAll(/increase\((.*?)\[(\w+)\]\) > 0/g)) {
      expect([alert, expr]).toEqual([
        alert,
        expect.stringContaining(`(${series} unless ${series} offset ${window})`),
      ]);
    }
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
