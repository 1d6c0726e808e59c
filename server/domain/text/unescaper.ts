/**
 * Bytes without the notations of JSON, URLs and markup: each character in one form, whatever it was written as, and as often
 * as it was escaped. It serves the search for a text only, since texts that differ may become the same:
 *
 * - backslashes are left out, after `\uXXXX` and `\xXX` are decoded;
 * - `%XX`, `%uXXXX` and `&…;` are decoded, and what that gives may be the beginning of another one;
 * - NUL bytes are left out, so that UTF-16 is read as well, and `+` is a space.
 */

/** Takes the bytes, and where the received bytes that each of them stands for start and end. */
interface Sink {
  put(byte: number, start: number, end: number): void;
}

const [BACKSLASH, PERCENT, AMPERSAND, SEMICOLON, HASH] = [0x5c, 0x25, 0x26, 0x3b, 0x23];
const [PLUS, SPACE, LETTER_U, LETTER_X] = [0x2b, 0x20, 0x75, 0x78];
/** Added to characters beyond ASCII that were decoded, to tell them from bytes. */
const CHARACTER = 0x100;
/** What {@link Unescaper} knows of a character that may be in an escape. */
const [REFUSED, TAKEN] = [-1, -2];
/** Escapes within one another; bytes that are read for one `\`, `%` or `&`; NUL bytes in a row. More are not decoded. */
const [DEPTH_MAX, WIDTH_MAX, NULS_MAX] = [8, 1024, 3];
/** The characters of an entity between `&` and `;`. */
const ENTITY_MAX = 10;
const ENTITIES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    amp: '&',
    apos: "'",
    ast: '*',
    bsol: '\\',
    colon: ':',
    comma: ',',
    commat: '@',
    dollar: '$',
    equals: '=',
    excl: '!',
    grave: '`',
    gt: '>',
    hat: '^',
    lbrace: '{',
    lbrack: '[',
    lcub: '{',
    lowbar: '_',
    lpar: '(',
    lsqb: '[',
    lt: '<',
    nbsp: '\u00a0',
    num: '#',
    percnt: '%',
    period: '.',
    plus: '+',
    quest: '?',
    quot: '"',
    rbrace: '}',
    rbrack: ']',
    rcub: '}',
    rpar: ')',
    rsqb: ']',
    semi: ';',
    sol: '/',
    verbar: '|',
    vert: '|',
  }).map(([name, text]) => [name, text.charCodeAt(0)]),
);
/** Whether a byte stands for itself where no escape is open. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  [0, BACKSLASH, PERCENT, AMPERSAND, PLUS].includes(byte) ? 0 : 1,
);

/** The bytes that do not stand for themselves. */
export const ESCAPING: readonly number[] = [...IS_PLAIN.keys()].filter((byte) => IS_PLAIN[byte] === 0);

