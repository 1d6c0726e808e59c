/** Bodies of messages as trees whose texts know their places in the source. */
import { isUtf8 } from 'node:buffer';
import { VaultError } from '../../core/errors.ts';
import { JsonNumber, type JsonValue } from '../json/json.ts';
import { createTreeSteps, type NamedPath, type Steps, visitPlaces } from '../json/named.ts';
import { formLeaves } from '../reply/form.ts';
import { type JsonTree, readJson } from '../reply/json.ts';
import type { Leaf } from '../reply/leaves.ts';
import { sniff, unreadable } from '../reply/smart-parse.ts';
import {
  addChild,
  isElements,
  joinedPieces,
  newElement,
  piecesOf,
  readXml,
  splitTexts,
  treeOf,
  XML_STEPS,
  type XmlElement,
  type XmlPlace,
} from '../reply/xml.ts';
import { charsetOf, decodeText } from '../text/charset.ts';
import { bodyFormat, mediaType } from '../text/media-type.ts';

export type DocumentFormat = 'json' | 'xml' | 'form';

/** Tells whether a text is that of a code, of which no value has more than stars. */
type IsHidden = (leaf: Leaf) => boolean;

/** A place in a tree, for the module of one format only. */
interface Tree<Place> {
  readonly root: Place;
  readonly steps: Steps<Place>;
  /** The pieces of the text or number at a place; undefined where there is none. */
  readonly piecesAt: (place: Place) => readonly Leaf[] | undefined;
  /** The pieces of each text within a place. */
  readonly textsIn: (place: Place) => readonly (readonly Leaf[])[];
  readonly valueAt: (place: Place, isHidden: IsHidden) => JsonValue | undefined;
}

/** A place that a path leads to. */
export interface Spot {
  readonly pieces: readonly Leaf[] | undefined;
  /** Its value as it is stored. */
  readonly value: JsonValue | undefined;
}

/** A place with the way to it. */
export interface Found extends Pick<Spot, 'pieces'> {
  /** The pieces of each text within it, also where it is a list or an object. */
  readonly texts: () => readonly (readonly Leaf[])[];
  /** During the visit: the first places, at most two, of a path that goes on from the place after `shared` steps of this one. */
  readonly beside: (path: NamedPath, shared: number) => readonly Spot[];
}

/** Visits the places at a path, in the order of the text. */
export type VisitPath = (path: NamedPath, visit: (found: Found) => void) => void;

export interface Document {
  readonly text: string;
  /** Each character of the text is one byte. */
  readonly isSingleByte: boolean;
  readonly format: DocumentFormat;
  /** The texts and numbers, in order. */
  readonly leaves: readonly Leaf[];
  /** The pieces of each text that comments or the like split. */
  readonly split: readonly (readonly Leaf[])[];
  readonly visit: VisitPath;
  /** Has stars in place of these texts in all values that are read from then on. */
  readonly hide: (pieces: readonly Leaf[]) => void;
}

const SPOTS_MAX = 2;
/** Far above the need of any message, and a second of CPU time. */
const PLACES_MAX = 2_000_000;

const WORDS: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** What a stored value has in place of a code: SAD is stored as `cvv` alone, which expires. */
const HIDDEN = '***';

function jsonValue(tree: JsonTree, isHidden: IsHidden): JsonValue {
  if (tree instanceof Map) {
    return new Map([...tree].map(([name, member]) => [name, jsonValue(member, isHidden)]));
  }
  if (Array.isArray(tree)) {
    return tree.map((item) => jsonValue(item, isHidden));
  }
  if (isHidden(tree)) {
    return HIDDEN;
  }
  if (tree.quote === undefined) {
    return tree.value;
  }
  const word = WORDS.get(tree.value);
  return word === undefined ? new JsonNumber(tree.value) : word;
}

