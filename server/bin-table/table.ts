import { CsvError, type InfoField, type InfoRecord, parse } from 'csv-parse/sync';

/** An issuer in the operator's table; empty cells are absent. */
interface Issuer {
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
interface BinSegment {
  readonly low: number;
  readonly high: number;
  readonly issuers: readonly Issuer[];
}

/** The rows of a table, or the first invalid line with a reason that contains no data of the file. */
type ParsedBinTable =
  | { readonly kind: 'table'; readonly rows: readonly BinRow[] }
  | { readonly kind: 'invalid'; readonly error: { readonly line: number; readonly reason: string } };

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
  const [, , brand = '', bank, country, type, level] = fields;
  const issuer = {
    brand,
    ...(bank && { issuing_bank: bank }),
    ...(country && { country_name: country }),
    ...(type && { card_type: type }),
    ...(level && { card_level: level }),
  };
  return { low, high, issuer };
}

/** Returns the first (fill 0) or last (fill 9) eight-digit BIN of a bound; undefined unless it has 6 to 8 digits. */
function boundOf(digits: string, fill: '0' | '9'): number | undefined {
  return /^\d{6,8}$/.test(digits) ? Number(digits.padEnd(BIN_DIGITS, fill)) : undefined;
}

/** Appends a segment, or extends the last one if it is adjacent and has the same issuers. */
function appendSegment(segments: BinSegment[], next: BinSegment): void {
  const last = segments.at(-1);
  const isSame =
    last?.high === next.low - 1 &&
    last.issuers.length === next.issuers.length &&
    last.issuers.every((issuer, at) => issuer === next.issuers[at]);
  if (isSame) {
    segments[segments.length - 1] = { ...last, high: next.high };
  } else {
    segments.push(next);
  }
}

/**
 * Converts rows, which may overlap, into sorted disjoint segments of eight-digit BINs; BINs without a row are in no segment.
 * Adjacent segments with equal issuers are merged. Time is O(n log n) of the rows plus the size of the result.
 */
export function segmentBins(rows: readonly BinRow[]): BinSegment[] {
  // Equal issuers become one object, so that they can be compared by identity.
  const known = new Map<string, Issuer>();
  const sorted = rows
    .map(({ low, high, issuer }, place) => {
      const text = JSON.stringify(issuer);
      const shared = known.get(text) ?? issuer;
      known.set(text, shared);
      return { low, end: high + 1, issuer: shared, place };
    })
    .sort((a, b) => a.low - b.low);
  const segments: BinSegment[] = [];
  let active: typeof sorted = [];
  let low = 0;
  for (let opened = 0; opened < sorted.length || active.length > 0; ) {
    const nextLow = sorted[opened]?.low ?? Number.POSITIVE_INFINITY;
    const next = active.reduce((nearest, { end }) => Math.min(nearest, end), nextLow);
    if (active.length > 0) {
      appendSegment(segments, { low, high: next - 1, issuers: active.map(({ issuer }) => issuer) });
    }
    active = active.filter(({ end }) => end > next);
    for (let row = sorted[opened]; row?.low === next; row = sorted[opened]) {
      active.push(row);
      opened += 1;
    }
    active.sort((a, b) => a.place - b.place);
    low = next;
  }
  return segments;
}
