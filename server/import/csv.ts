import { type Info, parse } from 'csv-parse';
import { CommandError } from '../cli/command.ts';
import type { BatchError } from '../vault/batch/schema.ts';
import { itemFrom, type Mapped, type NumberOptions, type RecordReader } from './columns.ts';
import { LINE_BYTES_MAX, NOT_UTF8, type Row } from './rows.ts';

/** The longest record; no item is longer. */
const RECORD_BYTES_MAX = 524_288;

/** The text of the parser, with the lines of its records: the parser does not count lines within quotes. */
interface Text {
  /** The text that belongs to no record yet. */
  ahead: Uint8Array;
  /** Bytes before it. */
  bytes: number;
  /** The line where it begins. */
  line: number;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Added after the last line: the parser looks ahead before it yields a record. */
const END = '\n'.repeat(16);

/** Yields the text in UTF-8, whose last line ends as the others. */
async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of bytes) {
      yield Buffer.from(decoder.decode(piece, { stream: true }));
    }
    yield Buffer.from(decoder.decode() + END);
  } catch (error) {
    throw error instanceof TypeError ? new CommandError(NOT_UTF8, 1) : error;
  }
}

function isBlank(byte: number): boolean {
  return byte === NEWLINE || byte === RETURN;
}

/** Returns true if a line that is not blank is complete. */
function hasLine(text: Uint8Array): boolean {
  const from = text.findIndex((byte) => !isBlank(byte));
  return from !== -1 && text.includes(NEWLINE, from);
}

function linesIn(text: Uint8Array): number {
  let lines = 0;
  for (let at = text.indexOf(NEWLINE); at !== -1; at = text.indexOf(NEWLINE, at + 1)) {
    lines++;
  }
  return lines;
}

/** Takes these bytes; returns the line of the first one that is in no blank line. */
function take(text: Text, length: number): number {
  const taken = text.ahead.subarray(0, length);
  const start = taken.findIndex((byte) => !isBlank(byte));
  const line = text.line + linesIn(taken.subarray(0, Math.max(0, start)));
  text.ahead = text.ahead.subarray(length);
  text.bytes += length;
  text.line += linesIn(taken);
  return line;
}

/** Bounds the text that has no line end yet, which is searched again with each piece. Throws for a line that is too long. */
function bound(text: Text): void {
  if (text.ahead.every(isBlank)) {
    take(text, text.ahead.length);
  } else if (text.ahead.length > LINE_BYTES_MAX) {
    throw new CommandError(`Line ${take(text, text.ahead.length)} of FILE is longer than 2 MB.`, 1);
  }
}

/**
 * Creates a reader of the records of a text; each call reads on, and returns the complete ones with the offsets of their
 * ends. A record without fields is one at which the parser cannot continue.
 */
function createReader(delimiter: string) {
  let found: { readonly fields: readonly string[] | undefined; readonly end: number }[] = [];
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: RECORD_BYTES_MAX,
    // The stream of the parser gets no records: it would yield them later, and none after a fault.
    on_record(fields: readonly string[], { bytes }: Info) {
      found.push({ fields, end: bytes });
      return null;
    },
    // The text after the faulty line is read again: reading it here too would take longer with each such line.
    on_skip(): never {
      found.push({ fields: undefined, end: 0 });
      throw new Error('faulty record');
    },
  });
  parser.on('error', () => undefined);
  return (piece: Uint8Array) => {
    found = [];
    parser.write(piece);
    return found;
  };
}

/** A line with its fields, or a faulty one without. */
interface Line {
  readonly line: number;
  readonly fields: readonly string[] | undefined;
}

/**
 * Yields the lines of records, and faulty ones. The parser would take the following text up to the next quote for a part of
 * a faulty record: a new one begins with the next line.
 */
async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<readonly Line[]> {
  const text: Text = { ahead: new Uint8Array(0), bytes: 0, line: 1 };
  let [read, start] = [createReader(delimiter), 0];
  // Set while the newest record is faulty, and the end of its line has not arrived yet.
  let isFaulty = false;
  const skipLine = (): Line => {
    const from = text.ahead.findIndex((byte) => !isBlank(byte));
    const line = take(text, text.ahead.indexOf(NEWLINE, from) + 1);
    isFaulty = false;
    [read, start] = [createReader(delimiter), text.bytes];
    return { line, fields: undefined };
  };
  const readOn = (piece: Uint8Array): Line[] => {
    const lines: Line[] = [];
    for (let unread = piece; ; unread = text.ahead) {
      if (isFaulty) {
        if (!hasLine(text.ahead)) {
          return lines;
        }
        lines.push(skipLine());
        unread = text.ahead;
      }
      const found = read(unread);
      const fault = found.findIndex(({ fields }) => fields === undefined);
      for (const { fields, end } of fault === -1 ? found : found.slice(0, fault)) {
        lines.push({ line: take(text, start + end - text.bytes), fields });
      }
      isFaulty = fault !== -1;
      if (!isFaulty) {
        return lines;
      }
    }
  };
  for await (const piece of textOf(bytes)) {
    text.ahead = text.ahead.length === 0 ? piece : Buffer.concat([text.ahead, piece]);
    yield readOn(piece);
    bound(text);
  }
  while (text.ahead.some((byte) => !isBlank(byte))) {
    yield [skipLine(), ...readOn(text.ahead)];
  }
}

const FAULTY: BatchError = {
  code: 'invalid_csv',
  error: 'The line is not CSV: a field with a quote must stand in quotes, and the quote must be doubled.',
};

const ROUNDED: BatchError = {
  code: 'invalid_csv',
  error:
    'The line has a number in floating notation, such as 4.11E+15: a program may have rounded it, and digits are lost.',
};
/** A number of eleven digits and more in any column, as a spreadsheet writes it. */
const ROUNDED_NUMBER = /^\d([.,]\d+)?E\+\d{2,3}$/;

/** Options of a CSV file. */
interface CsvOptions extends NumberOptions {
  readonly delimiter: string;
  readonly map: readonly Mapped[] | undefined;
}

/** Yields the rows of CSV (RFC 4180), whose first record names the columns. Throws for other columns and encodings. */
export async function* csvRows(
  bytes: AsyncIterable<Uint8Array>,
  { delimiter, map, ...numbers }: CsvOptions,
): AsyncGenerator<readonly Row[]> {
  let columns = 0;
  let records: RecordReader | undefined;
  for await (const lines of linesOf(bytes, delimiter)) {
    const rows: Row[] = [];
    for (const { line, fields } of lines) {
      if (records === undefined) {
        columns = fields?.length ?? 0;
        records = itemFrom(fields ?? [], map, numbers);
      } else if (fields === undefined) {
        rows.push({ line, item: FAULTY });
      } else if (fields.length !== columns) {
        const error = `The line has ${fields.length} fields, and the first line has ${columns}.`;
        rows.push({ line, item: { code: 'invalid_csv', error } });
      } else {
        const isRounded = records.isRounded(fields) || fields.some((field) => ROUNDED_NUMBER.test(field));
        rows.push({ line, item: isRounded ? ROUNDED : records.itemOf(fields) });
      }
    }
    yield rows;
  }
  if (records === undefined) {
    throw new CommandError('The first line of FILE must name the columns.', 1);
  }
}
