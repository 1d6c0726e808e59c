/** The Luhn sum modulo 10, NaN for a character that is no ASCII digit. `double`: the last digit is doubled. */
function luhnSum(digits: string, double: boolean): number {
  let sum = 0;
  let doubled = double;
  for (let at = digits.length - 1; at >= 0; at--) {
    const digit = digits.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) {
      return Number.NaN;
    }
    const weighted = doubled ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
    doubled = !doubled;
  }
  return sum % 10;
}

/** Checks the Luhn check digit (ISO/IEC 7812-1, annex B). False for an empty text and for other characters than ASCII digits. */
export function passesLuhn(digits: string): boolean {
  return digits !== '' && luhnSum(digits, false) === 0;
}

/** The digit that makes `digits` pass Luhn when appended. Throws a RangeError for other characters. */
export function luhnCheckDigit(digits: string): string {
  const sum = luhnSum(digits, true);
  if (Number.isNaN(sum)) {
    throw new RangeError('Luhn takes ASCII digits only.');
  }
  return String((10 - sum) % 10);
}

/** Sums modulo 10 up to each digit, with the digits at even places doubled, and with those at odd places. */
export type LuhnSums = readonly [even: Uint8Array, odd: Uint8Array];

/** Prepares the digits of a text for {@link partPassesLuhn}. */
export function luhnSums(digits: string): LuhnSums {
  const [even, odd] = [new Uint8Array(digits.length + 1), new Uint8Array(digits.length + 1)];
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(at) - 0x30;
    const doubled = digit > 4 ? 2 * digit - 9 : 2 * digit;
    const isEven = at % 2 === 0;
    even[at + 1] = ((even[at] ?? 0) + (isEven ? doubled : digit)) % 10;
    odd[at + 1] = ((odd[at] ?? 0) + (isEven ? digit : doubled)) % 10;
  }
  return [even, odd];
}

/** Tells whether the digits from `from` to before `to` pass Luhn, in one step. */
export function partPassesLuhn([even, odd]: LuhnSums, from: number, to: number): boolean {
  const sums = to % 2 === 0 ? even : odd;
  return sums[from] === sums[to];
}
