const IDENTIFIER = /^[A-Za-z0-9._@:-]{1,128}$/;

/**
 * Tells whether a text is a valid id: 1 to 128 of `A-Z a-z 0-9 . _ @ : -`. `iframe` is invalid, because
 * `/retrieve/iframe` and `/capture/iframe` are routes.
 */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text) && text !== 'iframe';
}

/**
 * Counts Unicode code points; a lone surrogate is one. An iterator would make a text of each character, which takes several
 * times as long for characters of two units.
 */
export function countCharacters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    count += 1;
  }
  return count;
}
