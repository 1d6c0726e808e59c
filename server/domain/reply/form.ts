import { percentEncode } from '../template/escape.ts';
import { type Charset, charsetOf, undecodable, windowsCharacter } from '../text/charset.ts';
import { type Branch, branchOf, type Leaf, type Notation, ROOT, readNotation } from './leaves.ts';

const STEPS_MAX = 64;
const INDEX = /^\d+$/;

/** The names of a form or of a row: `card[number]` and `card.number` are nested in one branch. */
export class Names {
  readonly #branches = new Map<string, Branch>();

  constructor(private readonly root: Branch = ROOT) {}

  /** The last name of a path, and the branch that it is in. Items of a list have the name of the list. */
  find(path: string): { readonly name: string; readonly branch: Branch; readonly field: string } {
    if (!/[[\].]/.test(path)) {
      return { name: path, branch: this.root, field: path };
    }
    const steps = path.split(/[[\].]+/, STEPS_MAX + 1).filter((step) => step !== '');
    const name = steps.pop() ?? '';
    let branch = this.root;
    let way = '';
    for (const step of steps) {
      way += `${step}.`;
      branch = this.#branches.get(way) ?? branchOf(INDEX.test(step) ? branch.name : step, branch);
      this.#branches.set(way, branch);
    }
    return { name, branch, field: path };
  }
}

function readUtf8(match: string): string {
  try {
    return match === '+' ? ' ' : decodeURIComponent(match);
  } catch {
    throw undecodable();
  }
}

/** Each match is one character; the last alternative is a byte that is part of none. */
const UTF_8: Notation = {
  pattern: /\+|%[0-7][\da-f]|%[c-f][\da-f](?:%[89ab][\da-f]){1,3}|%[89a-f][\da-f]/gi,
  read: readUtf8,
};
const WINDOWS: Notation = {
  pattern: /\+|%[\da-f]{2}/gi,
  read: (match) => (match === '+' ? ' ' : windowsCharacter(Number.parseInt(match.slice(1), 16))),
};

/** The field in which browsers send the charset of a form (HTML, section 4.10.22.4). */
const CHARSET_FIELD = /(?:^|&)_charset_=([\w.:-]{1,40})(?:&|$)/;
const NOTATION = /[+%]/;
const NOT_ASCII = /[^ -~]/;

/** Percent-encoding is that of UTF-8 unless the form says otherwise; UTF-16 is never percent-encoded. */
function notationOf(text: string, charset: Charset): Notation {
  const [, label] = CHARSET_FIELD.exec(text) ?? [];
  const named = charset === 'utf-8' && label !== undefined ? charsetOf(label) : charset;
  return named === 'windows-1252' ? WINDOWS : UTF_8;
}

/** The values of a form body, in order. Throws `invalid_request` for bytes that are not in its charset. */
export function formLeaves(text: string, charset: Charset = 'utf-8'): Leaf[] {
  const names = new Names();
  const notation = notationOf(text, charset);
  const decode = (source: string): string =>
    NOTATION.test(source) ? readNotation(source, notation) : source;
  const leaves: Leaf[] = [];
  let start = 0;
  for (const pair of text.trimEnd().split('&')) {
    const equals = pair.indexOf('=');
    if (equals >= 0) {
      const value = decode(pair.slice(equals + 1));
      // Tags are filled as UTF-8.
      const write = notation === UTF_8 || !NOT_ASCII.test(value) ? percentEncode : undefined;
      const place = { start: start + equals + 1, end: start + pair.length, write, notation };
      leaves.push({ ...names.find(decode(pair.slice(0, equals))), value, ...place });
    }
    start += pair.length + 1;
  }
  return leaves;
}
