import { onlyDigits } from '../card/digits.ts';
import { passesLuhn } from '../card/luhn.ts';
import type { JsonObject } from '../json/json.ts';
import { percentEncode } from '../template/escape.ts';
import { type BodyFormat, bodyFormat } from '../text/media-type.ts';
import { type FoundCard, findCard, isCard, splitExpiry } from './cards.ts';
import { jsonLeaves } from './json.ts';
import { type Branch, branchOf, type Leaf, ROOT, type Value } from './leaves.ts';
import { Original } from './original.ts';
import { hasDoctype, xmlLeaves } from './xml.ts';

const LOOKS_LIKE_FORM = /^[^\s&=<>{}]+=\S*\s*$/;
const INDEX = /^\d+$/;

function decode(source: string): string | undefined {
  try {
    return decodeURIComponent(source.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** The values of a form body, in order; `card[number]` and `card.number` are nested names. */
function formLeaves(text: string): Leaf[] {
  const branches = new Map<string, Branch>();
  const leaves: Leaf[] = [];
  let start = 0;
  for (const pair of text.trimEnd().split('&')) {
    const equals = pair.indexOf('=');
    const name = equals < 0 ? undefined : decode(pair.slice(0, equals));
    const value = equals < 0 ? undefined : decode(pair.slice(equals + 1));
    if (name !== undefined && value !== undefined) {
      const steps = name.split(/[[\].]+/, 65).filter((step) => step !== '');
      const own = steps.pop() ?? '';
      let branch = ROOT;
      let path = '';
      for (const step of steps) {
        path += `${step}.`;
        const named = INDEX.test(step) ? branch.name : step;
        branch = branches.get(path) ?? branchOf(named, branch);
        branches.set(path, branch);
      }
      const end = start + pair.length;
      leaves.push({ name: own, branch, value, start: start + equals + 1, end, write: percentEncode });
    }
    start += pair.length + 1;
  }
  return leaves;
}

const NUMBER = /(?<![\d.])\d(?:[ -]?\d){11,18}(?![\d]|[ -]\d)/g;
/** Labelled values of a plain text. */
const LABELLED: readonly (readonly [name: string, pattern: RegExp])[] = [
  [
    'cvv',
    /\b(?:cvv2?|cvc2?|cvn2?|csc|cid|(?:card )?(?:security|verification) (?:code|value|number))\b[^\w\r\n]{1,8}(\d{3,4})(?!\d)/i,
  ],
  [
    'expiry',
    /\b(?:exp(?:ir(?:y|es|ation))?(?: date)?|valid (?:thru|until|to)|good thru)\b[^\w\r\n]{1,8}((?:0?[1-9]|1[0-2]) ?[/.-] ?(?:20)?\d\d|20\d\d ?[/.-] ?(?:0[1-9]|1[0-2]))(?!\d)/i,
  ],
  [
    'card_holder',
    /\b(?:card ?holder(?:'s)?(?: name)?|name on card|holder)\b[ \t]{0,4}[:=][ \t]{0,4}([^\r\n,;|"<>{}\d]{1,120})/i,
  ],
];

/** Card values of a plain text, by pattern: the numbers that pass Luhn, and the first labelled code, expiry and holder. */
function textLeaves(text: string): Leaf[] {
  const leafAt = (name: string, value: string, start: number): Leaf => {
    const write = (written: string): string => written;
    return { name, branch: ROOT, value, start, end: start + value.length, write };
  };
  const numbers = [...text.matchAll(NUMBER)]
    .filter(([value]) => isCard(value))
    .map(({ 0: value, index }) => leafAt('card_number', value, index));
  if (numbers.length === 0) {
    return numbers;
  }
  const labelled = LABELLED.flatMap(([name, pattern]) => {
    const found = pattern.exec(text);
    const value = found?.[1];
    return found === null || value === undefined
      ? []
      : [leafAt(name, value, found.index + found[0].length - value.length)];
  });
  const isApart = ({ start, end }: Leaf): boolean =>
    numbers.every((number) => number.end <= start || end <= number.start);
  return [...numbers, ...labelled.filter(isApart)];
}

/** The card that was found in a reply. */
export interface SmartParsed {
  /** Format of the reply and of the template `original_data`. */
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
  return LOOKS_LIKE_FORM.test(text) ? 'form' : 'text';
}

const READERS: Readonly<Record<BodyFormat, (text: string) => readonly Leaf[] | undefined>> = {
  json: jsonLeaves,
  xml: xmlLeaves,
  form: formLeaves,
  text: textLeaves,
};

/** Candidates for card numbers, in any notation that accounts without unmasked output must not see. */
const NUMBER_RUN = /(?<!\d)\d(?:[ .-]?\d){12,18}(?!\d)/g;

function* numberRuns(text: string): Generator<readonly [start: number, end: number]> {
  for (const { 0: run, index } of text.matchAll(NUMBER_RUN)) {
    if (passesLuhn(onlyDigits(run))) {
      yield [index, index + run.length];
    }
  }
}

/** The object to store for a card: its values by name, the expiry from two places or from one, and the original. */
function storedObject(text: string, card: FoundCard): JsonObject {
  const hasBoth = card.month !== undefined && card.year !== undefined;
  const expiry = (hasBoth ? undefined : card.expiry && splitExpiry(text, card.expiry)) ?? card;
  const values: readonly (readonly [string, Value | undefined])[] = [
    ['card_number', card.number],
    ['cvv', card.cvv],
    ['expiry_month', expiry.month],
    ['expiry_year', expiry.year],
    ['card_holder', card.holder],
  ];
  const object: JsonObject = new Map();
  const original = new Original(text);
  for (const [name, found] of values) {
    if (found !== undefined) {
      object.set(name, found.value);
      original.tagValue(name, found);
    }
  }
  for (const other of card.others) {
    if (other.value === card.number.value) {
      original.tagValue('card_number', other);
    } else {
      original.keepPlace(other.role === 'number' ? 'card_number' : 'cvv', other.start, other.end);
    }
  }
  original.hideText('card_number', card.number.value);
  original.hideText('card_number', onlyDigits(card.number.value), true);
  original.keepFree('card_number', numberRuns(text));
  object.set('original_data', original.finish());
  if (original.parts.length > 0) {
    object.set('original_parts', original.parts);
  }
  return object;
}

/**
 * Finds a card's number, code, expiry and holder in a reply, read by its Content-Type, or by its look if that names no
 * format with names or does not fit: in JSON, XML and forms by names at any depth, in other text by patterns, with
 * Luhn. Values keep their notation (`12`, `27`, spaces in numbers). In `original_data` they are mustache tags; filled
 * from the object as a body of `format`, it gives the reply except for the escaping of the found values. Text that
 * these tags cannot reproduce is in `original_parts`, a list of objects: numbers and codes of other cards, and braces
 * that would be read as tags. Undefined without a number, and for XML with a document type.
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
