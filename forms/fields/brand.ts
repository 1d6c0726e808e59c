/** The network of a card number, and the shape of its numbers. */
import { brandTable } from './brand.macro.ts' with { type: 'macro' };

const TABLE = brandTable();
/** Fewer digits than this are searched among the prefixes; up to eight are padded with zeros. */
const LEAD_DIGITS = 5;
/** The digits of the segments. */
const STRETCH_DIGITS = 8;
/** The lengths of card numbers (ISO/IEC 7812-1). */
const LENGTH_MIN = 12;
const LENGTH_MAX = 19;

/** The names of networks for people. */
const NICE: Readonly<Record<string, string>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  'american-express': 'American Express',
  'diners-club': 'Diners Club',
  discover: 'Discover',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  maestro: 'Maestro',
  rupay: 'RuPay',
};

/** Parses a list of the table. */
function pairs(text: string): [string, string][] {
  return text.split(' ').map((part) => {
    const [key = '', index = ''] = part.split(':');
    return [key, TABLE.names[Number.parseInt(index, 36)] ?? ''];
  });
}

const LEADS = pairs(TABLE.leads);
const STRETCHES = pairs(TABLE.stretches);

/**
 * The network of a number that may be incomplete, in the spelling of the service (`visa`, `american-express`); empty
 * if it is unknown. From eight digits on, the result equals that of the service.
 */
export function brandOf(digits: string): string {
  if (digits.length < LEAD_DIGITS) {
    return LEADS.find(([start]) => digits.startsWith(start))?.[1] ?? '';
  }
  const lead = Number(digits.slice(0, STRETCH_DIGITS).padEnd(STRETCH_DIGITS, '0'));
  let start = 0;
  let found = '';
  for (const [distance, brand] of STRETCHES) {
    start += Number.parseInt(distance, 36);
    if (start > lead) {
      break;
    }
    found = brand;
  }
  return found;
}

/** The name of a network for people; its identifier with capital letters if it has none. */
export function brandName(brand: string): string {
  const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
  return NICE[brand] ?? brand.split('-').map(capital).join(' ');
}

/** The lengths of a network's numbers; all lengths of card numbers for an unknown network. */
export function lengthsOf(brand: string): readonly number[] {
  return brand === ''
    ? Array.from({ length: LENGTH_MAX - LENGTH_MIN + 1 }, (_, at) => LENGTH_MIN + at)
    : (TABLE.shapes[brand]?.lengths ?? [16]);
}

/** The numbers of digits after which a space follows. */
export function gapsOf(brand: string): readonly number[] {
  return TABLE.shapes[brand]?.gaps ?? [4, 8, 12, 16];
}

/** The lengths of the verification code; three or four digits for an unknown network. */
export function codeLengthsOf(brand: string): readonly number[] {
  return brand === '' ? [3, 4] : [TABLE.shapes[brand]?.code ?? 3];
}
