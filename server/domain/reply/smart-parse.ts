import { onlyDigits } from '../card/digits.ts';
import { passesLuhn } from '../card/luhn.ts';
import type { JsonObject } from '../json/json.ts';
import { type BodyFormat, bodyFormat } from '../text/media-type.ts';
import { type FoundCard, findCard } from './cards.ts';
import { expiryOf } from './expiry.ts';
import { formLeaves, looksLikeForm } from './form.ts';
import { jsonLeaves } from './json.ts';
import type { Leaf } from './leaves.ts';
import { finishOriginal, hideText, keepFree, keepPlace, startOriginal, tagValue } from './original.ts';
import { textLeaves } from './text.ts';
import { hasDoctype, xmlLeaves } from './xml.ts';

/** What was found in a reply. */
export interface SmartParsed {
  /** The format that the reply was read as: `original_data` is a template for it. */
  readonly format: BodyFormat;
  /** The object to store: `card_number`, what else was found, and `original_data`. */
  readonly object: JsonObject;
}

function sniff(text: string): BodyFormat {
  const first = text.replace('\ufeff', '').trimStart().charAt(0);
  if (first === '{' || first === '[') {
    return 'json';
  }
  if (first === '<') {
    return 'xml';
  }
  return looksLikeForm(text) ? 'form' : 'text';
}

const READERS: Readonly<Record<BodyFormat, (text: string) => readonly Leaf[] | undefined>> = {
  json: jsonLeaves,
  xml: xmlLeaves,
  form: formLeaves,
  text: textLeaves,
};

/** What may be a card's number, in any of the spellings that a masked account must not see one in. */
const NUMBER_RUN = /(?<!\d)\d(?:[ .-]?\d){12,18}(?!\d)/g;

function* numberRuns(text: string): Generator<readonly [start: number, end: number]> {
  for (const { 0: run, index } of text.matchAll(NUMBER_RUN)) {
    if (passesLuhn(onlyDigits(run))) {
      yield [index, index + run.length];
    }
  }
}

/** The card's values by their names in the stored object, with their places; expiry from two places or from one. */
function valuesOf(
  text: string,
  card: FoundCard,
): [string, Pick<Leaf, 'value' | 'start' | 'end'> | undefined][] {
  const hasBoth = card.month !== undefined && card.year !== undefined;
  const expiry = (hasBoth ? undefined : card.expiry && expiryOf(text, card.expiry)) ?? card;
  return [
    ['card_number', card.number],
    ['cvv', card.cvv],
    ['expiry_month', expiry.month],
    ['expiry_year', expiry.year],
    ['card_holder', card.holder],
  ];
}

function storedObject(text: string, card: FoundCard): JsonObject {
  const object: JsonObject = new Map();
  const original = startOriginal(text);
  for (const [name, found] of valuesOf(text, card)) {
    if (found !== undefined) {
      object.set(name, found.value);
      tagValue(original, name, found);
    }
  }
  for (const other of card.others) {
    if (other.value === card.number.value) {
      tagValue(original, 'card_number', other);
    } else {
      keepPlace(original, other.role === 'number' ? 'card_number' : 'cvv', other.start, other.end);
    }
  }
  hideText(original, 'card_number', card.number.value);
  hideText(original, 'card_number', onlyDigits(card.number.value), true);
  keepFree(original, 'card_number', numberRuns(text));
  const { template, parts } = finishOriginal(original);
  object.set('original_data', template);
  if (parts.length > 0) {
    object.set('original_parts', parts);
  }
  return object;
}

/**
 * Finds a card's number, code, expiry and holder in a reply, read by its Content-Type, or by its look where that
 * names no format with names or the reply is not in it: in JSON, XML and forms by names at any depth, in other
 * text by patterns, with Luhn. Values are kept as they are written (`12`, `27`, spaces in numbers). In
 * `original_data` they are replaced by mustache tags; filled again from the object, as a body of `format`, it says
 * what the reply says, to the letter but for how the found values are escaped. What tags of the five names cannot
 * give back stands in `original_parts`, a list of objects: other cards' numbers and codes, and braces that would be
 * read as tags. Undefined when there is no number, and for XML with a document type.
 */
export function smartParse(text: string, contentType?: string): SmartParsed | undefined {
  if (!text.isWellFormed()) {
    return undefined;
  }
  const declared = bodyFormat(contentType);
  const looks = sniff(text);
  if (hasDoctype(text) && (declared === 'xml' || (declared === undefined && looks === 'xml'))) {
    return undefined;
  }
  const first = declared === 'text' ? looks : (declared ?? looks);
  for (const format of new Set<BodyFormat>([first, looks, 'text'])) {
    const leaves = READERS[format](text);
    if (leaves !== undefined) {
      const card = findCard(leaves, text);
      return card === undefined ? undefined : { format, object: storedObject(text, card) };
    }
  }
  return undefined;
}
