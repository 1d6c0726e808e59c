/** Parses a boolean query parameter; undefined for any other text. */
export function parseBooleanText(text: string): boolean | undefined {
  if (text === 'true' || text === 't' || text === '1') {
    return true;
  }
  if (text === 'false' || text === 'f' || text === '0') {
    return false;
  }
  return undefined;
}

/**
 * Parses an integer query parameter: digits without leading zeros, with a minus sign if negative. Undefined for any
 * other text (`+1`, `-0`, `0x10`, `1e3`, `1.0`) and outside the range of safe integers.
 */
export function parseIntegerText(text: string): number | undefined {
  if (!/^(?:0|-?[1-9]\d{0,15})$/.test(text)) {
    return undefined;
  }
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Parses a comma-separated query parameter; white space around entries is removed. Undefined if an entry is empty. */
export function parseListText(text: string): string[] | undefined {
  if (text === '') {
    return [];
  }
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.includes('') ? undefined : entries;
}
