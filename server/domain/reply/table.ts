import { VaultError } from '../../core/errors.ts';
import { cardRole } from '../card/names.ts';
import { cardRuns } from '../card/runs.ts';
import { asIs, branchOf, type Leaf, Names, type Notation, ROOT, readNotation } from './leaves.ts';

type Delimiter = ',' | ';' | '\t' | '|';
const DELIMITERS: readonly Delimiter[] = [',', ';', '\t', '|'];

const QUOTES: Notation = { pattern: /""/g, read: () => '"' };
/** The ends of fields without quotes. */
const ENDS: Readonly<Record<Delimiter, RegExp>> = {
  ',': /[,\r\n]|$/g,
  ';': /[;\r\n]|$/g,
  '\t': /[\t\r\n]|$/g,
  '|': /[|\r\n]|$/g,
};

function unreadable(expected: string): VaultError {
  return new VaultError('invalid_request', { field: 'body', expected });
}

/** A field's place, without its quotes. */
interface Field {
  readonly start: number;
  readonly end: number;
  readonly isQuoted: boolean;
}

/** The place of the quote that ends a field. */
function closingQuote(text: string, start: number): number {
  let at = text.indexOf('"', start);
  while (at >= 0 && text[at + 1] === '"') {
    at = text.indexOf('"', at + 2);
  }
  if (at < 0) {
    throw unreadable('must be a table whose quotes are closed');
  }
  return at;
}

function fieldAt(text: string, at: number, delimiter: Delimiter): Field {
  if (text[at] === '"') {
    return { start: at + 1, end: closingQuote(text, at + 1), isQuoted: true };
  }
  const ends = ENDS[delimiter];
  ends.lastIndex = at;
  return { start: at, end: ends.exec(text)?.index ?? text.length, isQuoted: false };
}

/** The records of a table (RFC 4180). Throws `invalid_request` for text that is none. */
function* recordsOf(text: string, delimiter: Delimiter): Generator<readonly Field[]> {
  let fields: Field[] = [];
  for (let at = text.startsWith('\ufeff') ? 1 : 0; at < text.length || fields.length > 0; ) {
    const field = fieldAt(text, at, delimiter);
    fields.push(field);
    at = field.end + (field.isQuoted ? 1 : 0);
    if (text[at] === delimiter) {
      at++;
      continue;
    }
    if (at < text.length && text[at] !== '\r' && text[at] !== '\n') {
      throw unreadable('must be a table whose fields are separated');
    }
    at += text.startsWith('\r\n', at) ? 2 : 1;
    yield fields;
    fields = [];
  }
}

function fieldValue(text: string, { start, end, isQuoted }: Field): string {
  const raw = text.slice(start, end);
  return isQuoted ? readNotation(raw, QUOTES) : raw;
}

function firstLine(text: string): string {
  const end = text.search(/[\r\n]/);
  return end < 0 ? text : text.slice(0, end);
}

/** The delimiter of a table: the one that its first line has most of. */
function delimiterOf(line: string): Delimiter {
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** Tells whether a text has a first line like that of a table of cards, and more lines. */
export function looksLikeTable(text: string): boolean {
  const line = firstLine(text.startsWith('\ufeff') ? text.slice(1) : text);
  const columns = line.split(delimiterOf(line));
  return (
    columns.length > 1 &&
    line.length < text.trimEnd().length &&
    !/\d{3}/.test(line) &&
    columns.some((name) => cardRole(unquoted(name))?.role === 'number')
  );
}

function unquoted(name: string): string {
  return name.trim().replaceAll('"', '');
}

/**
 * The fields of a table, in order: the first record names the columns, each other one is a branch. Throws
 * `invalid_request` for a table that cannot be read for sure: whose first record is a card's, whose records have other
 * numbers of fields, or whose quotes do not fit.
 */
export function tableLeaves(text: string): Leaf[] {
  const leaves: Leaf[] = [];
  let columns: readonly string[] | undefined;
  for (const fields of recordsOf(text, delimiterOf(firstLine(text)))) {
    const values = fields.map((field) => fieldValue(text, field));
    if (columns === undefined) {
      if (values.some((value) => cardRuns(value).length > 0)) {
        throw unreadable('must name its columns in its first record');
      }
      columns = values.map((name) => name.trim());
      continue;
    }
    if (values.length === 1 && values[0]?.trim() === '') {
      continue;
    }
    if (values.length !== columns.length) {
      throw unreadable('must have as many fields in each record as it has columns');
    }
    const names = new Names(branchOf('', ROOT));
    for (const [at, field] of fields.entries()) {
      const value = values[at] ?? '';
      const isPlain = value.length === field.end - field.start;
      const { start, end } = field;
      leaves.push({
        ...names.find(columns[at] ?? ''),
        value,
        start,
        end,
        ...(isPlain ? { write: asIs } : { notation: QUOTES }),
      });
    }
  }
  return leaves;
}
