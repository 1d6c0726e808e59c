/** PEM, the textual encoding of RFC 7468, in its strict form: labels, base64 lines, and nothing else. */
import { concat, fromBase64, utf8 } from './bytes.ts';

/** One block: the label between BEGIN and its dashes, and the bytes of the base64. */
interface PemBlock {
  readonly label: string;
  readonly der: Uint8Array;
}

/** Characters of base64 in a line that is written (RFC 7468, section 2). */
const LINE = 64;
const BEGIN = /^-----BEGIN ([A-Z0-9 ]{1,40})-----$/;
/** Lines of other writers may be longer; MIME allows 76. */
const BASE64_LINE = /^[A-Za-z0-9+/]{1,76}={0,2}$/;

/** A block with lines of 64 characters and a line feed at its end. For public things: text cannot be wiped. */
export function toPem(label: string, der: Uint8Array): string {
  const lines = der.toBase64().match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.map((line) => `${line}\n`).join('')}-----END ${label}-----\n`;
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
  const whole = concat([utf8(`-----BEGIN ${label}-----\n`), body, utf8(`-----END ${label}-----\n`)]);
  body.fill(0);
  return whole;
}

/**
 * The blocks of a text, in their order. Undefined for a text with anything else: other lines, headers within a block, blanks
 * at the end of a line, labels that do not match, base64 that is truncated, padded wrongly or has stray bits. Lines end with
 * LF or CRLF; empty lines may separate blocks.
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
      const der = fromBase64(lines.join(''), { lastChunkHandling: 'strict' });
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
