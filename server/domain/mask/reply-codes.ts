/** Hides the values of verification codes, by their names, in a third party's text. */
import { isDigit } from '../card/digits.ts';
import { isSad, isSadName } from '../card/sensitive-names.ts';
import type { JsonValue } from '../json/json.ts';
import { visitJson } from '../text/json-tokens.ts';
import { Edits, findUnit, type View, widthAt, writtenFrom } from '../text/notations.ts';
import { remembered } from '../text/remembered.ts';
import { HIDDEN } from './mask-text.ts';

const [QUOTE, APOSTROPHE, AMPERSAND, STAR, COLON, SLASH] = [0x22, 0x27, 0x26, 0x2a, 0x3a, 0x2f];
const [LESS, EQUALS, GREATER, OPEN_LIST, OPEN_OBJECT] = [0x3c, 0x3d, 0x3e, 0x5b, 0x7b];

/** Distances in which a name is searched before a value, and a value after a name. */
const NAME_MAX = 64;
const SPACES_MAX = 8;
const WORDS_MAX = 3;

function tableOf(pattern: RegExp): (unit: number) => boolean {
  const table = Uint8Array.from({ length: 0x80 }, (_, unit) =>
    Number(pattern.test(String.fromCharCode(unit))),
  );
  return (unit) => table[unit] === 1;
}
const isOfName = tableOf(/[\w.\-[\]]/);
const isOfTag = tableOf(/[\w.\-:]/);
const isDelimiter = tableOf(/[\s"'<>&,;}\])]/);
const isSpace = tableOf(/\s/);
const isBetween = tableOf(/[\s:=>]/);
const isLineEnd = tableOf(/[\r\n]/);

function isQuote(unit: number): boolean {
  return unit === QUOTE || unit === APOSTROPHE;
}

/** An object or list, for {@link isSad}. */
const NESTED: JsonValue = new Map();
/** Looked at of a value whose name does not tell alone what it is; more would take quadratic time. */
const SEEN_MAX = 256;

/** The last words that name a code, joined: `SecurityCode`; empty if they do not. */
const codeNameAtEnd = remembered((text) => {
  const words = text.trim().split(/ +/).slice(-WORDS_MAX);
  const names = [words.at(-1) ?? '', ...words.map((_, at) => words.slice(at).join(''))];
  return names.find(isSadName) ?? '';
});

interface Part {
  readonly view: View;
  readonly from: number;
  readonly to: number;
  readonly edits: Edits;
  readonly isForm: boolean;
}

interface CodeName {
  readonly name: string;
  /** The quote after the name in the source; empty if there is none. */
  readonly quote: string;
}

function codeNameBefore({ view, from }: Part, at: number): CodeName | undefined {
  const { text } = view;
  const spacesFrom = Math.max(from, at - SPACES_MAX);
  let end = at;
  while (end > spacesFrom && isSpace(text.charCodeAt(end - 1))) {
    end--;
  }
  const last = end > from ? text.charCodeAt(end - 1) : 0;
  const lowest = Math.max(from, end - NAME_MAX);
  if (isQuote(last)) {
    const width = widthAt(view, end - 1);
    let start = end - 2;
    while (start >= lowest && !(text.charCodeAt(start) === last && widthAt(view, start) === width)) {
      start--;
    }
    const name = start < lowest ? '' : text.slice(start + 1, end - 1);
    return isSadName(name) ? { name, quote: writtenFrom(view, end - 1, end) } : undefined;
  }
  let start = end;
  while (
    start > lowest &&
    (isOfName(text.charCodeAt(start - 1)) || (start < end && text[start - 1] === ' '))
  ) {
    start--;
  }
  const name = codeNameAtEnd(text.slice(start, end));
  return name === '' ? undefined : { name, quote: '' };
}

/** The end of a list or object at `at`; `to` if it has none. */
function bracketsEnd({ view, to }: Part, at: number, quoteWidth: number): number {
  let depth = 0;
  for (let place = at; place < to; place++) {
    const unit = view.text.charCodeAt(place);
    if (unit === QUOTE && widthAt(view, place) === quoteWidth) {
      place = findUnit(view, QUOTE, quoteWidth, place + 1, to);
    } else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      depth++;
    } else if (unit === OPEN_LIST + 2 || unit === OPEN_OBJECT + 2) {
      depth--;
      if (depth === 0) {
        return place + 1;
      }
    }
  }
  return to;
}

/** Hides a value without quotes; returns its end. */
function hideBare(part: Part, at: number, sign: number, { name, quote }: CodeName): number {
  const { view, to, edits } = part;
  const { text } = view;
  const width = widthAt(view, sign);
  // A track contains spaces and punctuation.
  const isEnd = /tra?ck|stripe|swipe/i.test(name) && quote === '' ? isLineEnd : isDelimiter;
  let end = at;
  let hasCode = quote !== '' || text.charCodeAt(sign) === EQUALS;
  const readTo = (furthest: number): void => {
    while (end < furthest && !(isEnd(text.charCodeAt(end)) && widthAt(view, end) <= width)) {
      const unit = text.charCodeAt(end);
      hasCode ||= isDigit(unit) || unit === STAR;
      end++;
    }
  };
  readTo(Math.min(to, at + SEEN_MAX));
  if (!isSad(name, text.slice(at, end))) {
    return at;
  }
  readTo(to);
  if (end === at || !hasCode || text.slice(at, Math.min(end, at + 5)) === 'null') {
    return end;
  }
  edits.replace(at, end, quote + HIDDEN + quote);
  return end;
}

/** Tells whether a value at `at`, up to a character, is that of a code with this name. */
function isCodeUpTo({ view, to }: Part, name: string, at: number, unit: number, width: number): boolean {
  const end = findUnit(view, unit, width, at, Math.min(to, at + SEEN_MAX));
  return isSad(name, view.text.slice(at, end));
}

/** Hides the value after a `:` or `=`, if the name of a code precedes; returns the place to continue. */
function hideBehindSign(part: Part, sign: number): number {
  const { view, to, edits, isForm } = part;
  const { text } = view;
  const found = codeNameBefore(part, sign);
  if (found === undefined) {
    return sign + 1;
  }
  const { name, quote } = found;
  let at = sign + 1;
  if (isForm && text.charCodeAt(sign) === EQUALS && widthAt(view, sign) === 1) {
    if (!isCodeUpTo(part, name, at, AMPERSAND, 1)) {
      return at;
    }
    const end = findUnit(view, AMPERSAND, 1, at, to);
    if (end > at) {
      edits.replace(at, end, HIDDEN);
    }
    return end;
  }
  for (const furthest = Math.min(to, at + SPACES_MAX); at < furthest && isBetween(text.charCodeAt(at)); ) {
    at++;
  }
  const unit = at < to ? text.charCodeAt(at) : 0;
  if (isQuote(unit)) {
    if (!isCodeUpTo(part, name, at + 1, unit, widthAt(view, at))) {
      return at;
    }
    const end = findUnit(view, unit, widthAt(view, at), at + 1, to);
    if (end > at + 1) {
      edits.replace(at + 1, end, HIDDEN);
    }
    return Math.min(end + 1, to);
  }
  if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
    if (!isSad(name, NESTED)) {
      return at;
    }
    const end = bracketsEnd(part, at, quote.length || 1);
    edits.replace(at, end, quote + HIDDEN + quote);
    return end;
  }
  return hideBare(part, at, sign, found);
}

