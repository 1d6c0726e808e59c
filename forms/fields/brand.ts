/** Which network a card number belongs to, and what its numbers look like. */
import { brandTable } from './brand.macro.ts' with { type: 'macro' };

const TABLE = brandTable();
/** Fewer digits than this are looked up among the leads; up to eight are filled up with zeros. */
const LEAD_DIGITS = 5;
const STRETCH_DIGITS = 8;
const LENGTH_MIN = 12;
const LENGTH_MAX = 19;

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

function pairs(text: string): [string, string][] {
  return text.split(' ').map((part) => {
    const [key = '', index = ''] = part.split(':');
    return [key, TABLE.names[Number.parseInt(index, 36)] ?? ''];
  });
}

const LEADS = pairs(TABLE.leads);
const STRETCHES = pairs(TABLE.stretches);

/**
 * The network of a number that may still be incomplete, in the words of the service (`visa`, `american-express`);
 * empty when none is known. From eight digits on it is the service's own answer for the same digits.
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

/** What a network is called in texts; one that is not listed by its identifier with a capital. */
export function brandName(brand: string): string {
  return NICE[brand] ?? brand.charAt(0).toUpperCase() + brand.slice(1);
}

/** The lengths that a network's numbers have; unknown networks may have any that cards have. */
export function lengthsOf(brand: string): readonly number[] {
  return brand === ''
    ? Array.from({ length: LENGTH_MAX - LENGTH_MIN + 1 }, (_, at) => LENGTH_MIN + at)
    : (TABLE.shapes[brand]?.lengths ?? [16]);
}

/** After how many digits a space comes. */
export function gapsOf(brand: string): readonly number[] {
  return TABLE.shapes[brand]?.gaps ?? [4, 8, 12, 16];
}

/** How many digits the security code has; unknown networks may have three or four. */
export function codeLengthsOf(brand: string): readonly number[] {
  return brand === '' ? [3, 4] : [TABLE.shapes[brand]?.code ?? 3];
}
