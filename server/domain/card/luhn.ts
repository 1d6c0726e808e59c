/** The Luhn sum modulo 10, or NaN when a character is not an ASCII digit; `double` says whether the last digit is doubled. */
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
 * Whether the last digit is the Luhn check digit of the ones before it (ISO/IEC 7812-1, annex B). False for the
 * empty text and for any character but an ASCII digit: callers take spaces out first.
 */
export function passesLuhn(digits: string): boolean {
  return digits !== '' && luhnSum(digits, false) === 0;
}

/** The digit to append to `digits` so that the whole passes Luhn; throws a RangeError on other characters. */
export function luhnCheckDigit(digits: string): string {
  const sum = luhnSum(digits, true);
  if (Number.isNaN(sum)) {
    throw new RangeError('Luhn takes ASCII digits only.');
  }
  return String((10 - sum) % 10);
}
