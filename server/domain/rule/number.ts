import { isNumberLiteral, JsonNumber } from '../json/json.ts';
import type { RuleArguments, RuleStep } from './arguments.ts';
import { inputText } from './text.ts';

/** A decimal number in parts: sign, digits before and after the point, exponent. */
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
/** Digits of the longest integer that is made: turning digits of another base into decimal ones takes their square. */
const DIGITS_MAX = 4096;
const PREFIXES: Readonly<Record<number, string>> = { 2: '0b', 8: '0o', 16: '0x' };

function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '');
}

/** A literal for the texts that people write and JSON does not know: `+1`, `007`, `.5`, `5.`. */
function normalise(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent] = DECIMAL.exec(text) ?? [];
  if (sign === undefined || whole + fraction === '') {
    return undefined;
  }
  const minus = sign === '-' ? '-' : '';
  const point = fraction === '' ? '' : `.${fraction}`;
  const power = exponent === undefined ? '' : `e${exponent}`;
  return `${minus}${withoutLeadingZeros(whole === '' ? '0' : whole)}${point}${power}`;
}

/**
 * `parse_float`: the number that a text contains. What is a JSON number already stays as it is written (`1.10`,
 * `1e400`); white space around it, a plus sign, leading zeros and a missing digit at the point are put right.
 */
export function compileParseFloat(): RuleStep {
  return (input) => {
    const text = inputText(input)?.trim();
    if (text === undefined) {
      return undefined;
    }
    const literal = isNumberLiteral(text) ? text : normalise(text);
    return literal === undefined ? undefined : new JsonNumber(literal);
  };
}

/** The digits of a decimal number before its point once the exponent has moved it; the rest is cut off. */
function truncate(text: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const digits = withoutLeadingZeros(whole + fraction);
  if (sign === undefined || whole + fraction === '') {
    return undefined;
  }
  const leading = whole.length + fraction.length - digits.length;
  const count = digits === '0' ? 0 : whole.length - leading + Number(exponent);
  if (count <= 0) {
    return '0';
  }
  if (count > DIGITS_MAX) {
    return undefined;
  }
  return (sign === '-' ? '-' : '') + digits.slice(0, count).padEnd(count, '0');
}

function readDigits(text: string, base: number): string | undefined {
  const negative = text.startsWith('-');
  const unsigned = text.replace(/^[+-]/, '').toLowerCase();
  const prefix = PREFIXES[base];
  const digits = prefix !== undefined && unsigned.startsWith(prefix) ? unsigned.slice(2) : unsigned;
  if (digits === '' || digits.length > DIGITS_MAX) {
    return undefined;
  }
  const factor = BigInt(base);
  let value = 0n;
  for (const digit of digits) {
    const worth = Number.parseInt(digit, base);
    if (Number.isNaN(worth)) {
      return undefined;
    }
    value = value * factor + BigInt(worth);
  }
  return String(negative ? -value : value);
}

/**
 * `convert_to_int`: the exact integer that a text contains in a base of 2 to 36, as a number. In base 10 a decimal
 * number is cut at its point towards zero (`12.7` and `-12.7` become 12 and -12, `1.5e3` becomes 1500); in other
 * bases only digits of that base count, with a sign and with `0x`, `0o` or `0b` where it fits. Integers of more
 * than 4,096 digits are not made.
 */
export function compileConvertToInt(args: RuleArguments): RuleStep {
  const base = args.integer('base', { min: 2, max: 36, fallback: 10 });
  return (input) => {
    const text = inputText(input)?.trim();
    if (text === undefined) {
      return undefined;
    }
    const literal = base === 10 ? truncate(text) : readDigits(text, base);
    return literal === undefined ? undefined : new JsonNumber(literal);
  };
}
