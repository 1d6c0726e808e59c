import { type Branch, branchOf, type Leaf, REPLY_DEPTH_MAX, rootBranch, writeXml } from './leaves.ts';

/** An element that is open, with the one piece of text that it contains, if it is one piece. */
interface Open {
  readonly tag: string;
  readonly branch: Branch;
  piece: { readonly start: number; readonly end: number; readonly cdata: boolean } | undefined;
  /** Whether it contains more than one piece of text. */
  mixed: boolean;
}

const TOKEN =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[(?<cdata>[\s\S]*?)\]\]>|<\/(?<close>[^\s<>/=]+)\s*>|<(?<open>[^\s<>/=!?]+)(?<attributes>(?:\s+[^\s<>/=]+\s*=\s*(?:"[^"<]*"|'[^'<]*')){0,256})\s*(?<empty>\/?)>|(?<text>[^<]+)/y;
const ATTRIBUTE = /\s([^\s<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const DOCTYPE = /<!DOCTYPE/i;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The text of a source with character references and the five names of XML; nothing else is looked up. */
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
    const place = { start: end - raw.length, end, write: writeXml };
    leaves.push({ name: localName(match[1] ?? ''), branch, value: decode(raw), ...place });
  }
}

function closeElement(text: string, element: Open, leaves: Leaf[]): void {
  if (element.piece === undefined || element.mixed) {
    return;
  }
  const { start, end, cdata } = element.piece;
  const raw = text.slice(start, end);
  leaves.push({
    name: element.branch.name,
    branch: element.branch.up ?? element.branch,
    value: cdata ? raw : decode(raw),
    start,
    end,
    write: cdata ? undefined : writeXml,
  });
}

function addText(element: Open, start: number, end: number, cdata: boolean): void {
  element.mixed = element.piece !== undefined;
  element.piece = { start, end, cdata };
}

/** What has been read of a document up to a place. */
interface Reading {
  readonly text: string;
  readonly leaves: Leaf[];
  readonly open: Open[];
  roots: number;
}

const ROOT = rootBranch();

/** Text between tags: only white space may stand outside the root. */
function readText(reading: Reading, start: number, end: number): boolean {
  if (reading.text.slice(start, end).replace('\ufeff', '').trim() === '') {
    return true;
  }
  const inside = reading.open.at(-1);
  if (inside !== undefined) {
    addText(inside, start, end, false);
  }
  return inside !== undefined;
}

function readCdata(reading: Reading, start: number, end: number): boolean {
  const inside = reading.open.at(-1);
  if (inside !== undefined) {
    addText(inside, start, end, true);
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
  return reading.roots === 1 && branch.depth <= REPLY_DEPTH_MAX;
}

function readCloseTag(reading: Reading, tag: string): boolean {
  const inside = reading.open.pop();
  if (inside?.tag !== tag) {
    return false;
  }
  closeElement(reading.text, inside, reading.leaves);
  return true;
}

/** Processes one token; false if the document is not well-formed. */
function readToken(reading: Reading, start: number, end: number, groups: Record<string, string>): boolean {
  const { cdata, close, open, text } = groups;
  if (text !== undefined) {
    return readText(reading, start, end);
  }
  if (cdata !== undefined) {
    return readCdata(reading, end - 3 - cdata.length, end - 3);
  }
  if (open !== undefined) {
    return readOpenTag(reading, start, groups);
  }
  return close === undefined || readCloseTag(reading, close);
}

/** Whether a text declares a document type, which no reply may: such a reply is not parsed. */
export function hasDoctype(text: string): boolean {
  return DOCTYPE.test(text);
}

/**
 * The texts of an XML document's elements and attributes, in order, with their places; names without their
 * prefix. Undefined when it is no XML with one root, is nested more than 64 levels deep, or declares a document
 * type. No entity but the five of XML itself is expanded, and nothing is ever fetched.
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
