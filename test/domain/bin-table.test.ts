import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type BinRow, parseBinCsv, segmentBins } from '../../server/bin-table/table.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';

const HEADER = 'bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level';

function rowsOf(...lines: string[]): BinRow[] {
  const result = parseBinCsv([HEADER, ...lines].join('\n'));
  if (result.kind === 'invalid') {
    throw new Error(`${result.error.line}: ${result.error.reason}`);
  }
  return [...result.rows];
}

function errorOf(text: string): { line: number; reason: string } {
  const result = parseBinCsv(text);
  if (result.kind === 'table') {
    throw new Error('The table was accepted.');
  }
  return result.error;
}

describe('parseBinCsv', () => {
  test('bounds of six to eight digits cover the eight-digit space, both included', () => {
    expect(rowsOf('411111,411111,V,,,,', '41111112,4111112,V,,,,', '00000000,999999,V,,,,')).toEqual([
      { low: 41111100, high: 41111199, issuer: { brand: 'V' } },
      { low: 41111112, high: 41111129, issuer: { brand: 'V' } },
      { low: 0, high: 99999999, issuer: { brand: 'V' } },
    ]);
  });

  test('quotes, doubled quotes, commas and line breaks in fields; empty cells are absent', () => {
    expect(rowsOf('"411111","411112","Visa","Bank ""A"", Ltd\r\nParis",,"DEBIT",""')[0]?.issuer).toEqual({
      brand: 'Visa',
      issuing_bank: 'Bank "A", Ltd\r\nParis',
      card_type: 'DEBIT',
    });
    expect(rowsOf('411111,411112,V,B,C,T,L')[0]?.issuer).toEqual({
      brand: 'V',
      issuing_bank: 'B',
      country_name: 'C',
      card_type: 'T',
      card_level: 'L',
    });
  });

  test('a byte order mark, CRLF, empty lines and a missing last line end are fine', () => {
    const result = parseBinCsv(`\ufeff${HEADER}\r\n\r\n411111,411111,V,,,,\r\n\r\n`);
    expect(result.kind === 'table' && result.rows.length).toBe(1);
    expect(parseBinCsv(HEADER)).toEqual({ kind: 'table', rows: [] });
    expect(rowsOf('411111,411111,V,,,,').length).toBe(1);
  });

  test.each([
    ['', 1, 'The first line must be'],
    [`${HEADER},x\n`, 1, 'The first line must be'],
    [`${HEADER}\n41111,411111,V,,,,`, 2, '6 to 8 digits'],
    [`${HEADER}\n411111,,V,,,,`, 2, '6 to 8 digits'],
    [`${HEADER}\n411112,411111,V,,,,`, 2, 'greater'],
    [`${HEADER}\n411111,411111,,,,,`, 2, 'brand is empty'],
    [`${HEADER}\n411111,411111,V,,,`, 2, 'seven fields'],
    [`${HEADER}\n411111,411111,V,,,,,`, 2, 'seven fields'],
    [`${HEADER}\n411111,411111,V,"a\n\nb",,,\nx`, 5, 'seven fields'],
    [`${HEADER}\n\n411111,411111,V,"open,,,`, 3, 'does not end'],
    [`${HEADER}\n411111,411111,V,a"b",,,`, 2, 'not quoted'],
    [`${HEADER}\n411111,411111,V,"a"b,,,`, 2, 'unexpected'],
    [`${HEADER}\n411111,411111,V,,,,\r411111,411111,V,,,,`, 2, 'unexpected'],
  ])('%j is refused on line %d', (text, line, reason) => {
    const error = errorOf(text);
    expect(error.line).toBe(line);
    expect(error.reason).toContain(reason);
  });

  test('written fields read back, whatever is in them', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é') });
    const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { maxLength: 5 }), (cells) => {
        const rows = rowsOf(
          ...cells.map(([bank, level]) => `411111,411111,V,${quoted(bank)},,,${quoted(level)}`),
        );
        expect(rows.map(({ issuer }) => [issuer.issuing_bank ?? '', issuer.card_level ?? ''])).toEqual(cells);
      }),
    );
  });
});

describe('segmentBins', () => {
  const summary = (rows: readonly BinRow[]): string[] =>
    segmentBins(rows).map(
      ({ low, high, issuers }) => `${low}-${high} ${issuers.map(({ brand }) => brand).join('')}`,
    );
  const row = (low: number, high: number, brand: string): BinRow => ({ low, high, issuer: { brand } });

  test.each<[string, BinRow[], string[]]>([
    ['nothing', [], []],
    ['a gap', [row(20, 29, 'B'), row(5, 9, 'A')], ['5-9 A', '20-29 B']],
    ['one inside the other, in file order', [row(6, 7, 'B'), row(5, 9, 'A')], ['5-5 A', '6-7 BA', '8-9 A']],
    ['an overlap', [row(5, 9, 'A'), row(8, 12, 'B')], ['5-7 A', '8-9 AB', '10-12 B']],
    ['equal neighbours', [row(5, 9, 'A'), row(10, 12, 'A')], ['5-12 A']],
    ['equal content apart', [row(5, 9, 'A'), row(11, 12, 'A')], ['5-9 A', '11-12 A']],
    ['the same row twice', [row(5, 9, 'A'), row(5, 9, 'A')], ['5-9 AA']],
  ])('%s', (_, rows, expected) => {
    expect(summary(rows)).toEqual(expected);
  });

  test('agrees with looking at every row, for every number', () => {
    const range = fc.tuple(fc.nat(40), fc.nat(15), fc.constantFrom('A', 'B', 'C'));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 12 }), (ranges) => {
        const rows = ranges.map(([low, size, brand]) => row(low, low + size, brand));
        const segments = segmentBins(rows);
        for (let number = 0; number <= 60; number++) {
          const expected = rows
            .filter(({ low, high }) => low <= number && number <= high)
            .map(({ issuer }) => issuer);
          const found = segments.filter(({ low, high }) => low <= number && number <= high);
          expect(found.length).toBe(expected.length > 0 ? 1 : 0);
          expect(found[0]?.issuers ?? []).toEqual(expected);
        }
        for (const [at, segment] of segments.entries()) {
          const next = segments[at + 1];
          if (next === undefined) {
            continue;
          }
          expect(next.low).toBeGreaterThan(segment.high);
          if (next.low === segment.high + 1) {
            expect(next.issuers).not.toEqual(segment.issuers);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test('the time grows with the number of rows alone', () => {
    const lines = Array.from({ length: 50_000 }, (_, at) => {
      const low = 40_000_000 + ((at * 7919) % 50_000) * 100;
      return `${low},${low + 149},Visa,Bank ${at % 500},Country ${at % 50},DEBIT,`;
    });
    const cpuMs = startCpuClock();
    const segments = segmentBins(rowsOf(...lines));
    expect(segments.length).toBeGreaterThan(50_000);
    expect(cpuMs()).toBeLessThan(2500);
  });
});
