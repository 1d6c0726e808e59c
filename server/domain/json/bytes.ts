import { JsonNumber, type JsonValue, quoteJson } from './json.ts';

const CAPACITY_MIN = 256;
const UTF8_BYTES_PER_UNIT_MAX = 3;
/** From this length on, the encoder of the runtime is faster than a loop over the characters. */
const NATIVE_LENGTH_MIN = 96;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

const EMPTY = new Uint8Array(0);

const encoder = new TextEncoder();

/** A growing buffer of JSON text in UTF-8. Memory is allocated with the first byte. */
export class JsonWriter {
  bytes: Uint8Array = EMPTY;
  at = 0;

  /** A copy of the written bytes. */
  written(): Uint8Array {
    return this.bytes.slice(0, this.at);
  }

  /** Ensures space for `extra` more bytes and returns the buffer, which may be a new one. */
  reserve(extra: number): Uint8Array {
    const needed = this.at + extra;
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(Math.max(CAPACITY_MIN, needed, this.bytes.length * 2));
      grown.set(this.bytes);
      this.bytes = grown;
    }
    return this.bytes;
  }

  /** Writes one byte of JSON syntax. */
  byte(byte: number): void {
    this.reserve(1)[this.at++] = byte;
  }

  string(text: string): void {
    if (text.length >= NATIVE_LENGTH_MIN || !this.#plain(text)) {
      const literal = quoteJson(text);
      const bytes = this.reserve(literal.length * UTF8_BYTES_PER_UNIT_MAX);
      this.at += encoder.encodeInto(literal, bytes.subarray(this.at)).written;
    }
  }

  member(name: string, value: JsonValue): void {
    this.string(name);
    this.byte(COLON);
    this.value(value);
  }

  value(value: JsonValue): void {
    if (typeof value === 'string') {
      this.string(value);
    } else if (value instanceof JsonNumber) {
      this.#ascii(value.text);
    } else if (value instanceof Map) {
      this.byte(0x7b);
      let isFirst = true;
      for (const [name, member] of value) {
        if (!isFirst) {
          this.byte(COMMA);
        }
        isFirst = false;
        this.member(name, member);
      }
      this.byte(0x7d);
    } else if (Array.isArray(value)) {
      this.byte(0x5b);
      for (const [at, item] of value.entries()) {
        if (at > 0) {
          this.byte(COMMA);
        }
        this.value(item);
      }
      this.byte(0x5d);
    } else {
      this.#ascii(String(value));
    }
  }

  /** Writes a short text of printable ASCII without escapes as a literal. Returns false for other texts. */
  #plain(text: string): boolean {
    const bytes = this.reserve(text.length + 2);
    let to = this.at;
    bytes[to++] = QUOTE;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (unit < 0x20 || unit > 0x7e || unit === QUOTE || unit === BACKSLASH) {
        return false;
      }
      bytes[to++] = unit;
    }
    bytes[to++] = QUOTE;
    this.at = to;
    return true;
  }

  #ascii(text: string): void {
    const bytes = this.reserve(text.length);
    for (let at = 0; at < text.length; at++) {
      bytes[this.at++] = text.charCodeAt(at);
    }
  }
}

/** The UTF-8 bytes of `stringifyJson(value)`, faster than encoding that text. */
export function encodeJson(value: JsonValue): Uint8Array {
  const writer = new JsonWriter();
  writer.value(value);
  return writer.written();
}
