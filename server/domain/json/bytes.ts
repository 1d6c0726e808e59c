import { JsonNumber, type JsonObject, type JsonValue, quoteJson } from './json.ts';

/** A growing buffer of JSON text in UTF-8; the bytes before `at` are written. */
export interface JsonWriter {
  bytes: Uint8Array;
  at: number;
}

/** The first capacity of a buffer, in bytes. */
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

/** An empty writer; memory is allocated with the first byte. */
export function createJsonWriter(): JsonWriter {
  return { bytes: EMPTY, at: 0 };
}

/** A copy of the written bytes, in a buffer of exactly that size. */
export function writtenBytes(writer: JsonWriter): Uint8Array {
  return writer.bytes.slice(0, writer.at);
}

/** Ensures space for `extra` more bytes and returns the buffer, which may be a new one. */
export function reserveBytes(writer: JsonWriter, extra: number): Uint8Array {
  const needed = writer.at + extra;
  if (needed > writer.bytes.length) {
    const grown = new Uint8Array(Math.max(CAPACITY_MIN, needed, writer.bytes.length * 2));
    grown.set(writer.bytes.subarray(0, writer.at));
    writer.bytes = grown;
  }
  return writer.bytes;
}

/** Writes one byte of JSON syntax. */
export function writeByte(writer: JsonWriter, byte: number): void {
  const bytes = reserveBytes(writer, 1);
  bytes[writer.at++] = byte;
}

function writeText(writer: JsonWriter, text: string): void {
  const bytes = reserveBytes(writer, text.length * UTF8_BYTES_PER_UNIT_MAX);
  writer.at += encoder.encodeInto(text, bytes.subarray(writer.at)).written;
}

/** Writes a short text of printable ASCII without escapes as a literal. Returns false and writes nothing for other texts. */
function writePlain(writer: JsonWriter, text: string): boolean {
  const bytes = reserveBytes(writer, text.length + 2);
  let to = writer.at;
  bytes[to++] = QUOTE;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || unit > 0x7e || unit === QUOTE || unit === BACKSLASH) {
      return false;
    }
    bytes[to++] = unit;
  }
  bytes[to++] = QUOTE;
  writer.at = to;
  return true;
}

export function writeJsonString(writer: JsonWriter, text: string): void {
  if (text.length >= NATIVE_LENGTH_MIN || !writePlain(writer, text)) {
    writeText(writer, quoteJson(text));
  }
}

function writeAscii(writer: JsonWriter, text: string): void {
  const bytes = reserveBytes(writer, text.length);
  for (let at = 0; at < text.length; at++) {
    bytes[writer.at + at] = text.charCodeAt(at);
  }
  writer.at += text.length;
}

export function writeJsonMember(writer: JsonWriter, name: string, value: JsonValue): void {
  writeJsonString(writer, name);
  writeByte(writer, COLON);
  writeJson(writer, value);
}

export function writeJson(writer: JsonWriter, value: JsonValue): void {
  if (typeof value === 'string') {
    writeJsonString(writer, value);
  } else if (value instanceof JsonNumber) {
    writeAscii(writer, value.text);
  } else if (value instanceof Map) {
    writeObject(writer, value);
  } else if (Array.isArray(value)) {
    writeArray(writer, value);
  } else {
    writeAscii(writer, String(value));
  }
}

function writeObject(writer: JsonWriter, object: JsonObject): void {
  let before = 0x7b;
  for (const [name, value] of object) {
    writeByte(writer, before);
    writeJsonMember(writer, name, value);
    before = COMMA;
  }
  if (object.size === 0) {
    writeByte(writer, before);
  }
  writeByte(writer, 0x7d);
}

function writeArray(writer: JsonWriter, items: readonly JsonValue[]): void {
  let before = 0x5b;
  for (const item of items) {
    writeByte(writer, before);
    writeJson(writer, item);
    before = COMMA;
  }
  if (items.length === 0) {
    writeByte(writer, before);
  }
  writeByte(writer, 0x5d);
}

/** The UTF-8 bytes of `stringifyJson(value)`, faster than encoding that text. */
export function encodeJson(value: JsonValue): Uint8Array {
  const writer = createJsonWriter();
  writeJson(writer, value);
  return writtenBytes(writer);
}
