const IDENTIFIER = /^[A-Za-z0-9._@:-]{1,128}$/;

/**
 * Tells whether a text is a valid id: 1 to 128 of `A-Z a-z 0-9 . _ @ : -`. `iframe` is invalid, because
 * `/retrieve/iframe` and `/capture/iframe` are routes.
 */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text) && text !== 'iframe';
}

/** Counts Unicode code points; a lone surrogate is one. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) {
    count++;
  }
  return count;
}
