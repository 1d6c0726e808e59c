import { describe, expect, test } from 'bun:test';
import { parseRate } from './bare-redis.ts';
import { addSplits, parseStat } from './cpu.ts';
import { createReplyReader } from './http-reply.ts';
import { parseOptions, SECTIONS } from './options.ts';
import { createRequests, LINE, type Plan, requestText, SEQUENCE } from './plan.ts';
import {
  formatNumber,
  renderMarkdown,
  renderTable,
  tableOfCeilings,
  tableOfCpu,
  tableOfFigures,
  tableOfStages,
} from './report.ts';
import { type Figure, isReached, median, percentile } from './stats.ts';

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

describe('aims', () => {
  const figure = { name: 'f', value: 10, unit: 'ms', ratio: { to: 'no-op', value: 0.3 } };

  test.each<[string, Figure['aim'], boolean | undefined]>([
    ['no aim', undefined, undefined],
    ['a ratio just enough', { of: 'ratio', least: 0.3 }, true],
    ['a ratio too small', { of: 'ratio', least: 0.31 }, false],
    ['a value just small enough', { of: 'value', most: 10 }, true],
    ['a value too large', { of: 'value', most: 9 }, false],
  ])('%s', (_, aim, reached) => {
    expect(isReached({ ...figure, ...(aim ? { aim } : {}) })).toBe(reached as boolean);
  });

  test('a figure that was not measured reaches nothing', () => {
    expect(isReached({ name: 'f', value: 1, unit: 'x', aim: { of: 'ratio', least: 0 } })).toBeFalse();
    expect(isReached({ ...figure, value: Number.NaN, aim: { of: 'value', most: 1 } })).toBeFalse();
  });
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

  test('figures show ratio, aim and whether it was reached', () => {
    const [store, memory] = tableOfFigures([
      {
        name: 'warm store',
        value: 5000,
        unit: 'requests/s',
        ratio: { to: 'no-op POST', value: 0.2 },
        aim: { of: 'ratio', least: 0.25 },
        p50Ms: 3,
        p99Ms: 9,
      },
      { name: 'memory', value: 1400, unit: 'bytes', aim: { of: 'value', most: 2000 } },
    ]).rows;
    expect(store?.join('|')).toBe('warm store|5,000|requests/s|3.00|9.00|0.200|no-op POST|>= 0.250|NO');
    expect(memory?.join('|')).toBe('memory|1,400|bytes|||||<= 2,000 bytes|yes');
  });

  test('CPU time is shown a request, and as cores over the time', () => {
    const split = { main: 0.5, workers: 0.25, others: 0, redis: 0.25, load: 0.5 };
    const [row] = tableOfCpu([{ name: 'x', seconds: 1, requests: 10_000, split }]).rows;
    expect(row).toEqual(['x', '50.00', '25.00', '0', '25.00', '50.00', '1.50']);
    expect(addSplits([split, split])).toEqual({ main: 1, workers: 0.5, others: 0, redis: 0.5, load: 1 });
  });
});

test('the first thread is told apart by stage, as requests with fewer stages use it', () => {
  const row = (name: string, main: number) => ({
    name,
    seconds: 1,
    requests: 1_000_000,
    split: { main, workers: 40, others: 5, redis: 50, load: 9 },
  });
  const rows = [row('GET /health/live', 20), row('GET /v1/whoami', 50), row('warm store', 110)];
  expect(tableOfStages([...rows, row('capture', 90)]).rows).toEqual([
    ['warm store', '20.00', '30.00', '60.00', '40.00', '5.00', '50.00', '205.0'],
    ['capture', '20.00', '', '70.00', '40.00', '5.00', '50.00', '185.0'],
  ]);
  expect(tableOfStages(rows.slice(1)).rows).toEqual([]);
});

