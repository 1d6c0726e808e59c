/** A third party's text as it is read, with the place of each character as it is written. */

export interface View {
  readonly source: string;
  /** The text without its notations: each of them is one character here. */
  readonly text: string;
  /** Where each character of `text` begins in `source`; undefined where the two are the same. */
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
const ENTITY = /&(?:#(\d{1,16})|#x([\da-f]{1,16})|(amp|lt|gt|quot|apos|nbsp));/iy;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
};
/** Stands for a character of two units, of which none is looked for. */
const OTHER = 0xfffd;

/** A character and how long its notation is, in one number; 0: the text has none there. */
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

/** Of texts within texts too: any number of backslashes before `uXXXX` is one notation. */
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

/** Only ASCII: `%B4` is rather the begin of a track than a part of a letter. */
function readPercent(source: string, at: number): number {
  const byte = hexAt(source, at + 1, 2);
  return byte >= 0 && byte < 0x80 ? 3 * WIDTH + byte : 0;
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

/** Whether a text may have one of these notations. */
export function hasNotation(source: string, notations: Notations): boolean {
  return notations.some((notation) => source.includes(LEADS[notation]));
}

export function readAs(source: string, notations: Notations): View {
  if (!hasNotation(source, notations)) {
    return { source, text: source, starts: undefined };
  }
  const reads: (Read | undefined)[] = new Array(0x80).fill(undefined);
  for (const notation of notations) {
    reads[LEADS[notation].charCodeAt(0)] = READS[notation];
  }
  const isLead = new Uint8Array(0x10000);
  for (const notation of notations) {
    isLead[LEADS[notation].charCodeAt(0)] = 1;
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

/** The place of a character in the text as it is written. */
export function sourceAt({ starts }: View, at: number): number {
  return starts?.[at] ?? at;
}

/** How long the notation of a character is: of two quotes only those with the same are a pair. */
export function widthAt(view: View, at: number): number {
  return sourceAt(view, at + 1) - sourceAt(view, at);
}

export function writtenFrom(view: View, from: number, to: number): string {
  return view.source.slice(sourceAt(view, from), sourceAt(view, to));
}

/** Where a character with this notation stands from `at` on; `to` if none does before. */
export function findUnit(view: View, wanted: number, width: number, at: number, to: number): number {
  for (let place = at; place < to; place++) {
    if (view.text.charCodeAt(place) === wanted && widthAt(view, place) === width) {
      return place;
    }
  }
  return to;
}

/** Replaces parts of a text, in order. */
export interface Edits {
  /** Replaces the characters from `from` to before `to` of the view; `by` is as it is to be written. */
  replace(from: number, to: number, by: string): void;
  /** The text with all that was replaced; the given one if nothing was. */
  result(): string;
}

export function editsOf(view: View): Edits {
  let [edited, done] = ['', 0];
  return {
    replace(from, to, by) {
      edited += view.source.slice(done, sourceAt(view, from)) + by;
      done = sourceAt(view, to);
    },
    result: () => (done === 0 ? view.source : edited + view.source.slice(done)),
  };
}
