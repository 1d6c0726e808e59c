import { cardDigits } from '../card/digits.ts';
import { passesLuhn } from '../card/luhn.ts';
import { hasCardLength } from './cards.ts';
import { type Leaf, rootBranch, writeText } from './leaves.ts';

const NUMBER = /(?<![\d.])\d(?:[ -]?\d){11,18}(?![\d]|[ -]\d)/g;
const CVV =
  /\b(?:cvv2?|cvc2?|cvn2?|csc|cid|(?:card )?(?:security|verification) (?:code|value|number))\b[^\w\r\n]{1,8}(\d{3,4})(?!\d)/i;
const EXPIRY =
  /\b(?:exp(?:ir(?:y|es|ation))?(?: date)?|valid (?:thru|until|to)|good thru)\b[^\w\r\n]{1,8}((?:0?[1-9]|1[0-2]) ?[/.-] ?(?:20)?\d\d|20\d\d ?[/.-] ?(?:0[1-9]|1[0-2]))(?!\d)/i;
const HOLDER =
  /\b(?:card ?holder(?:'s)?(?: name)?|name on card|holder)\b[ \t]{0,4}[:=][ \t]{0,4}([^\r\n,;|"<>{}\d]{1,120})/i;

const ROOT = rootBranch();

function leafAt(name: string, value: string, start: number): Leaf {
  return { name, branch: ROOT, value, start, end: start + value.length, write: writeText };
}

function firstOf(text: string, name: string, pattern: RegExp): Leaf[] {
  const found = pattern.exec(text);
  const value = found?.[1];
  return found === null || value === undefined
    ? []
    : [leafAt(name, value, found.index + found[0].length - value.length)];
}

/**
 * Card values in a plain text, by pattern: the numbers that pass Luhn, and the first code, expiry and holder that
 * have a label.
 */
export function textLeaves(text: string): Leaf[] {
  const numbers: Leaf[] = [];
  for (const { 0: value, index } of text.matchAll(NUMBER)) {
    if (hasCardLength(value) && passesLuhn(cardDigits(value) ?? '')) {
      numbers.push(leafAt('card_number', value, index));
    }
  }
  if (numbers.length === 0) {
    return numbers;
  }
  const labelled = [
    ...firstOf(text, 'cvv', CVV),
    ...firstOf(text, 'expiry', EXPIRY),
    ...firstOf(text, 'card_holder', HOLDER),
  ];
  const isApart = ({ start, end }: Leaf): boolean =>
    numbers.every((number) => number.end <= start || end <= number.start);
  return [...numbers, ...labelled.filter(isApart)];
}