test('a ceiling is what the cores could do with the time that was used', () => {
  const split = { main: 100, workers: 40, others: 5, redis: 60, load: 45 };
  const cpu = ['store', 'bulk, a card', 'without aim'].map((name) => ({
    name,
    seconds: 1,
    requests: 1_000_000,
    split,
  }));
  const figures: Figure[] = [
    { name: 'no-op', value: 50_000, unit: 'requests/s' },
    {
      name: 'store',
      value: 4_000,
      unit: 'requests/s',
      ratio: { to: 'no-op', value: 0.08 },
      aim: { of: 'ratio', least: 0.35 },
    },
    { name: 'bulk', value: 9_000, unit: 'cards/s', aim: { of: 'value', least: 100_000 } },
    { name: 'without aim', value: 1, unit: 'requests/s' },
  ];
  expect(tableOfCeilings(cpu, figures, 2).rows).toEqual([
    ['store', '250.0', '8,000', '0.160', '100.0', '20,000', '0.400', '>= 0.350'],
    ['bulk', '250.0', '8,000', '', '100.0', '20,000', '', '>= 100,000 cards/s'],
  ]);
});

test('options: all sections by default, and only known ones', () => {
  expect([...parseOptions([]).sections]).toEqual([...SECTIONS]);
  const quick = parseOptions(['--quick', '--only', 'store,decrypt']);
  expect(quick).toMatchObject({ seconds: 1, rounds: 1 });
  expect([...quick.sections]).toEqual(['store', 'decrypt']);
  for (const wrong of [['--slow'], ['--only', 'everything'], ['--only']]) {
    expect(() => parseOptions(wrong)).toThrow();
  }
});

test('a thread name may hold spaces and parentheses', () => {
  const numbers = Array.from({ length: 50 }, (_, i) => (i === 11 ? 150 : i === 12 ? 50 : 0));
  expect(parseStat(`12 (a) b (c)) ${numbers.join(' ')}`)).toEqual({ name: 'a) b (c)', seconds: 2 });
});

test('the rate is read from the CSV of redis-benchmark', () => {
  expect(parseRate('"test","rps"\n"SET","63196.20","0.4"\n')).toBe(63_196.2);
  expect(() => parseRate('Could not connect')).toThrow();
});

describe('plans', () => {
  const plan: Plan = {
    method: 'POST',
    target: `/v1/vault/?reference=${SEQUENCE}&${LINE}`,
    headers: { Authorization: 'Basic x' },
    body: `{"n":"4${SEQUENCE}"}`,
  };

  test('every request has the length that the plan states', () => {
    const next = createRequests(requestText(plan), ['token=t'], 41);
    const [first, second] = [next(), next()];
    expect(first).toStartWith('POST /v1/vault/?reference=0000000041&token=t HTTP/1.1\r\nHost: localhost\r\n');
    expect(first).toContain('\r\nAuthorization: Basic x\r\n');
    expect(first).toEndWith('Content-Length: 19\r\n\r\n{"n":"40000000041"}');
    expect(second).toContain('{"n":"40000000042"}');
  });

  test('a body of changing length is refused', () => {
    expect(() => requestText({ ...plan, body: LINE })).toThrow(RangeError);
  });
});

describe('replies', () => {
  const feed = (text: string, step: number): (number | undefined)[] => {
    const read = createReplyReader();
    const pieces = text.match(new RegExp(`[^]{1,${step}}`, 'g')) ?? [];
    return pieces.map((piece) => read(Buffer.from(piece)));
  };

  test.each([
    ['by length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200],
    ['in chunks', 'HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n', 503],
    ['in no chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 200],
    ['without a body', 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n', 404],
  ])('%s, in one piece or byte by byte', (_, text, status) => {
    expect(feed(text, 10_000)).toEqual([status]);
    const pieces = feed(text, 1);
    expect(pieces.at(-1)).toBe(status);
    expect(pieces.slice(0, -1).every((piece) => piece === undefined)).toBeTrue();
  });

  test('one reader serves reply after reply', () => {
    const read = createReplyReader();
    const reply = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    expect([read(reply), read(reply)]).toEqual([200, 200]);
  });
});
