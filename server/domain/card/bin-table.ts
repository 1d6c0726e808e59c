/** What the operator's table tells of an issuer; empty cells are absent. */
export interface Issuer {
  readonly brand: string;
  readonly issuing_bank?: string;
  readonly country_name?: string;
  readonly card_type?: string;
  readonly card_level?: string;
}

/** A row of the table: the numbers whose first eight digits lie from `low` to `high`, both included. */
export interface BinRow {
  readonly low: number;
  readonly high: number;
  readonly issuer: Issuer;
}

/** A stretch of the eight-digit space with the issuers of all rows that cover it, in the order of the file. */
export interface BinSegment {
  readonly low: number;
  readonly high: number;
  readonly issuers: readonly Issuer[];
}

/** Where and why a table was refused; the reason holds nothing of the file. */
export interface BinCsvError {
  readonly line: number;
  readonly reason: string;
}

interface Cursor {
  readonly text: string;
  at: number;
  line: number;
  /** Why the table is refused; once it is set, reading stops at the end of the text. */
  reason: string | undefined;
}

const HEADER = 'bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level';
const COLUMNS = 7;
const BIN_DIGITS = 8;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;

function refuse(cursor: Cursor, reason: string): void {
  cursor.reason ??= reason;
  cursor.at = cursor.text.length;
}

/** A field in quotes (RFC 4180, section 2, items 5 to 7); it may hold commas, line breaks and doubled quotes. */
function readQuoted(cursor: Cursor): string {
  const { text } = cursor;
  let value = '';
  for (;;) {
    const start = cursor.at + 1;
    const end = text.indexOf('"', start);
    if (end < 0) {
      refuse(cursor, 'A quoted field does not end.');
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

function readField(cursor: Cursor): string {
  const { text } = cursor;
  const start = cursor.at;
  if (text.charCodeAt(start) === QUOTE) {
    return readQuoted(cursor);
  }
  for (let at = start; ; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      refuse(cursor, 'A quote stands inside a field that is not quoted.');
      return '';
    }
    if (unit === COMMA || unit === LF || unit === CR || Number.isNaN(unit)) {
      cursor.at = at;
      return text.slice(start, at);
    }
  }
}

/** One record; the cursor goes to the start of the next line. An empty line is a record of one empty field. */
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
      refuse(cursor, 'A field or line ends in an unexpected place.');
    }
    return fields;
  }
}

/** The first (fill 0) or last (fill 9) eight-digit number of a bound; undefined unless it has 6 to 8 digits. */
const boundOf = (digits: string, fill: '0' | '9'): number | undefined =>
  /^\d{6,8}$/.test(digits) ? Number(digits.padEnd(BIN_DIGITS, fill)) : undefined;

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

/** The row of a record, or why it is refused. Equal issuers become one object, which `known` holds. */
function rowOf(fields: readonly string[], known: Map<string, Issuer>): BinRow | string {
  if (fields.length !== COLUMNS) {
    return 'A line does not have seven fields.';
  }
  const low = boundOf(fields[0] ?? '', '0');
  const high = boundOf(fields[1] ?? '', '9');
  if (low === undefined || high === undefined) {
    return 'bin_low and bin_high take 6 to 8 digits.';
  }
  if (low > high) {
    return 'bin_low is above bin_high.';
  }
  if (fields[2] === '') {
    return 'brand is empty.';
  }
  const key = fields.slice(2).join('\0\n');
  let issuer = known.get(key);
  if (issuer === undefined) {
    issuer = issuerOf(fields);
    known.set(key, issuer);
  }
  return { low, high, issuer };
}

/**
 * Reads the operator's BIN table: CSV (RFC 4180) with LF or CRLF line ends, a byte order mark tolerated, under
 * the header `bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level`. Bounds have 6 to 8 digits and
 * are inclusive: a high bound of n digits covers all longer numbers that begin with it. Empty lines are skipped;
 * every row needs a brand. The first record that does not fit refuses the whole table, with the number of the line
 * (from 1) on which it begins.
 */
export function parseBinCsv(text: string): { readonly rows: BinRow[] } | { readonly error: BinCsvError } {
  const cursor: Cursor = { text, at: text.startsWith('\ufeff') ? 1 : 0, line: 1, reason: undefined };
  const rows: BinRow[] = [];
  const known = new Map<string, Issuer>();
  let line = 1;
  if (readRecord(cursor).join(',') !== HEADER) {
    refuse(cursor, `The first line must be ${HEADER}.`);
  }
  while (cursor.at < text.length) {
    line = ++cursor.line;
    const fields = readRecord(cursor);
    if (fields.length === 1 && fields[0] === '') {
      continue;
    }
    const row = rowOf(fields, known);
    if (typeof row === 'string') {
      refuse(cursor, row);
    } else {
      rows.push(row);
    }
  }
  return cursor.reason === undefined ? { rows } : { error: { line, reason: cursor.reason } };
}

const issuerKey = (issuer: Issuer): string =>
  JSON.stringify([
    issuer.brand,
    issuer.issuing_bank,
    issuer.country_name,
    issuer.card_type,
    issuer.card_level,
  ]);

/** One object for all issuers of the same content, so that issuers can be compared by identity. */
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

/** The rows' indexes, ordered by a bound and then by place in the file. */
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

const sameIssuers = (left: readonly Issuer[], right: readonly Issuer[]): boolean =>
  left.length === right.length && left.every((issuer, at) => issuer === right[at]);

/** Appends a segment, or lengthens the last one when it touches it and has the same issuers. */
function appendSegment(segments: BinSegment[], next: BinSegment): void {
  const last = segments.at(-1);
  if (last !== undefined && last.high + 1 === next.low && sameIssuers(last.issuers, next.issuers)) {
    segments[segments.length - 1] = { ...last, high: next.high };
  } else {
    segments.push(next);
  }
}

/**
 * Turns rows, which may overlap, into sorted disjoint segments of the eight-digit space; what no row covers is in
 * none. Neighbours of equal issuers are one segment. Time grows with n log n of the rows and with the size of
 * the result. Equal issuers are the same object in the result.
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
