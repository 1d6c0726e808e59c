const IDENTIFIER = /^[A-Za-z0-9._@:-]{1,128}$/;

const REFERENCE_CHARACTERS_MAX = 255;

/**
 * Whether a text is a valid id of a key, endpoint, rule, form, CSR or certificate: 1 to 128 of `A-Z a-z 0-9 . _ @ :
 * -`. `iframe` is invalid, because `/retrieve/iframe` and `/capture/iframe` are routes.
 */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text) && text !== 'iframe';
}

/** Whether a text is a valid reference of an item: any well-formed text of 1 to 255 characters (code points). */
export function isReference(text: string): boolean {
  if (text === '' || text.length > 2 * REFERENCE_CHARACTERS_MAX || !text.isWellFormed()) {
    return false;
  }
  if (text.length <= REFERENCE_CHARACTERS_MAX) {
    return true;
  }
  let characters = 0;
  for (const _ of text) {
    characters++;
  }
  return characters <= REFERENCE_CHARACTERS_MAX;
}
