import { CsvError, type InfoField, type InfoRecord, parse } from 'csv-parse/sync';

/** An issuer in the operator's table; empty cells are absent. */
export interface Issuer {
  readonly brand: string;
  readonly issuing_bank?: string;
  readonly country_name?: string;
  readonly card_type?: string;
  readonly card_level?: string;
}

/** A row of the table: numbers whose first eight digits are between `low` and `high`, inclusive. */
export interface BinRow {
  readonly low: number;
  readonly high: number;
  readonly issuer: Issuer;
}

/** A range of eight-digit BINs with the issuers of all rows that cover it, in the order of the file. */
export interface BinSegment {
  readonly low: number;
  readonly high: number;
  readonly issuers: readonly Issuer[];
}

/** The line and the reason of an invalid table; the reason contains no data of the file. */
export interface BinCsvError {
  readonly line: number;
  readonly reason: string;
}

/** The result of parsing a table. */
export type ParsedBinTable =
  | { readonly kind: 'table'; readonly rows: readonly BinRow[] }
  | { readonly kind: 'invalid'; readonly error: BinCsvError };

/** The required first line. */
const HEADER = 'bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level';
const COLUMNS = 7;
const BIN_DIGITS = 8;
const LF = 0x0a;

/** Reasons by the code of the parser's error. */
const CSV_REASONS = new Map([
  ['CSV_QUOTE_NOT_CLOSED', 'A quoted field does not end.'],
  ['INVALID_OPENING_QUOTE', 'A field that is not quoted contains a quote.'],
  ['CSV_INVALID_CLOSING_QUOTE', 'A field or line ends in an unexpected place.'],
]);

/** The reason of an invalid record. */
class InvalidRecord extends Error {}

/**
 * Parses the operator's BIN table: CSV (RFC 4180) with LF or CRLF line ends, an optional byte order mark, and the header
 * `bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level`. Bounds have 6 to 8 digits and are inclusive: a high
 * bound of n digits includes all longer numbers that start with it. Empty lines are skipped; every row needs a brand. One
 * invalid record makes the table invalid; the error has the number of its first line, from 1.
 */
export function parseBinCsv(text: string): ParsedBinTable {
  const bytes = Buffer.from(text.replace(/^\ufeff|\r$/g, ''));
  const rows: BinRow[] = [];
  let hasHeader = false;
  /** Offset of the current record. */
  let start = 0;
  try {
    parse(bytes, {
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      // Few tables need the check, and without it fields are read more than twice as fast.
      cast: /\r(?!\n)/.test(text) && checkField,
      on_record(fields: readonly string[], { bytes: end }: InfoRecord) {
        if (!hasHeader) {
          checkHeader(fields);
          hasHeader = true;
        } else if (fields.length > 1 || fields[0] !== '') {
          rows.push(rowOf(fields));
        }
        start = end;
        return null;
      },
    });
    if (!hasHeader) {
      checkHeader([]);
    }
    return { kind: 'table', rows };
  } catch (error) {
    const line = 1 + bytes.subarray(0, start).filter((byte) => byte === LF).length;
    return { kind: 'invalid', error: { line, reason: reasonOf(error) } };
  }
}

/** Rejects a carriage return that is not part of a line end. */
function checkField(field: string, { quoting }: InfoField): string {
  if (!quoting && field.includes('\r')) {
    throw new InvalidRecord('A field or line ends in an unexpected place.');
  }
  return field;
}

function checkHeader(fields: readonly string[]): void {
  if (fields.join(',') !== HEADER) {
    throw new InvalidRecord(`The first line must be ${HEADER}.`);
  }
}

function reasonOf(error: unknown): string {
  const reason = error instanceof CsvError ? CSV_REASONS.get(error.code) : undefined;
  if (reason !== undefined) {
    return reason;
  }
  if (error instanceof InvalidRecord) {
    return error.message;
  }
  throw error;
}

