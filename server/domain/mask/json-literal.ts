/** Numbers of a JSON text within another text: a masked one needs quotes, so that the text stays JSON. */
import { type View, writtenFrom } from '../text/notations.ts';

/** A number's literal, and the quote that a text has at its place, in the notation of the source. */
export interface Literal {
  readonly from: number;
  readonly to: number;
  readonly quote: string;
}

const [SPACE, QUOTE, COMMA, MINUS, COLON, OPEN_LIST] = [0x20, 0x22, 0x2c, 0x2d, 0x3a, 0x5b];
/** The rest of a literal, before the end of a value. */
const REST = /(?:\.\d+)?(?:e[-+]?\d+)?(?=\s*[,}\]])/iy;

function isSpace(unit: number): boolean {
  return unit === SPACE || (unit >= 0x09 && unit <= 0x0d);
}

/**
 * A function that returns the literal to which the digits from `from` to before `to` belong, if these are the value of a
 * member whose name has quotes, or an item of a list with a quote before it. Places are given in ascending order, with the
 * start of the text that they are in.
 */
export function literalsOf(view: View): (from: number, to: number, start?: number) => Literal | undefined {
  const { text } = view;
  let seen = 0;
  let lastQuote = -1;
  const before = (at: number): number => {
    let place = at - 1;
    while (place >= 0 && isSpace(text.charCodeAt(place))) {
      place--;
    }
    return place;
  };
  /** The quote of texts beside a list's item: that of the last text, or a more deeply escaped one if that has begun. */
  const quoteInList = (from: number, start: number): string | undefined => {
    for (; seen < from; seen++) {
      if (text.charCodeAt(seen) === QUOTE) {
        lastQuote = seen;
      }
    }
    if (lastQuote < 0) {
      return undefined;
    }
    const quote = writtenFrom(view, lastQuote, lastQuote + 1);
    const next = text.charCodeAt(lastQuote + 1);
    if (next === OPEN_LIST) {
      return JSON.stringify(quote).slice(1, -1);
    }
    return lastQuote >= start && (next === COLON || next === COMMA) ? quote : undefined;
  };
  return (digitsFrom, digitsTo, start = 0) => {
    REST.lastIndex = digitsTo;
    const rest = REST.exec(text);
    if (rest === null) {
      return undefined;
    }
    const from = text.charCodeAt(digitsFrom - 1) === MINUS ? digitsFrom - 1 : digitsFrom;
    const sign = before(from);
    const unit = text.charCodeAt(sign);
    let quote: string | undefined;
    if (unit === COLON) {
      const place = before(sign);
      const isName = place >= start && text.charCodeAt(place) === QUOTE;
      quote = isName ? writtenFrom(view, place, place + 1) : undefined;
    } else if (unit === COMMA || unit === OPEN_LIST) {
      quote = quoteInList(from, start);
    }
    return quote === undefined ? undefined : { from, to: digitsTo + rest[0].length, quote };
  };
}

/** What replaces a literal whose digits from `from` to before `to` become `shown`; without a literal, `shown` itself. */
export function quoted(view: View, from: number, to: number, shown: string, literal?: Literal): string {
  return literal === undefined
    ? shown
    : literal.quote +
        writtenFrom(view, literal.from, from) +
        shown +
        writtenFrom(view, to, literal.to) +
        literal.quote;
}
