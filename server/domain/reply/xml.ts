import { escapeXml } from '../template/escape.ts';
import { type Branch, branchOf, type Leaf, ROOT } from './leaves.ts';

/** An open element with its last piece of text. */
interface Open {
  readonly tag: string;
  readonly branch: Branch;
  piece: { readonly start: number; readonly end: number; readonly cdata: boolean } | undefined;
  /** It contains more than one piece of text. */
  mixed: boolean;
}

const DEPTH_MAX = 64;

const TOKEN =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[(?<cdata>[\s\S]*?)\]\]>|<\/(?<close>[^\s<>/=]+)\s*>|<(?<open>[^\s<>/=!?]+)(?<attributes>(?:\s+[^\s<>/=]+\s*=\s*(?:"[^"<]*"|'[^'<]*')){0,256})\s*(?<empty>\/?)>|(?<text>[^<]+)/y;
const ATTRIBUTE = /\s([^\s<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const DOCTYPE = /<!DOCTYPE/i;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Replaces character references and the five named entities of XML. */
function decode(source: string): string {
  return source.replace(REFERENCE, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) {
      return ENTITIES[name] ?? whole;
    }
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function readAttributes(source: string, offset: number, branch: Branch, leaves: Leaf[]): void {
  for (const match of source.matchAll(ATTRIBUTE)) {
    const raw = match[2] ?? match[3] ?? '';
    const end = offset + match.index + match[0].length - 1;
    const place = { start: end - raw.length, end, write: escapeXml };
    leaves.push({ name: localName(match[1] ?? ''), branch, value: decode(raw), ...place });
  }
}

interface Reading {
  readonly text: string;
  readonly leaves: Leaf[];
  readonly open: Open[];
  roots: number;
}

/** Adds a piece of text to the innermost element; false outside of the root. */
function addText({ open }: Reading, start: number, end: number, cdata: boolean): boolean {
  const inside = open.at(-1);
  if (inside !== undefined) {
    inside.mixed = inside.piece !== undefined;
    inside.piece = { start, end, cdata };
  }
  return inside !== undefined;
}

function readOpenTag(reading: Reading, start: number, groups: Readonly<Record<string, string>>): boolean {
  const { open: tag = '', attributes = '', empty } = groups;
  const inside = reading.open.at(-1);
  const branch = branchOf(localName(tag), inside?.branch ?? ROOT);
  readAttributes(attributes, start + 1 + tag.length, branch, reading.leaves);
  reading.roots += inside === undefined ? 1 : 0;
  if (empty === '') {
    reading.open.push({ tag, branch, piece: undefined, mixed: false });
  }
  return reading.roots === 1 && branch.depth <= DEPTH_MAX;
}

/** Closes an element; it is a leaf if its text is one piece. */
function readCloseTag({ text, leaves, open }: Reading, tag: string): boolean {
  const inside = open.pop();
  if (inside?.tag !== tag) {
    return false;
  }
  const { branch, piece, mixed } = inside;
  if (piece !== undefined && !mixed) {
    const { start, end, cdata } = piece;
    const raw = text.slice(start, end);
    const value = cdata ? raw : decode(raw);
    const write = cdata ? undefined : escapeXml;
    leaves.push({ name: branch.name, branch: branch.up ?? ROOT, value, start, end, write });
  }
  return true;
}

/** Processes one token; false if the document is not well-formed. */
function readToken(reading: Reading, start: number, end: number, groups: Record<string, string>): boolean {
  const { cdata, close, open, text } = groups;
  if (text !== undefined) {
    const isBlank = text.replace('\ufeff', '').trim() === '';
    return isBlank || addText(reading, start, end, false);
  }
  if (cdata !== undefined) {
    return addText(reading, end - 3 - cdata.length, end - 3, true);
  }
  if (open !== undefined) {
    return readOpenTag(reading, start, groups);
  }
  return close === undefined || readCloseTag(reading, close);
}

/** A text with a document type is not parsed. */
export function hasDoctype(text: string): boolean {
  return DOCTYPE.test(text);
}

/**
 * The texts of an XML document's elements and attributes, in order; names without their prefix. Undefined for a text
 * that is not XML with one root, is nested more than 64 levels deep, or declares a document type. Only the five entities
 * of XML itself are expanded.
 */
export function xmlLeaves(text: string): Leaf[] | undefined {
  if (hasDoctype(text)) {
    return undefined;
  }
  const reading: Reading = { text, leaves: [], open: [], roots: 0 };
  for (let at = 0; at < text.length; ) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text);
    const end = TOKEN.lastIndex;
    if (token === null || !readToken(reading, at, end, token.groups ?? {})) {
      return undefined;
    }
    at = end;
  }
  const whole = reading.roots === 1 && reading.open.length === 0;
  return whole ? reading.leaves.sort((a, b) => a.start - b.start) : undefined;
}
