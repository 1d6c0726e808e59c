import { countCharacters } from '../text/identifiers.ts';

/** Replacement of a hidden value of any length. */
export const HIDDEN = '********';
/** Visible characters (PCI DSS 3.4.1). */
const VISIBLE = 4;
const SPACE = 0x20;

/** Tells whether the unit at `at` is the second half of a surrogate pair. */
function endsPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff && at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** The start of the visible part: before the fourth-last non-space character, or 0. */
function visibleFrom(text: string): number {
  let at = text.length;
  for (let visible = 0; at > 0 && visible < VISIBLE; ) {
    at -= endsPair(text, at - 1) ? 2 : 1;
    if (text.charCodeAt(at) !== SPACE) {
      visible++;
    }
  }
  return at;
}

/** One `*` for each code point before `end`, except spaces. */
function starsUpTo(text: string, end: number): string {
  let stars = '';
  let run = 0;
  for (let at = 0; at < end; at++) {
    if (text.charCodeAt(at) === SPACE) {
      stars += `${'*'.repeat(run)} `;
      run = 0;
    } else if (!endsPair(text, at)) {
      run++;
    }
  }
  return stars + '*'.repeat(run);
}

/**
 * Masks a text except for its last four non-space characters; spaces (U+0020) are kept. Characters are code points. A
 * text of four characters or less is unchanged: verification codes need {@link maskWhole}.
 */
export function maskText(text: string): string {
  const from = visibleFrom(text);
  return from === 0 ? text : starsUpTo(text, from) + text.slice(from);
}

/** Masks a text completely: one `*` for each code point, including spaces. */
export function maskWhole(text: string): string {
  return '*'.repeat(countCharacters(text));
}
