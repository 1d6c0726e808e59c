const DECIMAL = /\p{Nd}/u;
/** White space, dashes, and what is not seen, such as marks of direction: numbers are written and copied with them. */
const SEPARATORS = /[\s\p{Cf}\p{Pd}\u2212]+/gu;

/** The text with the digits of all scripts as ASCII digits. Unicode has the ten digits of a script in order. */
export function asciiDigits(text: string): string {
  return text.replace(/(?!\d)\p{Nd}/gu, (digit) => {
    const point = digit.codePointAt(0) ?? 0;
    let below = 0;
    while (DECIMAL.test(String.fromCodePoint(point - below - 1))) {
      below += 1;
    }
    return String(below % 10);
  });
}

/** The text without what separates groups of digits. */
export function withoutSeparators(text: string): string {
  return text.replace(SEPARATORS, '');
}

export function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

export function hasDigit(text: string): boolean {
  return /[0-9]/.test(text);
}

/** The ASCII digits of a text in order; a text of digits is returned without a copy. */
export function onlyDigits(text: string): string {
  let digits = '';
  let runStart = 0;
  for (let at = 0; at < text.length; at++) {
    if (isDigit(text.charCodeAt(at))) {
      continue;
    }
    digits += text.slice(runStart, at);
    runStart = at + 1;
  }
  return runStart === 0 ? text : digits + text.slice(runStart);
}

/** The digits of a card number without spaces and dashes. Undefined for a text with other characters or without a digit. */
export function cardDigits(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (!isDigit(unit) && unit !== 0x20 && unit !== 0x2d) {
      return undefined;
    }
  }
  const digits = onlyDigits(text);
  return digits === '' ? undefined : digits;
}