function rowOf(fields: readonly string[]): BinRow {
  if (fields.length !== COLUMNS) {
    throw new InvalidRecord('A line does not have seven fields.');
  }
  const low = boundOf(fields[0] ?? '', '0');
  const high = boundOf(fields[1] ?? '', '9');
  if (low === undefined || high === undefined) {
    throw new InvalidRecord('bin_low and bin_high must have 6 to 8 digits.');
  }
  if (low > high) {
    throw new InvalidRecord('bin_low is greater than bin_high.');
  }
  if (fields[2] === '') {
    throw new InvalidRecord('brand is empty.');
  }
  return { low, high, issuer: issuerOf(fields) };
}

/** Returns the first (fill 0) or last (fill 9) eight-digit BIN of a bound; undefined unless it has 6 to 8 digits. */
function boundOf(digits: string, fill: '0' | '9'): number | undefined {
  return /^\d{6,8}$/.test(digits) ? Number(digits.padEnd(BIN_DIGITS, fill)) : undefined;
}

/** Returns the issuer of a record, without empty cells. */
function issuerOf(fields: readonly string[]): Issuer {
  const [, , brand = '', bank, country, type, level] = fields;
  return {
    brand,
    ...(bank && { issuing_bank: bank }),
    ...(country && { country_name: country }),
    ...(type && { card_type: type }),
    ...(level && { card_level: level }),
  };
}

/** Returns one object for all equal issuers, so that issuers can be compared by identity. */
function sharedIssuers(rows: readonly BinRow[]): Issuer[] {
  const known = new Map<string, Issuer>();
  return rows.map(({ issuer }) => {
    const key = JSON.stringify(issuer);
    const shared = known.get(key) ?? issuer;
    known.set(key, shared);
    return shared;
  });
}

/** Returns the indexes of the rows, ordered by a bound and then by position in the file. */
function orderBy(rows: readonly BinRow[], bound: 'low' | 'high'): Float64Array {
  const keys = new Float64Array(rows.length);
  for (const [index, row] of rows.entries()) {
    keys[index] = row[bound] * rows.length + index;
  }
  keys.sort();
  for (const [at, key] of keys.entries()) {
    keys[at] = key % rows.length;
  }
  return keys;
}

function sameIssuers(left: readonly Issuer[], right: readonly Issuer[]): boolean {
  return left.length === right.length && left.every((issuer, at) => issuer === right[at]);
}

/** Appends a segment, or extends the last one if it is adjacent and has the same issuers. */
function appendSegment(segments: BinSegment[], next: BinSegment): void {
  const last = segments.at(-1);
  if (last !== undefined && last.high + 1 === next.low && sameIssuers(last.issuers, next.issuers)) {
    segments[segments.length - 1] = { ...last, high: next.high };
  } else {
    segments.push(next);
  }
}

/**
 * Converts rows, which may overlap, into sorted disjoint segments of eight-digit BINs; BINs without a row are in no segment.
 * Adjacent segments with equal issuers are merged. Time is O(n log n) of the rows plus the size of the result. Equal issuers
 * are the same object.
 */
export function segmentBins(rows: readonly BinRow[]): BinSegment[] {
  const issuers = sharedIssuers(rows);
  const byLow = orderBy(rows, 'low');
  const byHigh = orderBy(rows, 'high');
  const segments: BinSegment[] = [];
  const lowAt = (at: number): number => rows[byLow[at] ?? -1]?.low ?? Number.POSITIVE_INFINITY;
  const endAt = (at: number): number => (rows[byHigh[at] ?? -1]?.high ?? Number.POSITIVE_INFINITY) + 1;
  let active: number[] = [];
  let position = 0;
  for (let opened = 0, closed = 0; closed < rows.length; ) {
    const next = Math.min(lowAt(opened), endAt(closed));
    if (active.length > 0) {
      const covering = active.map((row) => issuers[row]).filter((issuer) => issuer !== undefined);
      appendSegment(segments, { low: position, high: next - 1, issuers: covering });
    }
    const closedBefore = closed;
    while (endAt(closed) === next) {
      closed++;
    }
    if (closed > closedBefore) {
      active = active.filter((row) => (rows[row]?.high ?? -1) >= next);
    }
    const openedBefore = opened;
    for (; lowAt(opened) === next; opened++) {
      active.push(byLow[opened] ?? 0);
    }
    if (opened > openedBefore) {
      active.sort((left, right) => left - right);
    }
    position = next;
  }
  return segments;
}
