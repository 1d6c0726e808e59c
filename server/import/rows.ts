import { CommandError } from '../cli/command.ts';
import type { BatchError } from '../vault/batch/schema.ts';
import type { Made } from './columns.ts';

/** A row: the JSON text of an item, or its error, which contains nothing of the row; undefined for one that is skipped. */
export interface Row {
  /** The line of the file where it begins, from 1. */
  readonly line: number;
  readonly item: Made | BatchError;
}

export const NOT_UTF8 =
  'FILE is not UTF-8: convert it and pipe it in, for example with iconv -f WINDOWS-1252 -t UTF-8.';

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** The longest line that is buffered. */
export const LINE_BYTES_MAX = 2_097_152;
/** The last line of an export. */
const SUM = /^\{"count":(\d+),"sha256":"([0-9a-f]{64})"\}\s*$/;

/** Byte order marks. */
const MARK_UTF8 = Uint8Array.of(0xef, 0xbb, 0xbf);
const MARKS_UTF16 = [Uint8Array.of(0xff, 0xfe), Uint8Array.of(0xfe, 0xff)];

function beginsWith(bytes: Uint8Array, mark: Uint8Array): boolean {
  return mark.every((byte, at) => bytes[at] === byte);
}

/** Yields the bytes after a byte order mark. Throws for that of another encoding. */
async function* withoutMark(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begin: Uint8Array = new Uint8Array(0);
  for await (const piece of bytes) {
    if (begin.length >= MARK_UTF8.length) {
      yield piece;
      continue;
    }
    const joined = Buffer.concat([begin, piece]);
    if (MARKS_UTF16.some((mark) => beginsWith(joined, mark))) {
      throw new CommandError(NOT_UTF8, 1);
    }
    if (joined.length >= MARK_UTF8.length) {
      yield beginsWith(joined, MARK_UTF8) ? joined.subarray(MARK_UTF8.length) : joined;
    }
    begin = joined;
  }
  if (begin.length < MARK_UTF8.length) {
    yield begin;
  }
}

/** Facts from the end of a file. */
export interface FileEnd {
  /** True if the last line was that of an export, and matched the others. */
  isWhole: boolean;
}

/** Returns the rows of whole lines, the first of which has this number; also the number of lines. */
function rowsOf(
  text: Uint8Array,
  first: number,
  itemOf: (line: Uint8Array) => Made,
): { readonly rows: Row[]; readonly lines: number } {
  const rows: Row[] = [];
  let lines = 0;
  for (let at = 0; at < text.length; lines++) {
    const end = text.indexOf(NEWLINE, at);
    const line = text.subarray(at, end === -1 ? text.length : end);
    if (line.some((byte) => byte > SPACE)) {
      rows.push({ line: first + lines, item: itemOf(line) });
    }
    at += line.length + 1;
  }
  return { rows, lines };
}

/**
 * Yields the rows of a text with one JSON object a line, such as an export, whose last line is compared with the others and
 * is no row. Throws for a line that is too long, and for a last line that does not match.
 */
export async function* jsonRows(
  bytes: AsyncIterable<Uint8Array>,
  end: FileEnd,
  itemOf: (line: Uint8Array) => Made,
): AsyncGenerator<readonly Row[]> {
  const hash = new Bun.CryptoHasher('sha256');
  let rest: Uint8Array = new Uint8Array(0);
  let line = 1;
  let count = 0;
  const take = (text: Uint8Array): readonly Row[] => {
    hash.update(text);
    const { rows, lines } = rowsOf(text, line, itemOf);
    line += lines;
    count += rows.length;
    return rows;
  };
  for await (const piece of withoutMark(bytes)) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    // The newest whole line is kept back: it may be the last one of an export.
    const newest = rest.lastIndexOf(NEWLINE, rest.lastIndexOf(NEWLINE) - 1) + 1;
    if (rest.length - newest > 2 * LINE_BYTES_MAX) {
      throw new CommandError(`Line ${line} of FILE, or the one after it, is longer than 2 MB.`, 1);
    }
    if (newest > 0) {
      const whole = rest.subarray(0, newest);
      rest = rest.subarray(newest);
      yield take(whole);
    }
  }
  const last = rest.subarray(0, -1).lastIndexOf(NEWLINE) + 1;
  yield take(rest.subarray(0, last));
  const [, items, sum] = SUM.exec(Buffer.from(rest.subarray(last)).toString('latin1')) ?? [];
  if (items === undefined) {
    yield take(rest.subarray(last));
    return;
  }
  if (Number(items) !== count || hash.digest('hex') !== sum) {
    throw new CommandError(
      `FILE is not what was exported: its last line says ${items} lines with another checksum. What it has was imported.`,
      1,
    );
  }
  end.isWhole = true;
}
