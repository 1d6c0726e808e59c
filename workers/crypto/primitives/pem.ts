/** PEM, the textual encoding of RFC 7468, in its strict form: labels, base64 lines, and nothing else. */
import { concat, utf8 } from './bytes.ts';

/** One block: the label between BEGIN and its dashes, and what the base64 stands for. */
export interface PemBlock {
  readonly label: string;
  readonly der: Uint8Array;
}

/** Characters of base64 in a line that is written (RFC 7468, section 2). */
const LINE = 64;
const BEGIN = /^-----BEGIN ([A-Z0-9 ]{1,40})-----$/;
/** Lines of other writers may be longer; 76 is what MIME allows. */
const BASE64_LINE = /^[A-Za-z0-9+/]{1,76}={0,2}$/;

/** The lines around a block. */
function begin(label: string): string {
  return `-----BEGIN ${label}-----\n`;
}
function end(label: string): string {
  return `-----END ${label}-----\n`;
}

/** A block with lines of 64 characters and a line feed at its end. For public things: text cannot be wiped. */
export function toPem(label: string, der: Uint8Array): string {
  const lines = der.toBase64().match(/.{1,64}/g) ?? [];
  return `${begin(label)}${lines.map((line) => `${line}\n`).join('')}${end(label)}`;
}

/** The code of the base64 character for six bits, without a table to look it up in. */
function characterOf(bits: number): number {
  if (bits < 52) {
    return bits < 26 ? bits + 0x41 : bits + 0x47;
  }
  return bits < 62 ? bits - 4 : bits === 62 ? 0x2b : 0x2f;
}

/**
 * The same block as bytes, made without a copy in a text, which could not be wiped, and without looking secret bits up in
 * a table: for private keys. The caller wipes it.
 */
export function toPemBytes(label: string, der: Uint8Array): Uint8Array {
  const characters = Math.ceil(der.length / 3) * 4;
  const body = new Uint8Array(characters + Math.ceil(characters / LINE));
  let at = 0;
  for (let character = 0; character < characters; character++) {
    const first = Math.floor((character * 3) / 4);
    const pair = ((der[first] ?? 0) << 8) | (der[first + 1] ?? 0);
    const isPadding = character * 6 >= der.length * 8;
    body[at++] = isPadding ? 0x3d : characterOf((pair >>> (10 - (((character % 4) * 6) % 8))) & 0x3f);
    if (character % LINE === LINE - 1 || character === characters - 1) {
      body[at++] = 0x0a;
    }
  }
  const whole = concat([utf8(begin(label)), body, utf8(end(label))]);
  body.fill(0);
  return whole;
}

/** The bytes of base64 lines; undefined for padding or bits that a strict writer would not have made. */
function decode(lines: readonly string[]): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(lines.join(''), { lastChunkHandling: 'strict' });
  } catch {
    return undefined;
  }
}

/**
 * The blocks of a text, in their order. Undefined for everything that is not blocks from the first line to the
 * last: other text, headers within a block, blanks at the end of a line, labels that do not match, base64 that
 * is cut, padded wrongly or has stray bits. Lines end with LF or CRLF; empty lines may stand between blocks.
 */
export function readPem(text: string): PemBlock[] | undefined {
  const blocks: PemBlock[] = [];
  let label: string | undefined;
  let lines: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (label === undefined) {
      label = BEGIN.exec(line)?.[1];
      if (label === undefined && line !== '') {
        return undefined;
      }
    } else if (line === `-----END ${label}-----`) {
      const der = decode(lines);
      if (der === undefined || der.length === 0) {
        return undefined;
      }
      blocks.push({ label, der });
      label = undefined;
      lines = [];
    } else if (BASE64_LINE.test(line)) {
      lines.push(line);
    } else {
      return undefined;
    }
  }
  return label === undefined ? blocks : undefined;
}