/** The end of an element's name at `at`. */
function tagNameEnd({ view, to }: Part, at: number): number {
  const furthest = Math.min(to, at + NAME_MAX);
  let end = at;
  while (end < furthest && isOfTag(view.text.charCodeAt(end))) {
    end++;
  }
  return end;
}

/** An element's name without its namespace. */
function localName({ view }: Part, from: number, to: number): string {
  const name = view.text.slice(from, to);
  return name.slice(name.lastIndexOf(':') + 1);
}

/** Hides the attributes of an element that names a code; returns the place of its `>`. */
function hideAttributes({ view, to, edits }: Part, from: number, width: number): number {
  const { text } = view;
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at);
    if (unit === GREATER && widthAt(view, at) === width) {
      return at;
    }
    if (isQuote(unit)) {
      const end = findUnit(view, unit, widthAt(view, at), at + 1, to);
      const isNamespace = /\sxmlns[\w:.-]*\s*=\s*$/i.test(text.slice(Math.max(from, at - NAME_MAX), at));
      if (end > at + 1 && !isNamespace) {
        edits.replace(at + 1, end, HIDDEN);
      }
      at = end;
    }
  }
  return to;
}

function findText({ view, to }: Part, wanted: string, at: number): number {
  for (let place = at; place < to; place++) {
    if (view.text.startsWith(wanted, place)) {
      return place;
    }
  }
  return to;
}

