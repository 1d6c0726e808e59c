import { isNumberLiteral, JsonNumber } from '../json/json.ts';
import { type RuleArguments, type RuleStep, textStep } from './arguments.ts';

/** The parts of a decimal number: sign, digits before and after the point, exponent. */
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
/** The most digits of an integer; conversion from another base takes quadratic time. */
const DIGITS_MAX = 4096;
/** Prefixes of literals that are accepted with their base. */
const PREFIXES: Readonly<Record<number, string>> = { 2: '0b', 8: '0o', 16: '0x' };

function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '');
}

/** A JSON literal for texts that are not valid JSON: `+1`, `007`, `.5`, `5.`. */
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
 * `parse_float`: the number that a text contains. A JSON number keeps its literal (`1.10`, `1e400`). Surrounding
 * white space, a plus sign, leading zeros and a missing digit next to the point are corrected.
 */
export function compileParseFloat(): RuleStep {
  return textStep((input) => {
    const text = input.trim();
    const literal = isNumberLiteral(text) ? text : normalise(text);
    return literal === undefined ? undefined : new JsonNumber(literal);
  });
}

/** The digits of a decimal number before its point, after its exponent is applied; the rest is discarded. */
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

/** The decimal digits of an integer in another base; undefined if it is invalid or too long. */
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
 * `convert_to_int`: the exact integer of a text in a base of 2 to 36. In base 10 a decimal number is truncated towards
 * zero (`-12.7` becomes -12, `1.5e3` becomes 1500). In other bases only digits of that base are valid, with a sign and
 * with a matching `0x`, `0o` or `0b`. Integers of more than 4,096 digits are not supported.
 */
export function compileConvertToInt(args: RuleArguments): RuleStep {
  const base = args.integer('base', { min: 2, max: 36, fallback: 10 });
  return textStep((input) => {
    const text = input.trim();
    const literal = base === 10 ? truncate(text) : readDigits(text, base);
    return literal === undefined ? undefined : new JsonNumber(literal);
  });
}
