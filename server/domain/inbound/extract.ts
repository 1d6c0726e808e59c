/** Cards of a message, by the owner's paths or as smart parse recognises them. */
import { VaultError } from '../../core/errors.ts';
import { readReference } from '../endpoint.ts';
import { type JsonObject, type JsonValue, jsonByteLength } from '../json/json.ts';
import { type NamedPath, sharedSteps } from '../json/named.ts';
import { type Candidate, findCards } from '../reply/cards.ts';
import { type Leaf, partOf } from '../reply/leaves.ts';
import { valuesAround } from '../reply/smart-parse.ts';
import { joinedPieces } from '../reply/xml.ts';
import type { Document, Found, Spot } from './document.ts';
import type { Edit } from './edits.ts';
import type { Source } from './rules.ts';

/** A card to be stored. */
export interface FoundCard {
  /** `card_number`, `cvv` and what is included. */
  readonly object: JsonObject;
  readonly reference: string | undefined;
}

/** The cards of a message, and what their places become. */
export interface Extracted {
  /** Distinct ones, in the order of the message. */
  readonly cards: readonly FoundCard[];
  readonly edits: readonly Edit[];
  /** Number of places with a card. */
  readonly places: number;
}

/** A text without white space around it, and the parts of the source that it is written in. */
interface Trimmed {
  readonly value: string;
  readonly parts: readonly Leaf[];
}

/** A place with a card, before cards of the same number and reference become one. */
interface Place extends FoundCard {
  readonly parts: readonly Leaf[];
}

export const CARDS_MAX = 1_000;
/** Limit for the objects of all cards together, to which one value of the message may belong. */
const OBJECTS_BYTES_MAX = 4 * 1_048_576;

const CARD = /^\d(?:[ -]?\d){11,18}$/;
const ZEROS = /^[0 -]*$/;
const DIGIT = /\p{Nd}/u;

/** Tells whether a value is a card number: 12 to 19 digits, not all zeros, with single spaces or dashes between. */
export function isCardNumber(value: string): boolean {
  return CARD.test(value) && !ZEROS.test(value);
}

export function starsFor(value: string): string {
  return '*'.repeat([...value].length);
}

/** The text of pieces without white space around it. */
function trimmedText(pieces: readonly Leaf[], text: string): Trimmed {
  const joined = joinedPieces(pieces);
  const value = joined.trim();
  const from = joined.length - joined.trimStart().length;
  const to = from + value.length;
  const parts: Leaf[] = [];
  let at = 0;
  for (const piece of pieces) {
    const [start, end] = [Math.max(from - at, 0), Math.min(to - at, piece.value.length)];
    if (start < end) {
      parts.push(partOf(piece, text, start, end));
    }
    at += piece.value.length;
  }
  return { value, parts };
}

/** Replaces the first part by a text, and removes the others. */
function replaced(parts: readonly Pick<Leaf, 'start' | 'end' | 'quote'>[], by: Edit['by']): Edit[] {
  return parts.map(({ start, end, quote }, at) =>
    at === 0 ? { start, end, by, quote } : { start, end, by: '' },
  );
}

/** The code at a place: a text or number with a digit; undefined for any other, such as a masked one. */
function codeAt(pieces: Spot['pieces'], text: string): Trimmed | undefined {
  const code = pieces && trimmedText(pieces, text);
  return code !== undefined && DIGIT.test(code.value) ? code : undefined;
}

/** A path with the number of first steps that it shares with that of its number. */
interface Beside {
  readonly path: NamedPath;
  readonly shared: number;
}

function besideOf(path: NamedPath | undefined, number: NamedPath): Beside | undefined {
  return path && { path, shared: sharedSteps(path, number) };
}

/** The only place of a path beside a number; undefined for none and for several. */
function onlySpot(found: Found, beside: Beside | undefined): Spot | undefined {
  const [first, ...others] = beside === undefined ? [] : found.beside(beside.path, beside.shared);
  return others.length === 0 ? first : undefined;
}