/** The value of a hexadecimal digit, or -1. */
function digitOf(char: number): number {
  if (char >= 0x30 && char <= 0x39) {
    return char - 0x30;
  }
  const letter = char | 0x20;
  return char < 0x80 && letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isAlphanumeric(char: number): boolean {
  const letter = char | 0x20;
  return (char >= 0x30 && char <= 0x39) || (char < 0x80 && letter >= 0x61 && letter <= 0x7a);
}

/** The number of an entity: `x2F` or `47`. */
function numberOf(text: string): number | undefined {
  const isHex = /^x/i.test(text);
  const digits = isHex ? text.slice(1) : text;
  return (isHex ? /^[\da-f]+$/i : /^\d+$/).test(digits)
    ? Number.parseInt(digits, isHex ? 16 : 10)
    : undefined;
}

function isSurrogate(char: number, first: number): boolean {
  return char >= CHARACTER + first && char < CHARACTER + first + 0x400;
}

function opensEscape(char: number): boolean {
  return char === BACKSLASH || char === PERCENT || char === AMPERSAND || isSurrogate(char, 0xd800);
}

function characterOf(codePoint: number): number {
  return codePoint < 0x80 ? codePoint : CHARACTER + codePoint;
}

/** Escapes that are not complete are kept, at most {@link DEPTH_MAX}; an escape may itself be written with escapes. */
export class Unescaper {
  readonly #sink: Sink;
  /** The characters of open escapes, one after the other, and where they start and end. */
  readonly #chars = new Int32Array(DEPTH_MAX * (ENTITY_MAX + 2));
  readonly #starts = new Float64Array(this.#chars.length);
  readonly #ends = new Float64Array(this.#chars.length);
  /** Whether an opening character was received as it is. */
  readonly #isByte = new Uint8Array(this.#chars.length);
  #size = 0;
  /** Where in these lists each escape begins. */
  readonly #open: number[] = [];
  #nuls = 0;
  #nulsEnd = -1;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** Where the first open escape starts. */
  get from(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : (this.#starts[0] as number);
  }

  /** Takes bytes, the first of which is at `offset`. */
  write(bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (this.#size === 0 && IS_PLAIN[byte] === 1) {
        this.#sink.put(byte, offset + at, offset + at + 1);
      } else {
        this.#put(byte, offset + at, offset + at + 1, true);
      }
    }
  }

  /** Ends the bytes: open escapes are none. */
  end(): void {
    while (this.#size > 0) {
      this.#giveUp();
    }
  }

  /** Takes a character, which is none of an escape's beginning where it has been found to be none. */
  #put(char: number, start: number, end: number, mayOpen: boolean): void {
    if (char === 0 && this.#isLeftOut(start, end)) {
      return;
    }
    if (mayOpen && opensEscape(char) && end - start <= WIDTH_MAX) {
      this.#begin(char, start, end);
    } else if (this.#size === 0) {
      this.#emit(char, start, end);
    } else {
      this.#continue(char, start, end);
    }
  }

  #isLeftOut(start: number, end: number): boolean {
    this.#nuls = start === this.#nulsEnd ? this.#nuls + 1 : 1;
    this.#nulsEnd = end;
    return this.#nuls <= NULS_MAX;
  }

  #begin(char: number, start: number, end: number): void {
    const last = this.#size - 1;
    const isRun = char === BACKSLASH && last === this.#open.at(-1) && this.#chars[last] === BACKSLASH;
    const isByte = end - start === 1;
    // A backslash after one that was itself escaped may begin the rest of that escape: `\u005c\u006e`.
    if (isRun && this.#isByte[last] === Number(isByte)) {
      if (end - (this.#starts[last] as number) <= WIDTH_MAX) {
        this.#ends[last] = end;
        return;
      }
      this.#close(last);
      this.#put(BACKSLASH, this.#starts[last] as number, this.#ends[last] as number, false);
    }
    if (this.#open.length === DEPTH_MAX) {
      this.end();
    }
    this.#isByte[this.#size] = Number(isByte);
    this.#open.push(this.#size);
    this.#append(char, start, end);
  }

  #append(char: number, start: number, end: number): void {
    this.#chars[this.#size] = char;
    this.#starts[this.#size] = start;
    this.#ends[this.#size++] = end;
  }

  #close(at: number): void {
    this.#open.pop();
    this.#size = at;
  }

  /** Takes a character that the innermost escape goes on with, completes, or is ended by. */
  #continue(char: number, start: number, end: number): void {
    const at = this.#open.at(-1) as number;
    const next = this.#read(at, char);
    if (next === TAKEN) {
      this.#append(char, start, end);
    } else if (next !== REFUSED) {
      this.#close(at);
      this.#put(next, this.#starts[at] as number, end, true);
    } else if (this.#chars[at] === BACKSLASH && at === this.#size - 1) {
      this.#close(at);
      this.#put(char, this.#starts[at] as number, end, false);
    } else {
      this.#giveUp();
      this.#put(char, start, end, false);
    }
  }

  /** What the innermost escape stands for with one more character, or whether it is one. */
  #read(at: number, char: number): number {
    const opening = this.#chars[at] as number;
    if (opening === AMPERSAND) {
      if (char === SEMICOLON) {
        return this.#entity(at + 1);
      }
      const isShort = this.#size - at <= ENTITY_MAX;
      return isShort && (isAlphanumeric(char) || char === HASH) ? TAKEN : REFUSED;
    }
    if (opening < CHARACTER) {
      return this.#digits(at, opening, char);
    }
    const high = opening - CHARACTER - 0xd800;
    return isSurrogate(char, 0xdc00) ? char + 0x10000 - 0xdc00 + (high << 10) : REFUSED;
  }

  /** The same for `\\` and `%`. */
  #digits(at: number, opening: number, char: number): number {
    const isFirst = at === this.#size - 1;
    if (isFirst && (char === LETTER_U || (char === LETTER_X && opening === BACKSLASH))) {
      return TAKEN;
    }
    if (digitOf(char) < 0 || (isFirst && opening === BACKSLASH)) {
      return REFUSED;
    }
    const letter = isFirst ? char : (this.#chars[at + 1] as number);
    const from = letter === LETTER_U || letter === LETTER_X ? at + 2 : at + 1;
    if (this.#size - from + 1 < (letter === LETTER_U ? 4 : 2)) {
      return TAKEN;
    }
    let value = 0;
    for (let each = from; each < this.#size; each++) {
      value = value * 16 + digitOf(this.#chars[each] as number);
    }
    value = value * 16 + digitOf(char);
    return letter === LETTER_U ? characterOf(value) : value;
  }

  #entity(from: number): number {
    const name = String.fromCharCode(...this.#chars.subarray(from, this.#size));
    const codePoint = name.startsWith('#') ? numberOf(name.slice(1)) : ENTITIES.get(name.toLowerCase());
    return codePoint === undefined || codePoint > 0x10ffff ? REFUSED : characterOf(codePoint);
  }

  /** The innermost escape is none: its characters stand for themselves, or belong to the escape around it. */
  #giveUp(): void {
    const at = this.#open.at(-1) as number;
    const size = this.#size;
    this.#close(at);
    let from = at;
    if (this.#chars[at] === BACKSLASH) {
      from++;
      this.#starts[from] = this.#starts[at] as number;
    }
    // What is put again overwrites no place behind its own.
    for (let each = from; each < size; each++) {
      this.#put(this.#chars[each] as number, this.#starts[each] as number, this.#ends[each] as number, false);
    }
  }

  #emit(char: number, start: number, end: number): void {
    if (char < CHARACTER) {
      this.#sink.put(char === PLUS ? SPACE : char, start, end);
      return;
    }
    const code = char - CHARACTER;
    if (code < 0x800) {
      this.#sink.put(0xc0 | (code >> 6), start, end);
    } else {
      if (code < 0x10000) {
        this.#sink.put(0xe0 | (code >> 12), start, end);
      } else {
        this.#sink.put(0xf0 | (code >> 18), start, end);
        this.#sink.put(0x80 | ((code >> 12) & 0x3f), start, end);
      }
      this.#sink.put(0x80 | ((code >> 6) & 0x3f), start, end);
    }
    this.#sink.put(0x80 | (code & 0x3f), start, end);
  }
}

/** The bytes of a text: of one that is whole, or of one after which an escape at its end may go on. */
export function unescaped(bytes: Uint8Array, isWhole = true): Uint8Array {
  const found: number[] = [];
  const unescaper = new Unescaper({ put: (byte) => found.push(byte) });
  unescaper.write(bytes, 0);
  if (isWhole) {
    unescaper.end();
  }
  return Uint8Array.from(found);
}
