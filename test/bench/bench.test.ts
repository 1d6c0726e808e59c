import { describe, expect, test } from 'bun:test';
import { Worker } from 'node:worker_threads';
import { addSplits, withCpu } from './cpu.ts';
import { parseOptions, SECTIONS } from './options.ts';
import type { OperationRow } from './phases.ts';
import { LINE, type Plan, requestsOf, requestText, SEQUENCE } from './plan.ts';
import { createReplyEnd } from './reply-end.ts';
import {
  formatNumber,
  ratioOf,
  renderMarkdown,
  renderTable,
  tableOfFigures,
  tableOfOperations,
  tableOfPrices,
  tableOfRatios,
} from './report.ts';
import { type Aim, isReached, median, percentile } from './stats.ts';

describe('samples', () => {
  test('percentiles are samples, by nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect([0, 0.01, 0.5, 0.99, 1].map((part) => percentile(hundred, part))).toEqual([1, 1, 50, 99, 100]);
    expect(percentile([7], 0.99)).toBe(7);
    expect(percentile([], 0.5)).toBeNaN();
  });

  test('the median of an even number of samples lies between two of them', () => {
    expect(median([30, 10, 20])).toBe(20);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });
});

test.each<[string, Aim | undefined, boolean | undefined]>([
  ['no aim', undefined, undefined],
  ['just enough', { least: 10 }, true],
  ['too small', { least: 10.1 }, false],
  ['just small enough', { most: 10 }, true],
  ['too large', { most: 9 }, false],
])('a value with %s', (_, aim, reached) => {
  expect(isReached(10, aim)).toBe(reached as boolean);
  expect(isReached(Number.NaN, aim)).toBe((aim === undefined ? undefined : false) as boolean);
});

describe('the table', () => {
  test('numbers keep the digits that mean something', () => {
    expect([12345.6, 123.45, 12.345, 0.12345, 0.00012345, 0, -2000].map(formatNumber)).toEqual([
      '12,346',
      '123.5',
      '12.35',
      '0.123',
      '0.00012',
      '0',
      '-2,000',
    ]);
  });

  test('columns line up', () => {
    const rows = [
      ['a', '1'],
      ['long', '10'],
    ];
    expect(renderTable({ head: ['x', 'yy'], rows })).toBe('x     yy\n----  --\na      1\nlong  10');
    expect(renderMarkdown({ head: ['x', 'yy'], rows })).toBe(
      '| x | yy |\n| --- | ---: |\n| a | 1 |\n| long | 10 |',
    );
  });

  test('figures show aim and whether it was reached', () => {
    const { rows } = tableOfFigures([
      { name: 'memory', value: 1400, unit: 'bytes', aim: { most: 2000 } },
      { name: 'first byte', value: 20, unit: 'ms' },
    ]);
    expect(rows).toEqual([
      ['memory', '1,400', 'bytes', '<= 2,000', 'yes'],
      ['first byte', '20.00', 'ms', '', ''],
    ]);
  });
});

describe('requests', () => {
  const split = { main: 0.5, workers: 0.25, runtime: 0, redis: 0.25, load: 0.5 };
  const row = (name: string, rates: number[], more: Partial<OperationRow> = {}): OperationRow => ({
    ...{ name, rates, connections: 32, seconds: 1, requests: 10_000 },
    ...more,
  });

  test('CPU time is shown a request, and as cores over the time', () => {
    const rows = [row('x', [1, 3, 2], { split, p50Ms: 3, p99Ms: 9, p999Ms: 10 }), row('y', [5])];
    expect(tableOfOperations(rows).rows.map((cells) => cells.join('|'))).toEqual([
      'x|32|2.00|3.00|9.00|10.00|50.00|25.00|0|25.00|50.00|1.50',
      'y|32|5.00|||||||||',
    ]);
    expect(addSplits([split, split])).toEqual({ main: 1, workers: 0.5, runtime: 0, redis: 0.5, load: 1 });
  });

  test('a ratio is that of the middle round, not that of the middle rates', () => {
    expect(ratioOf([10, 40, 30], [100, 100, 150])).toBe(0.2);
    expect(ratioOf([1, 2], [1])).toBeNaN();
  });

  test('ratios are those of 32 connections, with their aims', () => {
    const rows = [
      row('store: no-op', [100], { split: { ...split, main: 0.1 } }),
      row('store: Cardvault', [25], { split }),
      row('store: Cardvault', [90], { connections: 1 }),
      row('store: pgcrypto', [5]),
      row('decrypt: Cardvault', [7]),
    ];
    expect(tableOfRatios(rows).rows).toEqual([
      ['store: no-op', '100.0', '25.00', '0.250', '>= 0.200', 'yes', '60.00', '100.0', '0.600'],
      ['store: pgcrypto', '5.00', '25.00', '5.00', '', '', '', '100.0', ''],
    ]);
  });

  test('a promise costs what its row has more than the one before', () => {
    const used = (main: number) => ({ ...split, main });
    const rows = [
      row('store: Cardvault', [1_000], { split: used(2), p50Ms: 2.5 }),
      row('store: no-op', [9_000], { split: used(0.5), p50Ms: 1 }),
    ];
    expect(tableOfPrices(rows).rows).toEqual([
      ['store: HTTP', '9,000', '100.0', '', '1.00', ''],
      ['store: sign-in, encryption, counts', '1,000', '250.0', '+150.0', '2.50', '+1.50'],
    ]);
  });
});