function jsonPieces(tree: JsonTree): readonly Leaf[] | undefined {
  if (tree instanceof Map || Array.isArray(tree)) {
    return undefined;
  }
  return tree.quote !== undefined && WORDS.has(tree.value) ? undefined : [tree];
}

function jsonTexts(tree: JsonTree): readonly (readonly Leaf[])[] {
  if (tree instanceof Map || Array.isArray(tree)) {
    return [...tree.values()].flatMap(jsonTexts);
  }
  const pieces = jsonPieces(tree);
  return pieces === undefined ? [] : [pieces];
}

function xmlTexts(place: XmlPlace): readonly (readonly Leaf[])[] {
  if (!isElements(place)) {
    return [[place]];
  }
  return place.flatMap(({ pieces, attributes, children }) => [
    ...(pieces.length === 0 ? [] : [pieces]),
    ...[...attributes.values()].flat().map((leaf) => [leaf]),
    ...[...children.values()].flatMap(xmlTexts),
  ]);
}

/** A single line is a value, several are a list. */
function jsonTree(roots: readonly JsonTree[]): Tree<JsonTree> {
  const [first, ...others] = roots;
  const root = first === undefined || others.length > 0 ? [...roots] : first;
  return {
    root,
    steps: createTreeSteps<Leaf>(),
    piecesAt: jsonPieces,
    textsIn: jsonTexts,
    valueAt: jsonValue,
  };
}

function elementTree(element: XmlElement, isTrimmed: boolean): Tree<XmlPlace> {
  return {
    root: [element],
    steps: XML_STEPS,
    piecesAt: piecesOf,
    textsIn: xmlTexts,
    valueAt(place, isHidden) {
      const pieces = piecesOf(place);
      const text = pieces && (pieces.some(isHidden) ? HIDDEN : joinedPieces(pieces));
      return isTrimmed ? text?.trim() : text;
    },
  };
}

/** The fields of a form as elements. */
function formElement(leaves: readonly Leaf[]): XmlElement {
  const form = newElement();
  for (const leaf of leaves) {
    const field = newElement();
    field.pieces.push(leaf);
    addChild(form, leaf.field ?? leaf.name, field);
  }
  return form;
}

/** Counts the places that paths lead through; `body_too_large` for too many. */
function countedSteps<Place>({
  members,
  items,
}: Steps<Place>): Steps<Place> & { readonly count: () => void } {
  let left = PLACES_MAX;
  const count = (): void => {
    left--;
    if (left < 0) {
      throw new VaultError('body_too_large');
    }
  };
  return {
    count,
    members(place, name) {
      count();
      return members(place, name);
    },
    items(place, index) {
      count();
      return items(place, index);
    },
  };
}

/** Keeps the few places that other paths were followed to: those of one record are the same for all cards in it. */
function visitorOf<Place>({
  root,
  steps: given,
  piecesAt,
  textsIn,
  valueAt,
}: Tree<Place>): Pick<Document, 'visit' | 'hide'> {
  const hidden = new Set<Leaf>();
  const isHidden: IsHidden = (leaf) => hidden.has(leaf);
  const steps = countedSteps(given);
  const known = new Map<NamedPath, Map<Place, readonly Spot[]>>();
  const values = new Map<Place, JsonValue | undefined>();
  const spotAt = (place: Place): Spot => {
    if (!values.has(place)) {
      values.set(place, valueAt(place, isHidden));
    }
    return { pieces: piecesAt(place), value: values.get(place) };
  };
  const follow = (path: NamedPath, trail: readonly Place[]): readonly Spot[] => {
    const from = trail.at(-1) ?? root;
    const places = known.get(path) ?? new Map<Place, readonly Spot[]>();
    known.set(path, places);
    const before = places.get(from);
    if (before !== undefined) {
      return before;
    }
    const spots: Spot[] = [];
    visitPlaces([...trail], path, steps, (place) => {
      steps.count();
      return spots.push(spotAt(place)) === SPOTS_MAX;
    });
    places.set(from, spots);
    return spots;
  };
  const visitPath: VisitPath = (path, visit) => {
    visitPlaces([root], path, steps, (place, trail) => {
      steps.count();
      visit({
        pieces: piecesAt(place),
        texts() {
          const texts = textsIn(place);
          texts.forEach(steps.count);
          return texts;
        },
        // The trail changes after the visit.
        beside: (other, shared) => follow(other, trail.slice(0, shared + 1)),
      });
      return false;
    });
  };
  return {
    visit: visitPath,
    hide(pieces) {
      for (const piece of pieces) {
        hidden.add(piece);
      }
    },
  };
}

