import { VaultError } from '../../core/errors.ts';

/** The charsets in which bodies are read; `windows-1252` also for ISO-8859-1, as senders mean it (WHATWG Encoding). */
export type Charset = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** A text and the charset that its bytes were in. */
export interface DecodedText {
  readonly text: string;
  readonly charset: Charset;
}

/** `utf-16` names no order of bytes: the first character tells it. */
const LABELS: ReadonlyMap<string, Charset | 'utf-16'> = new Map<string, Charset | 'utf-16'>([
  ...labelled('utf-8', ['utf-8', 'utf8', 'us-ascii', 'ascii']),
  ...labelled('utf-16', ['utf-16', 'utf16']),
  ...labelled('utf-16le', ['utf-16le']),
  ...labelled('utf-16be', ['utf-16be']),
  ...labelled('windows-1252', ['iso-8859-1', 'iso8859-1', 'iso_8859-1', 'latin1', 'l1']),
  ...labelled('windows-1252', ['windows-1252', 'cp1252', 'x-cp1252']),
]);

function labelled<T extends Charset | 'utf-16'>(
  charset: T,
  labels: readonly string[],
): readonly (readonly [string, T])[] {
  return labels.map((label) => [label, charset]);
}

/** `charset` of a Content-Type, bare or in quotes. */
const CHARSET = /;\s*charset\s*=\s*(?:"([^"\\]{1,64})"|([^\s;"]{1,64}))/i;
const XML_DECLARATION = /^<\?xml\s[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})["']/;
const DECLARATION_MAX = 200;

/** Windows-1252 from 0x80 to 0x9f; U+FFFD: not assigned. */
const HIGH =
  '\u20ac\ufffd\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\ufffd\u017d\ufffd\ufffd\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\ufffd\u017e\u0178';
const HIGH_START = 0x80;
const CONTROL = /[\u0080-\u009f]/g;

export function undecodable(): VaultError {
  return new VaultError('invalid_request', { field: 'body', expected: 'must be text in its charset' });
}

/** The charset that a Content-Type names. */
export function charsetLabel(contentType: string | undefined): string | undefined {
  const found = CHARSET.exec(contentType ?? '');
  return found?.[1] ?? found?.[2];
}

/** The charset of a label. Throws `charset_unsupported` for any other. */
export function charsetOf(label: string): Charset | 'utf-16' {
  const charset = LABELS.get(label.trim().toLowerCase());
  if (charset === undefined) {
    throw new VaultError('charset_unsupported');
  }
  return charset;
}

/** The character of a byte of Windows-1252; throws `invalid_request` for one that is not assigned. */
export function windowsCharacter(byte: number): string {
  const character = HIGH[byte - HIGH_START] ?? String.fromCharCode(byte);
  if (character === '\ufffd') {
    throw undecodable();
  }
  return character;
}

/** The charset of a byte order mark. */
function markedCharset([first, second, third]: Uint8Array): Charset | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) {
    return 'utf-8';
  }
  if (first === 0xff && second === 0xfe) {
    return 'utf-16le';
  }
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

/** UTF-16 without a mark: one byte of its first character, which is one of ASCII, is zero. */
function wideCharset([first, second]: Uint8Array): Charset | undefined {
  if (first === 0 && second !== 0 && second !== undefined) {
    return 'utf-16be';
  }
  return second === 0 && first !== 0 ? 'utf-16le' : undefined;
}

/** The encoding of an XML declaration. UTF-16 is then a mistake: what can be read as ASCII is not UTF-16. */
function declaredCharset(bytes: Uint8Array): Charset | undefined {
  const start = bytes[0] === 0x3c ? latin1(bytes.subarray(0, DECLARATION_MAX)) : '';
  const [, label] = XML_DECLARATION.exec(start) ?? [];
  const charset = label === undefined ? undefined : charsetOf(label);
  return charset === 'utf-8' || charset === 'windows-1252' ? charset : undefined;
}

/** A mark comes first, since no text begins with its bytes (RFC 7303, section 3.3), then Content-Type and declaration. */
function findCharset(bytes: Uint8Array, contentType: string | undefined): Charset {
  const label = charsetLabel(contentType);
  const named = label === undefined ? undefined : charsetOf(label);
  const marked = markedCharset(bytes);
  if (marked !== undefined) {
    return marked;
  }
  if (named === 'utf-16') {
    const wide = wideCharset(bytes);
    if (wide === undefined) {
      throw undecodable();
    }
    return wide;
  }
  return named ?? wideCharset(bytes) ?? declaredCharset(bytes) ?? 'utf-8';
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw undecodable();
  }
}

function decodeWide(bytes: Uint8Array, isBig: boolean): string {
  if (bytes.length % 2 !== 0) {
    throw undecodable();
  }
  const units = Buffer.from(bytes);
  const text = (isBig ? units.swap16() : units).toString('utf16le');
  units.fill(0);
  if (!text.isWellFormed()) {
    throw undecodable();
  }
  return text;
}

/**
 * Decodes a body by its byte order mark, the charset of its Content-Type or its XML declaration, or as UTF-8. A mark is
 * kept. Throws `charset_unsupported` for other charsets, `invalid_request` for bytes that are not in the charset.
 */
export function decodeText(bytes: Uint8Array, contentType: string | undefined): DecodedText {
  const charset = findCharset(bytes, contentType);
  switch (charset) {
    case 'utf-8':
      return { text: decodeUtf8(bytes), charset };
    case 'windows-1252':
      return {
        text: latin1(bytes).replace(CONTROL, (unit) => windowsCharacter(unit.charCodeAt(0))),
        charset,
      };
    default:
      return { text: decodeWide(bytes, charset === 'utf-16be'), charset };
  }
}
