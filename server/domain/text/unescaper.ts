/**
 * Removes one level of the notations of JSON, URLs and markup. For a search only, since different texts may become the
 * same: `\uXXXX`, `\xXX`, `%XX`, `%uXXXX` and `&…;` are decoded, each surrogate by itself; `\\` is one backslash, any
 * other backslash is removed (`\/` is `/`, but `\n` is `n`); NUL bytes likewise, so that UTF-16 is read as well.
 */

/** Bytes, and for each its end in the received bytes. */
export interface Stretch {
  readonly bytes: Buffer;
  readonly ends: Float64Array;
}

/** Bytes that can begin an escape. */
export const ESCAPING = [...'\0\\%&+'];
/** Names of entities, each with its character. */
const ENTITIES: ReadonlyMap<string, string> = new Map(
  [
    "amp& apos' ast* bsol\\ colon: comma, commat@ dollar$ equals= excl! grave` gt> hat^ lbrace{ lbrack[",
    'lcub{ lowbar_ lpar( lsqb[ lt< num# percnt% period. plus+ quest? quot" rbrace} rbrack] rcub} rpar)',
    'rsqb] semi; sol/ verbar| vert|',
  ].flatMap((line) => line.split(' ').map((entry) => [entry.slice(0, -1), entry.slice(-1)] as const)),
);
const MAY_BE_ESCAPE = /[\0\\%&]/;
/** An escape, the beginning of one at the end of a text (the only group), or a byte to remove. */
const ESCAPE = new RegExp(
  [
    String.raw`\\(?=[^\\ux])|\0\0|\\\\|[\\%]u[\da-f]{4}|(?:\\x|%)[\da-f]{2}|&(?:#x[\da-f]{1,8}|#\d{1,9}|[a-z]{2,6});`,
    String.raw`(\0|\\(?:u[\da-f]{0,3}|x[\da-f]?)?|%(?:u[\da-f]{0,3}|[\da-f])?|&(?:#x?[\da-f]{0,9}|[a-z]{0,6}))$`,
    String.raw`[\0\\]`,
  ].join('|'),
  'gi',
);

/** A character in UTF-8, as text of Latin-1. */
function utf8(codePoint: number): string {
  const character = codePoint > 0x10ffff ? '' : String.fromCodePoint(codePoint);
  return codePoint < 0x80 ? character : Buffer.from(character).toString('latin1');
}

/** The text of Latin-1 that an escape stands for. */
function decoded(written: string): string {
  if (written.length < 3) {
    return written.slice(1);
  }
  if (written.startsWith('&#')) {
    const isHex = /x/i.test(written.charAt(2));
    return utf8(Number.parseInt(written.slice(isHex ? 3 : 2), isHex ? 16 : 10));
  }
  if (written.startsWith('&')) {
    return ENTITIES.get(written.slice(1, -1).toLowerCase()) ?? written;
  }
  return written.length === 6
    ? utf8(Number.parseInt(written.slice(2), 16))
    : String.fromCharCode(Number.parseInt(written.slice(-2), 16));
}

const NOTHING: Stretch = { bytes: Buffer.alloc(0), ends: new Float64Array(0) };

function joined(first: Stretch, second: Stretch): Stretch {
  if (first.bytes.length === 0) {
    return second;
  }
  const ends = new Float64Array(first.ends.length + second.ends.length);
  ends.set(first.ends);
  ends.set(second.ends, first.ends.length);
  return { bytes: Buffer.concat([first.bytes, second.bytes]), ends };
}

function part({ bytes, ends }: Stretch, from: number, to?: number): Stretch {
  return { bytes: bytes.subarray(from, to), ends: ends.subarray(from, to) };
}

/** Copies from one stretch into another; returns the end in the target. */
function copy(source: Stretch, from: number, to: number, target: Stretch, place: number): number {
  let size = place;
  for (let at = from; at < to; at++) {
    target.bytes[size] = source.bytes[at] as number;
    target.ends[size++] = source.ends[at] as number;
  }
  return size;
}

export class Unescaper {
  /** The beginning of an escape that may continue in the next stretch. */
  #rest = NOTHING;

  /** Returns the unescaped part that is certain: everything for the last stretch. */
  read(stretch: Stretch, isLast: boolean): Stretch {
    const given = joined(this.#rest, stretch);
    const text = given.bytes.toString('latin1');
    if (!MAY_BE_ESCAPE.test(text)) {
      this.#rest = NOTHING;
      return given;
    }
    const { length } = text;
    const shown: Stretch = { bytes: Buffer.alloc(length), ends: new Float64Array(length) };
    let [from, rest, size] = [0, length, 0];
    ESCAPE.lastIndex = 0;
    for (let match = ESCAPE.exec(text); match !== null; match = ESCAPE.exec(text)) {
      const [found, beginning] = match;
      size = copy(given, from, match.index, shown, size);
      from = match.index;
      if (beginning === undefined) {
        from += found.length;
        for (const char of decoded(found)) {
          shown.bytes[size] = char.charCodeAt(0);
          shown.ends[size++] = given.ends[from - 1] as number;
        }
      } else if (isLast) {
        from += /^[\0\\]/.test(found) ? 1 : 0;
      } else {
        rest = from;
      }
    }
    size = copy(given, from, rest, shown, size);
    this.#rest = rest === length ? NOTHING : part(given, rest);
    return part(shown, 0, size);
  }
}