/** Finds the codes at the path of a source, and hides them in what is stored besides. */
function readCodes({ text, visit, hide }: Document, { code }: Source, codes: Map<number, Edit>): void {
  if (code === undefined) {
    return;
  }
  visit(code, ({ pieces, texts }) => {
    texts().forEach(hide);
    const found = codeAt(pieces, text);
    for (const edit of found === undefined ? [] : replaced(found.parts, starsFor(found.value))) {
      codes.set(edit.start, edit);
    }
  });
}

/** Finds the cards at the paths of a source. */
function readSource(
  { text, visit }: Document,
  { number, code, include, reference }: Source,
  add: (place: Place) => void,
): void {
  const [codeBeside, referenceBeside] = [besideOf(code, number), besideOf(reference, number)];
  const included = include.map(([name, path]) => ({ name, path, shared: sharedSteps(path, number) }));
  visit(number, (found) => {
    const read = found.pieces && trimmedText(found.pieces, text);
    if (read === undefined || !isCardNumber(read.value)) {
      return;
    }
    const object: JsonObject = new Map<string, JsonValue>([['card_number', read.value]]);
    const cvv = codeAt(onlySpot(found, codeBeside)?.pieces, text);
    if (cvv !== undefined) {
      object.set('cvv', cvv.value);
    }
    for (const { name, path, shared } of included) {
      const value = found.beside(path, shared)[0]?.value;
      if (value !== undefined) {
        object.set(name, value);
      }
    }
    const named = onlySpot(found, referenceBeside)?.value;
    add({ object, reference: readReference(named), parts: read.parts });
  });
}

function startOf({ parts }: Place): number {
  return parts[0]?.start ?? 0;
}

/** One card of all places with the same number and reference: the last one, since a later message would replace it too. */
function joined(places: readonly Place[], codes: Iterable<Edit>): Extracted {
  const indexes = new Map<string, number>();
  const cards: FoundCard[] = [];
  const edits: Edit[] = [];
  for (const { object, reference, parts } of places.toSorted((a, b) => startOf(a) - startOf(b))) {
    const name = JSON.stringify([object.get('card_number'), reference ?? null]);
    const card = indexes.get(name) ?? cards.length;
    indexes.set(name, card);
    cards[card] = { object, reference };
    edits.push(...replaced(parts, { card }));
  }
  // A number that is also at the path of a code is one.
  return { cards, edits: [...edits, ...codes], places: places.length };
}

/** Extracts the cards at the paths of the sources; of two sources that lead to one place the first counts. */
export function extractByPaths(document: Document, sources: readonly Source[]): Extracted {
  const places = new Map<number, Place>();
  // By their starts: sources may share them.
  const codes = new Map<number, Edit>();
  let bytes = 0;
  for (const source of sources) {
    readCodes(document, source, codes);
  }
  for (const source of sources) {
    const add = (place: Place): void => {
      const start = startOf(place);
      if (!places.has(start)) {
        places.set(start, place);
        bytes += jsonByteLength(place.object);
      }
      if (places.size > CARDS_MAX || bytes > OBJECTS_BYTES_MAX) {
        throw new VaultError('body_too_large');
      }
    };
    readSource(document, source, add);
  }
  return joined([...places.values()], codes.values());
}

/** Extracts the cards that smart parse recognises, and all codes. */
export function extractCards(candidates: readonly Candidate[]): Extracted {
  const { cards, codes } = findCards(candidates, CARDS_MAX);
  const places = cards.flatMap((card) => {
    const [number] = card.numbers;
    const object: JsonObject = new Map<string, JsonValue>([['card_number', number?.value ?? '']]);
    for (const [name, found] of valuesAround(card)) {
      if (found !== undefined) {
        object.set(name, found.value);
      }
    }
    if (card.joinedHolder !== undefined) {
      object.set('card_holder', card.joinedHolder);
    }
    return card.numbers.map((each) => ({ object, reference: undefined, parts: [each] }));
  });
  const masked = codes.flatMap((code) => replaced([code], starsFor(code.value)));
  return joined(places, masked);
}
