/** Names and values in their order; a name may occur more than once. */
export type HeaderEntries = readonly (readonly [name: string, value: string])[];

/** The name of a header: a token (RFC 9110, section 5.6.2). */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The value of the first header of a name, which is in lower case. */
export function headerIn(headers: HeaderEntries, wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
}

/** True if the body has a content coding; for a reply that was read whole, one that the vault does not know. */
export function isEncoded(headers: HeaderEntries): boolean {
  return headerIn(headers, 'content-encoding') !== undefined;
}

/** All values of a header in lower case, with commas between them; undefined without one. The name is in lower case. */
export function joinedValues(headers: HeaderEntries, wanted: string): string | undefined {
  let found: string | undefined;
  for (const [name, value] of headers) {
    if (name.length === wanted.length && name.toLowerCase() === wanted) {
      found = found === undefined ? value.toLowerCase() : `${found},${value.toLowerCase()}`;
    }
  }
  return found;
}
