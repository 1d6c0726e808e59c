/** What an import reads: rows of a file, each an item, with the line where it begins. */
import { CommandError } from '../cli/command.ts';

/** Why a row is not imported, without anything of the row. */
export interface Refusal {
  readonly code: string;
  readonly error: string;
  readonly field?: string | undefined;
}

/** A row: the JSON text of an item, or why it is none. */
export interface Row {
  /** The line of the file where it begins, from 1. */
  readonly line: number;
  readonly item: Uint8Array | Refusal;
}

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** The longest line that is waited for. */
export const LINE_BYTES_MAX = 2_097_152;
/** The last line of an export. */
const SUM = /^\{"count":(\d+),"sha256":"([0-9a-f]{64})"\}\s*$/;

/** What the end of a file says of it. */
export interface FileEnd {
  /** Whether the last line was that of an export, and agreed with the others. */
  isWhole: boolean;
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte <= SPACE);
}

/** The rows of whole lines, from the line of this number on; also how many lines they were. */
function rowsOf(text: Uint8Array, first: number): { readonly rows: Row[]; readonly lines: number } {
  const rows: Row[] = [];
  let lines = 0;
  for (let at = 0; at < text.length; lines++) {
    const end = text.indexOf(NEWLINE, at);
    const item = text.subarray(at, end === -1 ? text.length : end);
    if (!isBlank(item)) {
      rows.push({ line: first + lines, item });
    }
    at += item.length + 1;
  }
  return { rows, lines };
}

/**
 * The rows of a text with a JSON object a line, such as an export, whose last line is compared with the others and is no row.
 * Throws for a line that is too long, and for a last line that does not agree.
 */
export async function* jsonRows(
  bytes: AsyncIterable<Uint8Array>,
  end: FileEnd,
): AsyncGenerator<readonly Row[]> {
  const hash = new Bun.CryptoHasher('sha256');
  let rest: Uint8Array = new Uint8Array(0);
  let line = 1;
  let count = 0;
  const take = (text: Uint8Array): readonly Row[] => {
    hash.update(text);
    const { rows, lines } = rowsOf(text, line);
    line += lines;
    count += rows.length;
    return rows;
  };
  for await (const piece of bytes) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    // The newest whole line stays: it may be the last one of an export.
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
