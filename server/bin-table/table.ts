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

/** A position in the text of a table. */
interface Cursor {
  readonly text: string;
  at: number;
  line: number;
  /** Why the table is invalid; undefined while it is valid. */
  reason: string | undefined;
}

/** The required first line. */
const HEADER = 'bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level';
const COLUMNS = 7;
const BIN_DIGITS = 8;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;

/** Records the first reason and ends the parse. */
function fail(cursor: Cursor, reason: string): void {
  cursor.reason ??= reason;
  cursor.at = cursor.text.length;
}

/** Reads a quoted field (RFC 4180, section 2, items 5 to 7), which may contain commas, line breaks and doubled quotes. */
function readQuoted(cursor: Cursor): string {
  const { text } = cursor;
  let value = '';
  for (;;) {
    const start = cursor.at + 1;
    const end = text.indexOf('"', start);
    if (end < 0) {
      fail(cursor, 'A quoted field does not end.');
      return value;
    }
    const piece = text.slice(start, end);
    for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) {
      cursor.line++;
    }
    value += piece;
    cursor.at = end + 1;
    if (text.charCodeAt(cursor.at) !== QUOTE) {
      return value;
    }
    value += '"';
  }
}

/** Reads one field, quoted or not, and stops at its delimiter. */
function readField(cursor: Cursor): string {
  const { text } = cursor;
  const start = cursor.at;
  if (text.charCodeAt(start) === QUOTE) {
    return readQuoted(cursor);
  }
  for (let at = start; ; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      fail(cursor, 'A field that is not quoted contains a quote.');
      return '';
    }
    if (unit === COMMA || unit === LF || unit === CR || Number.isNaN(unit)) {
      cursor.at = at;
      return text.slice(start, at);
    }
  }
}

/** Reads one record and moves the cursor to the next line. An empty line is a record with one empty field. */
function readRecord(cursor: Cursor): string[] {
  const fields: string[] = [];
  for (;;) {
    fields.push(readField(cursor));
    const unit = cursor.text.charCodeAt(cursor.at);
    if (unit === COMMA) {
      cursor.at++;
      continue;
    }
    if (unit === CR) {
      cursor.at++;
    }
    if (cursor.text.charCodeAt(cursor.at) === LF) {
      cursor.at++;
    } else if (cursor.at < cursor.text.length) {
      fail(cursor, 'A field or line ends in an unexpected place.');
    }
    return fields;
  }
}

/** The first (fill 0) or last (fill 9) eight-digit BIN of a bound; undefined unless it has 6 to 8 digits. */
function boundOf(digits: string, fill: '0' | '9'): number | undefined {
  return /^\d{6,8}$/.test(digits) ? Number(digits.padEnd(BIN_DIGITS, fill)) : undefined;
}

/** The issuer of a record, without empty cells. */
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

type ParsedRow =
  | { readonly kind: 'row'; readonly row: BinRow }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Parses a record. Equal issuers become one object, which is kept in `known`. */
function rowOf(fields: readonly string[], known: Map<string, Issuer>): ParsedRow {
  if (fields.length !== COLUMNS) {
    return invalid('A line does not have seven fields.');
  }
  const low = boundOf(fields[0] ?? '', '0');
  const high = boundOf(fields[1] ?? '', '9');
  if (low === undefined || high === undefined) {
    return invalid('bin_low and bin_high must have 6 to 8 digits.');
  }
  if (low > high) {
    return invalid('bin_low is greater than bin_high.');
  }
  if (fields[2] === '') {
    return invalid('brand is empty.');
  }
  const key = fields.slice(2).join('\0\n');
  let issuer = known.get(key);
  if (issuer === undefined) {
    issuer = issuerOf(fields);
    known.set(key, issuer);
  }
  return { kind: 'row', row: { low, high, issuer } };
}

function invalid(reason: string): ParsedRow {
  return { kind: 'invalid', reason };
}

/**
 * Parses the operator's BIN table: CSV (RFC 4180) with LF or CRLF line ends, an optional byte order mark, and the header
 * `bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level`. Bounds have 6 to 8 digits and are inclusive: a high
 * bound of n digits includes all longer numbers that start with it. Empty lines are skipped; every row needs a brand. One
 * invalid record makes the table invalid; the error has the number of its first line, from 1.
 */
export function parseBinCsv(text: string): ParsedBinTable {
  const cursor: Cursor = { text, at: text.startsWith('\ufeff') ? 1 : 0, line: 1, reason: undefined };
  const rows: BinRow[] = [];
  const known = new Map<string, Issuer>();
  let line = 1;
  if (readRecord(cursor).join(',') !== HEADER) {
    fail(cursor, `The first line must be ${HEADER}.`);
  }
  while (cursor.at < text.length) {
    line = ++cursor.line;
    const fields = readRecord(cursor);
    if (fields.length === 1 && fields[0] === '') {
      continue;
    }
    const parsed = rowOf(fields, known);
    if (parsed.kind === 'invalid') {
      fail(cursor, parsed.reason);
    } else {
      rows.push(parsed.row);
    }
  }
  return cursor.reason === undefined
    ? { kind: 'table', rows }
    : { kind: 'invalid', error: { line, reason: cursor.reason } };
}

/** Equal for equal issuers. */
function issuerKey(issuer: Issuer): string {
  return JSON.stringify([
    issuer.brand,
    issuer.issuing_bank,
    issuer.country_name,
    issuer.card_type,
    issuer.card_level,
  ]);
}

/** Uses one object for all equal issuers, so that issuers can be compared by identity. */
function sharedIssuers(rows: readonly BinRow[]): Issuer[] {
  const byObject = new Map<Issuer, Issuer>();
  const byContent = new Map<string, Issuer>();
  return rows.map(({ issuer }) => {
    let shared = byObject.get(issuer);
    if (shared === undefined) {
      const key = issuerKey(issuer);
      shared = byContent.get(key) ?? issuer;
      byContent.set(key, shared);
      byObject.set(issuer, shared);
    }
    return shared;
  });
}

/** The indexes of the rows, ordered by a bound and then by position in the file. */
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
