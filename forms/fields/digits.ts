/** Digits of several scripts, and editing of a field of digits that keeps the position of the caret. */

/** The zeros of other decimal digits: fullwidth, Arabic-Indic, Persian and Urdu. */
const ZEROS = [0xff10, 0x660, 0x6f0];

/** The text with such digits replaced by ASCII ones; every character keeps its position. */
export function asciiDigits(text: string): string {
  return text.replace(/[０-９٠-٩۰-۹]/g, (digit) => {
    const unit = digit.charCodeAt(0);
    const zero = ZEROS.find((start) => unit >= start && unit < start + 10) ?? unit;
    return String(unit - zero);
  });
}

/** The digits of a text, of any of those scripts, as ASCII digits. */
export function digitsOf(text: string): string {
  return asciiDigits(text).replace(/\D/g, '');
}

/** One change of a field: its text before, its text now, the caret, and the event's `inputType`. */
export interface Typed {
  readonly before: string;
  readonly value: string;
  readonly caret: number;
  readonly kind: string;
}

/** The new text of the field and the new position of the caret. */
export interface Edited {
  readonly value: string;
  readonly caret: number;
}

/** Formats a field after a change. */
export type Edit = (typed: Typed) => Edited;

function isInsert(kind: string): boolean {
  return !kind.startsWith('delete');
}

/** The position after a number of digits; after an insertion also after the following separator. */
function placeAfter(text: string, count: number, skipSeparator: boolean): number {
  let left = count;
  let at = 0;
  while (at < text.length && left > 0) {
    left -= /\d/.test(text.charAt(at)) ? 1 : 0;
    at += 1;
  }
  while (skipSeparator && at < text.length && /\D/.test(text.charAt(at))) {
    at += 1;
  }
  return at;
}

/**
 * Formats a field of digits after a change. The caret stays between the same digits. Deleting a separator deletes the
 * digit next to it. A digit that is typed into a full field is ignored, so that none is lost at the end.
 */
export function editDigits(
  { before, value, caret, kind }: Typed,
  format: (digits: string) => string,
  lengthMax: (digits: string) => number,
): Edited {
  const had = digitsOf(before);
  let digits = digitsOf(value);
  let at = digitsOf(value.slice(0, caret)).length;
  if (digits === had && value.length < before.length && !isInsert(kind)) {
    const cut = kind === 'deleteContentForward' ? at : at - 1;
    digits = cut < 0 ? digits : digits.slice(0, cut) + digits.slice(cut + 1);
    at = Math.min(at, Math.max(cut, 0));
  }
  if (digits.length > lengthMax(digits)) {
    const full = kind === 'insertText' && had.length === lengthMax(had);
    at -= full ? digits.length - had.length : 0;
    digits = full ? had : digits.slice(0, lengthMax(digits));
  }
  const text = format(digits);
  return { value: text, caret: placeAfter(text, at, isInsert(kind)) };
}

/** An edit for a field of digits without separators. */
export function plainDigits(lengthMax: () => number): Edit {
  return (typed) => editDigits(typed, (digits) => digits, lengthMax);
}