test('options: all sections by default, and only known ones', () => {
  expect([...parseOptions([]).sections]).toEqual([...SECTIONS]);
  const quick = parseOptions(['--quick', '--only', 'store,decrypt']);
  expect(quick).toMatchObject({ seconds: 1, rounds: 1 });
  expect([...quick.sections]).toEqual(['store', 'decrypt']);
  for (const args of ['--slow', '--only everything', '--only', '--only pgcrypto', '--cards 9', '--cards']) {
    expect(() => parseOptions(args.split(' '))).toThrow();
  }
});

test('the CPU time of a process is that of its own threads, by kind', async () => {
  const worker = new Worker('while (true) {}', { eval: true });
  await new Promise((resolve) => worker.once('online', resolve));
  const { split } = await withCpu({ serverPid: process.pid }, async () => {
    const end = process.cpuUsage().user + 300_000;
    let sum = 0;
    while (process.cpuUsage().user < end) {
      sum += 1;
    }
    expect(sum).toBeGreaterThan(0);
  });
  await worker.terminate();
  expect(split.main).toBeGreaterThan(0);
  expect(split.workers).toBeGreaterThan(0);
  expect(split).toMatchObject({ redis: 0, load: 0 });
});

describe('plans', () => {
  const plan: Plan = {
    method: 'POST',
    target: `/v1/vault/?reference=${SEQUENCE}&${LINE}`,
    headers: { Authorization: 'Basic x' },
    body: `{"n":"4${SEQUENCE}"}`,
  };

  test('there is a request for each line, of the length that the plan states', () => {
    const [first = '', second] = requestsOf({ ...plan, lines: ['token=t', 'token=u'] });
    expect(first).toStartWith(
      `POST /v1/vault/?reference=${SEQUENCE}&token=t HTTP/1.1\r\nHost: localhost\r\n`,
    );
    expect(first).toContain('\r\nAuthorization: Basic x\r\n');
    expect(first).toEndWith(`Content-Length: 19\r\n\r\n{"n":"4${SEQUENCE}"}`);
    expect(second).toBe(first.replace('token=t', 'token=u'));
  });

  test('a body of changing length is refused', () => {
    expect(() => requestText({ ...plan, body: LINE, lines: ['[1]', '[12]'] })).toThrow(RangeError);
    expect(requestText({ ...plan, body: LINE, lines: ['[12]', '[34]'] })).toContain('Content-Length: 4\r\n');
  });
});

describe('the end of a reply', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  test.each([
    ['of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'],
    ['without a body', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n0ab\r\n2\r\nab\r\n0\r\n\r\n'],
    ['of no chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ])('%s is found wherever it is cut, and not before', (_, text) => {
    for (let cut = 1; cut < text.length; cut++) {
      const read = createReplyEnd();
      expect([read(bytes(text.slice(0, cut))), read(bytes(text.slice(cut)))]).toEqual([undefined, 200]);
    }
    const read = createReplyEnd();
    expect([read(bytes(text)), read(bytes(text.replace('200', '503')))]).toEqual([200, 503]);
  });
});
