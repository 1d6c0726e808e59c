/**
 * A supervisor with two processes, started as a program of its own: the first serves metrics and prints what a scrape
 * gives; the second reports whatever could harm the supervisor or the other one. Arguments: what the second reports.
 */
import { Counter, Registry } from 'prom-client';
import { PROCESS_ARGUMENT } from '../../server/boot/processes/link.ts';
import { Supervision } from '../../server/boot/processes/supervision.ts';

const [argument, slot] = process.argv.slice(2);
const FLOOD = 5_000;

async function figuresOf(name: string, value: number) {
  const registry = new Registry();
  new Counter({ name, help: 'A test.', labelNames: ['of'], registers: [registry] }).inc({ of: 'a' }, value);
  return registry.getMetricsAsJSON();
}

const value = { value: 1, labels: {} };
const figure = { name: 'vault_bad_total', help: 'h', type: 'counter', aggregator: 'sum', values: [value] };
/** None can be added to the metrics of others, or none should. */
const WRONG: readonly unknown[] = [
  ...[null, 'text', {}, [null], [[]], [7], { length: 3 }],
  ...[{}, { name: 7 }, { help: 7 }, { type: 'x' }, { aggregator: 'x' }, { aggregator: 'constructor' }].map(
    (change) => [change, { ...figure, ...change }],
  ),
  ...[{ name: 'a b' }, { name: 'x 1\nvault_good_total 99' }, { values: null }, { values: { length: 1 } }].map(
    (change) => [{ ...figure, ...change }],
  ),
  ...[null, 7, { value: '1', labels: {} }, { value: 1 }, { value: 1, labels: null }].map((one) => [
    { ...figure, values: [one] },
  ]),
  [{ ...figure, values: [{ value: 1, labels: { 'a b': 'x' } }] }],
  [{ ...figure, values: [{ value: 1, labels: { a: 'x'.repeat(5_000) } }] }],
  [{ ...figure, values: [{ ...value, metricName: 'x 1\ny' }] }],
  [{ ...figure, values: Array.from({ length: 30_000 }, (_, i) => ({ value: 1, labels: { i } })) }],
  Array.from({ length: 30 }, (_, n) => ({ ...figure, name: `bad_${n}`, values: Array(1_000).fill(value) })),
];

function report(given: unknown): void {
  process.send?.(given);
}

async function serveWell(): Promise<void> {
  const figures = await figuresOf('vault_good_total', 2);
  let collected = 0;
  process.on('message', (order: { readonly kind: string; readonly text?: string }) => {
    if (order.kind === 'collect') {
      collected += 1;
      report({ kind: 'figures', figures });
    } else if (order.kind === 'scraped') {
      process.stdout.write(`${JSON.stringify({ text: order.text, collected })}\n`);
    }
  });
  report({ kind: 'ready' });
  setInterval(() => report({ kind: 'scrape' }), 200);
}

async function serveBadly(): Promise<void> {
  const good = await figuresOf('vault_other_total', 3);
  let turn = 0;
  report({ kind: 'figures', figures: good });
  process.on('message', (order: { readonly kind: string }) => {
    if (order.kind === 'collect') {
      report({ kind: 'figures', figures: WRONG[turn % WRONG.length] });
      turn += 1;
    }
  });
  report({ kind: 'ready' });
  for (const strange of [null, 7, 'text', [], {}, { kind: 'no such kind' }, { kind: 'figures' }]) {
    report(strange);
  }
  for (let i = 0; i < FLOOD; i++) {
    report({ kind: 'scrape' });
  }
}

if (argument === PROCESS_ARGUMENT) {
  process.on('disconnect', () => process.exit(0));
  await (slot === '0' ? serveWell() : serveBadly());
} else {
  const registry = new Registry();
  const supervision = new Supervision(
    {},
    undefined,
    () => registry.getMetricsAsJSON(),
    (event) => void process.stdout.write(`${JSON.stringify({ event })}\n`),
  );
  await supervision.start(2);
}
