/** Compares texts by their UTF-16 code units, for `sort`. */
export function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
