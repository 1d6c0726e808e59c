import { findUnit, type View, widthAt } from './notations.ts';

const [QUOTE, COLON] = [0x22, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Receives the tokens of a JSON text; names and texts without their quotes. */
export interface JsonVisitor {
  name(from: number, to: number): void;
  text(from: number, to: number): void;
  number(from: number, to: number): void;
  /** `true`, `false` or `null`. */
  word?(from: number, to: number): void;
  open?(isList: boolean): void;
  close?(): void;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Accepts JSON, and JSON lines. */
export function isJsonText(text: string): boolean {
  const bare = text.startsWith('\ufeff') ? text.slice(1) : text;
  return (
    parses(bare) ||
    (bare.includes('\n') && bare.split('\n').every((line) => line.trim() === '' || parses(line)))
  );
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}

function isLetter(unit: number): boolean {
  const letter = unit | 0x20;
  return letter >= 0x61 && letter <= 0x7a;
}

function isOfWord(unit: number): boolean {
  return isLetter(unit) || (unit >= 0x30 && unit <= 0x39) || unit === 0x2b || unit === 0x2d || unit === 0x2e;
}

/** The next character of another kind. */
function skip(text: string, isOfKind: (unit: number) => boolean, at: number): number {
  let end = at;
  while (end < text.length && isOfKind(text.charCodeAt(end))) {
    end++;
  }
  return end;
}

/** Visits the tokens of a valid JSON text. */
export function visitJson(view: View, visitor: JsonVisitor): void {
  const { text } = view;
  const { length } = text;
  for (let at = 0; at < length; ) {
    const unit = text.charCodeAt(at);
    const from = at++;
    if (unit === QUOTE && widthAt(view, from) === 1) {
      const to = findUnit(view, QUOTE, 1, at, length);
      at = skip(text, isSpace, to + 1);
      visitor[text.charCodeAt(at) === COLON ? 'name' : 'text'](from + 1, to);
    } else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      visitor.open?.(unit === OPEN_LIST);
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) {
      visitor.close?.();
    } else if (isOfWord(unit)) {
      at = skip(text, isOfWord, at);
      if (isLetter(unit)) {
        visitor.word?.(from, at);
      } else {
        visitor.number(from, at);
      }
    }
  }
}