function unsupported(): VaultError {
  return new VaultError('content_type_unsupported', {
    field: 'body',
    expected: 'must be JSON, XML or a form, with their Content-Type',
  });
}

/** The format of a body, by its Content-Type, or by its look where that names none. */
function formatOf(text: string, contentType: string | undefined): DocumentFormat {
  const declared = bodyFormat(contentType) ?? 'text';
  const format = declared === 'text' ? sniff(text) : declared;
  if (format === 'text') {
    throw unsupported();
  }
  return format;
}

/** One of several types that commas join. */
const TYPE = /(?:[^",]|"[^"]*")+/g;
const CHARSET = /;\s*charset\s*=/gi;
const DECLARED = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]*)["']/;

/** Rejects a Content-Type of which two servers may read different ones. The same twice is one. */
function checkType(contentType = ''): void {
  const [type = '', ...others] = (contentType.match(TYPE) ?? []).map((each) => each.trim().toLowerCase());
  if (others.some((other) => other !== type)) {
    throw unsupported();
  }
  if ((type.match(CHARSET)?.length ?? 0) > 1) {
    throw new VaultError('charset_unsupported');
  }
}

/** Rejects the encoding of a declaration that is not read: some readers take it before that of the Content-Type. */
function checkDeclaration(text: string): void {
  const [, label] = DECLARED.exec(text.replace('\ufeff', '')) ?? [];
  if (label !== undefined) {
    charsetOf(label);
  }
}

/**
 * The text of a body. What is UTF-8 beyond ASCII is read as such whatever single-byte charset is declared: readers of JSON
 * ignore it, and a number could hide from it.
 */
function readText(
  body: Uint8Array,
  contentType: string | undefined,
): { readonly text: string; readonly charset: 'utf-8' | 'windows-1252' } {
  const { text, charset } = decodeText(body, contentType);
  if (charset !== 'utf-8' && charset !== 'windows-1252') {
    throw new VaultError('charset_unsupported');
  }
  return { text: charset === 'windows-1252' && isUtf8(body) ? Buffer.from(body).toString() : text, charset };
}

/**
 * Reads a body that is not empty. Throws `content_type_unsupported` and `charset_unsupported`, `invalid_json` (also for a
 * duplicate member), `json_too_deep` and `invalid_request`.
 */
export function readDocument(body: Uint8Array, contentType: string | undefined): Document {
  checkType(contentType);
  if (mediaType(contentType).startsWith('multipart/')) {
    throw unsupported();
  }
  const { text, charset } = readText(body, contentType);
  const format = formatOf(text, contentType);
  const read = { text, isSingleByte: text.length === body.length, format };
  if (format === 'json') {
    const json = readJson(text);
    if (json === undefined) {
      throw unreadable(format);
    }
    return { ...read, leaves: json.leaves, split: [], ...visitorOf(jsonTree(json.roots)) };
  }
  if (format === 'xml') {
    checkDeclaration(text);
    const xml = readXml(text);
    if (xml === undefined) {
      throw unreadable(format);
    }
    const visitor = visitorOf(elementTree(treeOf(xml), true));
    return { ...read, leaves: xml.leaves, split: splitTexts(xml), ...visitor };
  }
  const leaves = formLeaves(text, charset);
  return { ...read, leaves, split: [], ...visitorOf(elementTree(formElement(leaves), false)) };
}
