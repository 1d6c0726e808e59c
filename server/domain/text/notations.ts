/** A third party's text without its notations, with the place of each character in the source. */
export interface View {
  readonly source: string;
  /** Each notation is one character here. */
  readonly text: string;
  /** Start of each character of `text` in `source`; undefined if both are the same. */
  readonly starts: Int32Array | undefined;
}

/** Notations of characters. `plus`: `+` is a space. */
type Notation = 'backslash' | 'percent' | 'plus' | 'entity';
export type Notations = readonly Notation[];

const BACKSLASH = 0x5c;
const LEADS: Readonly<Record<Notation, string>> = { backslash: '\\', percent: '%', plus: '+', entity: '&' };
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
]);
const ENTITY =
  /&(?:#(\d{1,16})|#x([\da-f]{1,16})|(amp|lt|gt|quot|apos|nbsp|shy|ensp|emsp|thinsp|zwnj|zwj|ndash|mdash));/iy;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  shy: '\u00ad',
  ensp: '\u2002',
  emsp: '\u2003',
  thinsp: '\u2009',
  zwnj: '\u200c',
  zwj: '\u200d',
  ndash: '\u2013',
  mdash: '\u2014',
};
/** Replaces characters of two units, which are never searched for. */
const OTHER = 0xfffd;

/** Character and length of its notation in one number; 0: no notation. */
type Read = (source: string, at: number) => number;
const WIDTH = 0x10000;

function hexAt(source: string, at: number, length: number): number {
  let value = 0;
  for (let place = at; place < at + length; place++) {
    const digit = '0123456789abcdef'.indexOf((source[place] ?? '?').toLowerCase());
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

/** Also in nested texts: any number of backslashes before `uXXXX` is one notation. */
function readBackslash(source: string, at: number): number {
  let count = 1;
  while (source.charCodeAt(at + count) === BACKSLASH) {
    count++;
  }
  const isEven = count % 2 === 0;
  const next = source[at + count];
  const unit = next === 'u' ? hexAt(source, at + count + 1, 4) : -1;
  if (unit >= 0 && (!isEven || unit < 0x80)) {
    return (count + 5) * WIDTH + unit;
  }
  return isEven || next === undefined
    ? count * WIDTH + BACKSLASH
    : (count + 1) * WIDTH + (ESCAPES.get(next) ?? next).charCodeAt(0);
}

/** The percent-encoded byte at `at` if it continues a character of UTF-8, otherwise -1. */
function continuationAt(source: string, at: number): number {
  const byte = source[at] === '%' ? hexAt(source, at + 1, 2) : -1;
  return byte >= 0x80 && byte < 0xc0 ? byte & 0x3f : -1;
}

/** Bytes of ISO-8859-1 that stand between groups of digits: a space and a hyphen. */
const [LATIN_SPACE, LATIN_HYPHEN] = [0xa0, 0xad];

/**
 * ASCII, also as `%uXXXX` and as longer UTF-8 than is allowed, which some servers read, and whole characters of UTF-8: `%B4`
 * alone is more likely the start of a track than a part of a letter.
 */
function readPercent(source: string, at: number): number {
  const byte = hexAt(source, at + 1, 2);
  if (byte < 0xc0 || byte > 0xf4) {
    const unit = byte < 0 && /^%u/i.test(source.slice(at, at + 2)) ? hexAt(source, at + 2, 4) : -1;
    const isRead = (byte >= 0 && byte < 0x80) || byte === LATIN_SPACE || byte === LATIN_HYPHEN;
    return unit >= 0 ? 6 * WIDTH + unit : isRead ? 3 * WIDTH + byte : 0;
  }
  const count = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
  let code = byte & (0x3f >> count);
  for (let next = 1; next <= count; next++) {
    const bits = continuationAt(source, at + 3 * next);
    if (bits < 0) {
      return 0;
    }
    code = (code << 6) | bits;
  }
  return 3 * (count + 1) * WIDTH + (code < WIDTH ? code : OTHER);
}

function readEntity(source: string, at: number): number {
  ENTITY.lastIndex = at;
  const [found, decimal, hex, name = ''] = ENTITY.exec(source) ?? [];
  if (found === undefined) {
    return 0;
  }
  const named = ENTITIES[name.toLowerCase()];
  const code = named?.charCodeAt(0) ?? Number(decimal ?? `0x${hex}`);
  return found.length * WIDTH + (code < WIDTH ? code : OTHER);
}

const READS: Readonly<Record<Notation, Read>> = {
  backslash: readBackslash,
  percent: readPercent,
  plus: () => WIDTH + 0x20,
  entity: readEntity,
};

export function readAs(source: string, notations: Notations): View {
  if (!notations.some((notation) => source.includes(LEADS[notation]))) {
    return { source, text: source, starts: undefined };
  }
  const reads: (Read | undefined)[] = new Array(0x80).fill(undefined);
  const isLead = new Uint8Array(0x10000);
  for (const notation of notations) {
    const lead = LEADS[notation].charCodeAt(0);
    reads[lead] = READS[notation];
    isLead[lead] = 1;
  }
  const units = new Uint16Array(source.length);
  const starts = new Int32Array(source.length + 1);
  let length = 0;
  for (let at = 0; at < source.length; length++) {
    const unit = source.charCodeAt(at);
    const read = isLead[unit] === 1 ? (reads[unit]?.(source, at) ?? 0) : 0;
    units[length] = read === 0 ? unit : read % WIDTH;
    starts[length] = at;
    at += read === 0 ? 1 : Math.floor(read / WIDTH);
  }
  starts[length] = source.length;
  return { source, text: Buffer.from(units.buffer, 0, length * 2).toString('utf16le'), starts };
}

/** The place of a character in the source. */
export function sourceAt({ starts }: View, at: number): number {
  return starts?.[at] ?? at;
}

/** Length of a character's notation: quotes of different lengths are no pair. */
export function widthAt(view: View, at: number): number {
  return sourceAt(view, at + 1) - sourceAt(view, at);
}

export function writtenFrom(view: View, from: number, to: number): string {
  return view.source.slice(sourceAt(view, from), sourceAt(view, to));
}

/** The next place of a character with this notation; `to` if there is none. */
export function findUnit(view: View, wanted: number, width: number, at: number, to: number): number {
  for (let place = at; place < to; place++) {
    if (view.text.charCodeAt(place) === wanted && widthAt(view, place) === width) {
      return place;
    }
  }
  return to;
}

/** A place behind a whole character: one further than `to` within a surrogate pair. */
export function endOfCharacter(text: string, to: number): number {
  return (text.codePointAt(to - 1) ?? 0) > 0xffff ? to + 1 : to;
}

/** Replacements in a text, in ascending order. */
export class Edits {
  #edited = '';
  #done = 0;

  constructor(private readonly view: View) {}

  /** Replaces the characters from `from` to before `to` of the view by a text of the source. */
  replace(from: number, to: number, by: string): void {
    this.#edited += this.view.source.slice(this.#done, sourceAt(this.view, from)) + by;
    this.#done = sourceAt(this.view, to);
  }

  /** The edited text; the source itself without replacements. */
  result(): string {
    return this.#done === 0 ? this.view.source : this.#edited + this.view.source.slice(this.#done);
  }
}
