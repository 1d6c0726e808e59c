import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { Durations } from '../../server/telemetry/metrics.ts';

const bounds = [0.001, 0.5, 1, 20];
const named = { name: 'vault_test_seconds', help: 'A test.' };

const seconds = fc.oneof(fc.constantFrom(0, ...bounds, 20.5), fc.double({ min: 0, max: 30, noNaN: true }));
const label = fc.constantFrom('GET', 'a "quoted" \\ one', '/v1/vault', '', '\n');

test('shows what the histogram of the library shows', async () => {
  const observations = fc.array(fc.tuple(seconds, label, label), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(observations, async (list) => {
      const [own, theirs] = [new Registry(), new Registry()];
      const ours = new Durations(own, { ...named, bounds, labelNames: ['route', 'method'] });
      const library = new Histogram({
        ...{ ...named, buckets: bounds, labelNames: ['route', 'method'], registers: [theirs] },
      });
      for (const [value, route, method] of list) {
        ours.add(value, route, method);
        library.observe({ route, method }, value);
      }
      expect((await own.metrics()).split('\n').sort()).toEqual((await theirs.metrics()).split('\n').sort());
    }),
  );
});

test('without labels it has its series once there is something to show', async () => {
  const registry = new Registry();
  const durations = new Durations(registry, { ...named, bounds: [1], labelNames: [] });
  durations.add(0.5);
  durations.add(2);
  expect((await registry.metrics()).trimEnd().split('\n').slice(2)).toEqual([
    'vault_test_seconds_bucket{le="1"} 1',
    'vault_test_seconds_bucket{le="+Inf"} 2',
    'vault_test_seconds_sum 2.5',
    'vault_test_seconds_count 2',
  ]);
});
