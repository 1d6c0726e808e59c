/** Bodies of messages as trees whose texts know their places in the source. */
import { VaultError } from '../../core/errors.ts';
import { JsonNumber, type JsonValue } from '../json/json.ts';
import { createTreeSteps, type NamedPath, type Steps, visitPlaces } from '../json/named.ts';
import { formLeaves } from '../reply/form.ts';
import { type JsonTree, readJson } from '../reply/json.ts';
import type { Leaf } from '../reply/leaves.ts';
import { sniff, unreadable } from '../reply/smart-parse.ts';
import {
  addChild,
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
import { decodeText } from '../text/charset.ts';
import { bodyFormat, mediaType } from '../text/media-type.ts';

export type DocumentFormat = 'json' | 'xml' | 'form';

/** A place in a tree, for the module of one format only. */
interface Tree<Place> {
  readonly root: Place;
  readonly steps: Steps<Place>;
  /** The pieces of the text or number at a place; undefined where there is none. */
  readonly piecesAt: (place: Place) => readonly Leaf[] | undefined;
  readonly valueAt: (place: Place) => JsonValue | undefined;
}

/** A place that a path leads to. */
export interface Spot {
  readonly pieces: readonly Leaf[] | undefined;
  /** Its value as it is stored. */
  readonly value: JsonValue | undefined;
}

/** A place with the way to it. */
export interface Found extends Pick<Spot, 'pieces'> {
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
}

const SPOTS_MAX = 2;
/** Far above the need of any message, and a second of CPU time. */
const PLACES_MAX = 2_000_000;

const WORDS: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

function jsonValue(tree: JsonTree): JsonValue {
  if (tree instanceof Map) {
    return new Map([...tree].map(([name, member]) => [name, jsonValue(member)]));
  }
  if (Array.isArray(tree)) {
    return tree.map(jsonValue);
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

/** A single line is a value, several are a list. */
function jsonTree(roots: readonly JsonTree[]): Tree<JsonTree> {
  const [first, ...others] = roots;
  const root = first === undefined || others.length > 0 ? [...roots] : first;
  return { root, steps: createTreeSteps<Leaf>(), piecesAt: jsonPieces, valueAt: jsonValue };
}

function elementTree(element: XmlElement, isTrimmed: boolean): Tree<XmlPlace> {
  return {
    root: [element],
    steps: XML_STEPS,
    piecesAt: piecesOf,
    valueAt(place) {
      const pieces = piecesOf(place);
      const text = pieces && joinedPieces(pieces);
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
function visitorOf<Place>({ root, steps: given, piecesAt, valueAt }: Tree<Place>): VisitPath {
  const steps = countedSteps(given);
  const known = new Map<NamedPath, Map<Place, readonly Spot[]>>();
  const values = new Map<Place, JsonValue | undefined>();
  const spotAt = (place: Place): Spot => {
    if (!values.has(place)) {
      values.set(place, valueAt(place));
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
  return (path, visit) => {
    visitPlaces([root], path, steps, (place, trail) => {
      steps.count();
      visit({
        pieces: piecesAt(place),
        // The trail changes after the visit.
        beside: (other, shared) => follow(other, trail.slice(0, shared + 1)),
      });
      return false;
    });
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

/**
 * Reads a body that is not empty. Throws `content_type_unsupported` and `charset_unsupported`, `invalid_json` (also for a
 * duplicate member), `json_too_deep` and `invalid_request`.
 */
export function readDocument(body: Uint8Array, contentType: string | undefined): Document {
  if (mediaType(contentType).startsWith('multipart/')) {
    throw unsupported();
  }
  const { text, charset } = decodeText(body, contentType);
  if (charset !== 'utf-8' && charset !== 'windows-1252') {
    throw new VaultError('charset_unsupported');
  }
  const format = formatOf(text, contentType);
  const read = { text, isSingleByte: charset === 'windows-1252' || text.length === body.length, format };
  if (format === 'json') {
    const json = readJson(text);
    if (json === undefined) {
      throw unreadable(format);
    }
    return { ...read, leaves: json.leaves, split: [], visit: visitorOf(jsonTree(json.roots)) };
  }
  if (format === 'xml') {
    const xml = readXml(text);
    if (xml === undefined) {
      throw unreadable(format);
    }
    const visit = visitorOf(elementTree(treeOf(xml), true));
    return { ...read, leaves: xml.leaves, split: splitTexts(xml), visit };
  }
  const leaves = formLeaves(text, charset);
  return { ...read, leaves, split: [], visit: visitorOf(elementTree(formElement(leaves), false)) };
}
