import { VaultError } from '../../core/errors.ts';
import type { JsonValue } from '../json/json.ts';
import { firstPlace, type NamedPath, type Steps } from '../json/named.ts';
import { escapeXml } from '../template/escape.ts';
import { type Branch, branchOf, type Leaf, type Notation, ROOT, readNotation } from './leaves.ts';

/** An open element. */
interface Open {
  readonly tag: string;
  readonly branch: Branch;
  /** The place of its first piece of text among the leaves; -1 before there is one. */
  piece: number;
}

const DEPTH_MAX = 64;
/** The name of a part of an element's text. */
export const PIECE = '#piece';

const TOKEN =
  /<!--(?<comment>[\s\S]*?)-->|<\?(?<instruction>[\s\S]*?)\?>|<!\[CDATA\[(?<cdata>[\s\S]*?)\]\]>|<\/(?<close>[^\s<>/=]+)\s*>|<(?<open>[^\s<>/=!?]+)(?<attributes>(?:\s+[^\s<>/=]+\s*=\s*(?:"[^"<]*"|'[^'<]*')){0,256})\s*(?<empty>\/?)>|(?<doctype><!(?:DOCTYPE|doctype)\s+[^\s<>[\]"']+(?:\s+(?:PUBLIC\s*(?:"[^"]*"|'[^']*')|SYSTEM|public\s*(?:"[^"]*"|'[^']*'))(?:\s*(?:"[^"]*"|'[^']*'))?)?\s*>)|(?<text>[^<]+)/y;
const ATTRIBUTE = /\s([^\s<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
/** Characters with a meaning in a document type. */
const DOCTYPE_MARK = /["'[>]/g;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi;

const ONE_REFERENCE = new RegExp(`^${REFERENCE.source}$`, 'i');

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function readReference(match: string): string {
  const [, decimal, hex, name] = ONE_REFERENCE.exec(match) ?? [];
  if (name !== undefined) {
    return ENTITIES[name.toLowerCase()] ?? match;
  }
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : match;
}

/** Character references and the five named entities of XML. */
const XML_NOTATION: Notation = { pattern: REFERENCE, read: readReference };

function decode(source: string): string {
  return source.includes('&') ? readNotation(source, XML_NOTATION) : source;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Adds the attributes of an element; false if one is there twice. */
function readAttributes(source: string, offset: number, branch: Branch, leaves: Leaf[]): boolean {
  const names = new Set<string>();
  let count = 0;
  for (const match of source.matchAll(ATTRIBUTE)) {
    names.add(match[1] ?? '');
    count++;
    const raw = match[2] ?? match[3] ?? '';
    const end = offset + match.index + match[0].length - 1;
    const place = { start: end - raw.length, end, write: escapeXml, notation: XML_NOTATION };
    leaves.push({ name: localName(match[1] ?? ''), branch, value: decode(raw), ...place });
  }
  return names.size === count;
}

interface Reading {
  readonly text: string;
  readonly leaves: Leaf[];
  /** All elements, in order. */
  readonly elements: Branch[];
  readonly open: Open[];
  readonly root: Branch;
  roots: number;
}

/**
 * Adds a piece of text to the innermost element; false outside of the root. One of several pieces is not its value.
 */
function addText({ text, leaves, open }: Reading, start: number, end: number, cdata: boolean): boolean {
  const inside = open.at(-1);
  if (inside === undefined) {
    return false;
  }
  const { branch } = inside;
  const raw = text.slice(start, end);
  const read = cdata ? { value: raw } : { value: decode(raw), write: escapeXml, notation: XML_NOTATION };
  const named = { name: branch.name, branch: branch.up ?? ROOT, own: branch };
  const first = leaves[inside.piece];
  if (first === undefined) {
    inside.piece = leaves.length;
    leaves.push({ ...named, start, end, ...read });
  } else {
    leaves[inside.piece] = { ...first, name: PIECE, branch };
    leaves.push({ name: PIECE, branch, start, end, ...read });
  }
  return true;
}

function readOpenTag(reading: Reading, start: number, groups: Readonly<Record<string, string>>): boolean {
  const { open: tag = '', attributes = '', empty } = groups;
  const inside = reading.open.at(-1);
  const branch = branchOf(localName(tag), inside?.branch ?? reading.root);
  reading.elements.push(branch);
  const isSound = readAttributes(attributes, start + 1 + tag.length, branch, reading.leaves);
  reading.roots += inside === undefined ? 1 : 0;
  if (empty === '') {
    reading.open.push({ tag, branch, piece: -1 });
  }
  return isSound && reading.roots === 1 && reading.open.length <= DEPTH_MAX;
}

/** Processes one token; false if the document is not well-formed. */
function readToken(reading: Reading, start: number, end: number, groups: Record<string, string>): boolean {
  const { cdata, close, comment, doctype, instruction, open, text } = groups;
  const aside = comment ?? instruction;
  if (aside !== undefined) {
    const to = end - (comment === undefined ? 2 : 3);
    const branch = reading.open.at(-1)?.branch ?? reading.root;
    const place = { start: to - aside.length, end: to };
    reading.leaves.push({ name: PIECE, branch, value: aside, ...place, isAside: true });
    return true;
  }
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
  if (doctype !== undefined) {
    return reading.roots === 0;
  }
  return close === undefined || reading.open.pop()?.tag === close;
}

function hasInternalSubset(text: string, start: number): boolean {
  for (let at = start; at >= 0; ) {
    DOCTYPE_MARK.lastIndex = at;
    const mark = DOCTYPE_MARK.exec(text);
    if (mark === null || mark[0] === '[' || mark[0] === '>') {
      return mark?.[0] === '[';
    }
    at = text.indexOf(mark[0], mark.index + 1) + 1 || -1;
  }
  return false;
}

/** Throws `invalid_request` for a document type with an internal subset, whose entities could say anything. */
function rejectSubset(text: string, at: number): void {
  if (/^<!doctype/i.test(text.slice(at, at + 10)) && hasInternalSubset(text, at)) {
    throw new VaultError('invalid_request', {
      field: 'body',
      expected: 'must not have a document type with an internal subset',
    });
  }
}

/** A document's elements, and the texts of elements and attributes; both in order, names without their prefix. */
export interface XmlDocument {
  readonly leaves: Leaf[];
  readonly elements: readonly Branch[];
}

/**
 * Reads an XML document. Undefined for a text that is not XML with one root, or is nested more than 64 levels deep. Only
 * the five entities of XML itself are expanded, and an external document type is not fetched.
 */
export function readXml(text: string, root: Branch = ROOT): XmlDocument | undefined {
  const reading: Reading = { text, leaves: [], elements: [], open: [], root, roots: 0 };
  for (let at = 0; at < text.length; ) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text);
    const end = TOKEN.lastIndex;
    if (token === null) {
      rejectSubset(text, at);
      return undefined;
    }
    if (!readToken(reading, at, end, token.groups ?? {})) {
      return undefined;
    }
    at = end;
  }
  return reading.roots === 1 && reading.open.length === 0 ? reading : undefined;
}

/** The texts of a document's elements and attributes as {@link readXml} reads them; undefined for any other text. */
export function xmlLeaves(text: string, root: Branch = ROOT): Leaf[] | undefined {
  return readXml(text, root)?.leaves;
}

/** The pieces of each text that comments or the like split. */
export function splitTexts({ leaves }: XmlDocument): readonly (readonly Leaf[])[] {
  const texts = new Map<Branch, Leaf[]>();
  for (const leaf of leaves) {
    if (leaf.name === PIECE && leaf.isAside !== true) {
      const pieces = texts.get(leaf.branch);
      if (pieces === undefined) {
        texts.set(leaf.branch, [leaf]);
      } else {
        pieces.push(leaf);
      }
    }
  }
  return [...texts.values()];
}

/** Elements of one name beside each other, or an attribute. */
export type XmlPlace = readonly XmlElement[] | Leaf;

/** An element, or a form, whose fields are elements with a text. */
export interface XmlElement {
  /** The pieces of its text. */
  readonly pieces: Leaf[];
  /** By their names without a prefix, which several may share. */
  readonly attributes: Map<string, Leaf[]>;
  readonly children: Map<string, XmlElement[]>;
}

export function newElement(): XmlElement {
  return { pieces: [], attributes: new Map(), children: new Map() };
}

/** Adds an element to another one. */
export function addChild({ children }: XmlElement, name: string, child: XmlElement): void {
  const named = children.get(name);
  if (named === undefined) {
    children.set(name, [child]);
  } else {
    named.push(child);
  }
}

/** The document as an element around its root. */
export function treeOf({ leaves, elements }: XmlDocument): XmlElement {
  const document = newElement();
  const made = new Map<Branch | undefined, XmlElement>();
  for (const branch of elements) {
    const element = newElement();
    made.set(branch, element);
    addChild(made.get(branch.up) ?? document, branch.name, element);
  }
  for (const leaf of leaves) {
    const element = made.get(leaf.own ?? leaf.branch);
    if (element === undefined || leaf.isAside === true) {
      continue;
    }
    if (leaf.own !== undefined || leaf.name === PIECE) {
      element.pieces.push(leaf);
    } else {
      element.attributes.set(leaf.name, [...(element.attributes.get(leaf.name) ?? []), leaf]);
    }
  }
  return document;
}

/** Tells elements from an attribute. */
export function isElements(place: XmlPlace): place is readonly XmlElement[] {
  return Array.isArray(place);
}

/** The places of a step from elements of one name: a single element is a list of one. */
export const XML_STEPS: Steps<XmlPlace> = {
  members(place, name) {
    const [only, ...more] = isElements(place) ? place : [];
    if (only === undefined || more.length > 0) {
      return [];
    }
    if (name === undefined) {
      return only.children.values();
    }
    const attributes = name.startsWith('@') ? only.attributes.get(name.slice(1)) : undefined;
    const children = only.children.get(name);
    return attributes ?? (children === undefined ? [] : [children]);
  },
  items(place, index) {
    const list = isElements(place) ? place : [];
    return (index === undefined ? list : list.slice(index, index + 1)).map((element) => [element]);
  },
};

/** The pieces of the text of a place; undefined for several elements, and for one around others. */
export function piecesOf(place: XmlPlace): readonly Leaf[] | undefined {
  if (!isElements(place)) {
    return [place];
  }
  const [only, ...more] = place;
  return only === undefined || more.length > 0 || only.children.size > 0 ? undefined : only.pieces;
}

/** The text of pieces. */
export function joinedPieces(pieces: readonly Leaf[]): string {
  return pieces.length === 1 ? (pieces[0]?.value ?? '') : pieces.map(({ value }) => value).join('');
}

/**
 * The first value at a path of a document: the text of an element or attribute without white space around it, a list for
 * several elements and for one around others; undefined if there is none, and for a text that {@link readXml} does not
 * read.
 */
export function xmlAt(text: string, path: NamedPath): JsonValue | undefined {
  const document = readXml(text, ROOT);
  const place = document && firstPlace<XmlPlace>([treeOf(document)], path, XML_STEPS);
  const pieces = place && piecesOf(place);
  return place === undefined ? undefined : pieces === undefined ? [] : joinedPieces(pieces).trim();
}