/** The end tag of an element with this name whose content begins at `at`. */
function contentEnd(part: Part, at: number, name: string): number {
  const { text } = part.view;
  let depth = 1;
  for (let place = at; place < part.to; place++) {
    if (text.charCodeAt(place) !== LESS) {
      continue;
    }
    if (text.startsWith('<![CDATA[', place) || text.startsWith('<!--', place)) {
      place = findText(part, text[place + 2] === '[' ? ']]>' : '-->', place + 4);
      continue;
    }
    const isClose = text.charCodeAt(place + 1) === SLASH;
    const nameFrom = place + (isClose ? 2 : 1);
    const nameTo = tagNameEnd(part, nameFrom);
    if (localName(part, nameFrom, nameTo).toLowerCase() !== name.toLowerCase()) {
      continue;
    }
    if (!isClose) {
      const tagEnd = findText(part, '>', nameTo);
      depth += text.charCodeAt(tagEnd - 1) === SLASH ? 0 : 1;
      place = tagEnd;
    } else if (--depth === 0) {
      return place;
    }
  }
  return part.to;
}

/** Hides the text of an element whose name does not tell alone what it is; returns the place to continue. */
function hideText(part: Part, nameTo: number, width: number, name: string): number {
  const { view, to, edits } = part;
  const start = findUnit(view, GREATER, width, nameTo, Math.min(to, nameTo + SEEN_MAX)) + 1;
  if (!isCodeUpTo(part, name, start, LESS, width)) {
    return nameTo;
  }
  const end = findUnit(view, LESS, width, start, to);
  edits.replace(start, end, HIDDEN);
  return end;
}

/** Hides an element at `at` that names a code; returns the place to continue. */
function hideElement(part: Part, at: number): number {
  const { view, to, edits } = part;
  const nameTo = tagNameEnd(part, at + 1);
  const name = localName(part, at + 1, nameTo);
  if (!isSadName(name)) {
    return nameTo;
  }
  if (!isSad(name, NESTED)) {
    return hideText(part, nameTo, widthAt(view, at), name);
  }
  const tagEnd = hideAttributes(part, nameTo, widthAt(view, at));
  if (tagEnd === to || view.text.charCodeAt(tagEnd - 1) === SLASH) {
    return Math.min(tagEnd + 1, to);
  }
  const end = contentEnd(part, tagEnd + 1, name);
  if (view.text.slice(tagEnd + 1, end).trim() !== '') {
    edits.replace(tagEnd + 1, end, HIDDEN);
  }
  return end;
}

function hideInPart(part: Part): void {
  const { text } = part.view;
  for (let at = part.from; at < part.to; ) {
    const unit = text.charCodeAt(at);
    if (unit === LESS) {
      at = hideElement(part, at);
    } else if (unit === COLON || unit === EQUALS) {
      at = hideBehindSign(part, at);
    } else {
      at++;
    }
  }
}

export function hideCodes(view: View, isForm: boolean): string {
  const edits = new Edits(view);
  hideInPart({ view, from: 0, to: view.text.length, edits, isForm });
  return edits.result();
}

/** Hides codes in a JSON text: values under the name of a code, and codes in texts. The result is JSON. */
export function hideJsonCodes(view: View): string {
  const edits = new Edits(view);
  let depth = 0;
  // Depth of the hidden list or object; 0: none.
  let hiddenDepth = 0;
  // The name of the next value, if it is that of a code.
  let next: string | undefined;
  const isHidden = (value: JsonValue): boolean => {
    const name = next;
    next = undefined;
    return hiddenDepth > 0 || (name !== undefined && isSad(name, value));
  };
  const literal = (from: number, to: number): void => {
    if (isHidden(view.text.slice(from, to))) {
      edits.replace(from, to, `"${HIDDEN}"`);
    }
  };
  visitJson(view, {
    name(from, to) {
      const name = view.text.slice(from, to);
      next = isSadName(name) ? name : undefined;
      // A form may be read as one name.
      hideInPart({ view, from, to, edits, isForm: false });
    },
    text(from, to) {
      if (isHidden(view.text.slice(from, to))) {
        edits.replace(from, to, HIDDEN);
      } else {
        hideInPart({ view, from, to, edits, isForm: false });
      }
    },
    number: literal,
    word(from, to) {
      if (view.text.slice(from, to) === 'null') {
        next = undefined;
      } else {
        literal(from, to);
      }
    },
    open() {
      depth++;
      if (isHidden(NESTED) && hiddenDepth === 0) {
        hiddenDepth = depth;
      }
    },
    close() {
      if (hiddenDepth === depth) {
        hiddenDepth = 0;
      }
      depth--;
    },
  });
  return edits.result();
}
