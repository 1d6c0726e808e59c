/** Whether a UTF-16 unit is an ASCII digit. */
export function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Whether the text contains an ASCII digit anywhere. */
export function hasDigit(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (isDigit(text.charCodeAt(at))) {
      return true;
    }
  }
  return false;
}

/**
 * The ASCII digits of a text in order, without all other characters. A text that has only digits is returned without
 * a copy.
 */
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

/**
 * The digits of a card number as people write it: spaces and dashes are removed. Undefined if the text contains any
 * other character, such as an IBAN, or no digit.
 */
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
