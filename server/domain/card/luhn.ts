/**
 * The Luhn sum modulo 10, or NaN if a character is not an ASCII digit. `double`: whether the last digit is doubled.
 */
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

/**
 * Whether the last digit is the Luhn check digit of the ones before it (ISO/IEC 7812-1, annex B). False for an empty
 * text and for other characters than ASCII digits: callers remove spaces before.
 */
export function passesLuhn(digits: string): boolean {
  return digits !== '' && luhnSum(digits, false) === 0;
}

/** The digit to append to `digits` so that the result passes Luhn. Throws a RangeError for other characters. */
export function luhnCheckDigit(digits: string): string {
  const sum = luhnSum(digits, true);
  if (Number.isNaN(sum)) {
    throw new RangeError('Luhn takes ASCII digits only.');
  }
  return String((10 - sum) % 10);
}
