import { VaultError } from '../../core/errors.ts';
import { type JsonValue, parseJson, quoteJson } from '../json/json.ts';
import { type Branch, branchOf, type Leaf, ROOT } from './leaves.ts';

interface Cursor {
  readonly text: string;
  readonly leaves: Leaf[];
  at: number;
}

const DIGITS = /^\d+$/;
const BARE_END = /[\s,\]}]/g;
const SPACE = /\s*/y;

const encoder = new TextEncoder();

/** The value of a JSON reply, which may begin with a byte order mark; undefined for any other text. */
export function replyJson(text: string): JsonValue | undefined {
  try {
    return parseJson(encoder.encode(text.startsWith('\ufeff') ? text.slice(1) : text));
  } catch (error) {
    if (error instanceof VaultError) {
      return undefined;
    }
    throw error;
  }
}

function skipSpace(cursor: Cursor): string {
  SPACE.lastIndex = cursor.at;
  SPACE.exec(cursor.text);
  cursor.at = SPACE.lastIndex;
  return cursor.text.charAt(cursor.at);
}

/** Skips a string literal; returns its source without the quotes. */
function readLiteral(cursor: Cursor): string {
  const start = cursor.at + 1;
  let end = start;
  for (let unit = cursor.text.charAt(end); unit !== '"'; unit = cursor.text.charAt(end)) {
    end += unit === '\\' ? 2 : 1;
  }
  cursor.at = end + 1;
  return cursor.text.slice(start, end);
}

function decode(source: string): string {
  const value = source.includes('\\') ? parseJson(encoder.encode(`"${source}"`)) : source;
  return typeof value === 'string' ? value : source;
}

function readBare(cursor: Cursor, name: string, branch: Branch): void {
  BARE_END.lastIndex = cursor.at;
  const end = BARE_END.exec(cursor.text)?.index ?? cursor.text.length;
  const value = cursor.text.slice(cursor.at, end);
  if (DIGITS.test(value)) {
    cursor.leaves.push({ name, branch, value, start: cursor.at, end });
  }
  cursor.at = end;
}

function readMembers(cursor: Cursor, close: string, listName: string, branch: Branch): void {
  cursor.at++;
  for (let next = skipSpace(cursor); next !== close; next = skipSpace(cursor)) {
    if (next === ',') {
      cursor.at++;
      continue;
    }
    let name = listName;
    if (close === '}') {
      name = decode(readLiteral(cursor));
      skipSpace(cursor);
      cursor.at++;
    }
    readValue(cursor, name, branch);
  }
  cursor.at++;
}

function readValue(cursor: Cursor, name: string, branch: Branch): void {
  switch (skipSpace(cursor)) {
    case '{':
      readMembers(cursor, '}', name, branchOf(name, branch));
      break;
    case '[':
      readMembers(cursor, ']', name, branchOf(name, branch));
      break;
    case '"': {
      const start = cursor.at + 1;
      const value = decode(readLiteral(cursor));
      const write = (text: string): string => quoteJson(text).slice(1, -1);
      cursor.leaves.push({ name, branch, value, start, end: cursor.at - 1, write });
      break;
    }
    default:
      readBare(cursor, name, branch);
  }
}

/** The texts and whole numbers of a JSON text, in order; undefined for any other text. */
export function jsonLeaves(text: string): Leaf[] | undefined {
  if (replyJson(text) === undefined) {
    return undefined;
  }
  const cursor: Cursor = { text, leaves: [], at: text.startsWith('\ufeff') ? 1 : 0 };
  readValue(cursor, '', ROOT);
  return cursor.leaves;
}
