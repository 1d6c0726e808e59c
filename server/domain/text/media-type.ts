/** The format of a body, by which values are inserted and found. */
export type BodyFormat = 'json' | 'form' | 'xml' | 'text';

/** The media type of a Content-Type, in lower case; empty if it has none. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * The format of a Content-Type (RFC 9110): `json` for JSON, `+json` and JSON lines, `xml` for XML and `+xml`, `form`
 * for `application/x-www-form-urlencoded`, `text` for all others. Undefined if it has no type.
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  const type = mediaType(contentType);
  const subtype = type.slice(type.indexOf('/') + 1);
  if (type === '') {
    return undefined;
  }
  if (/^(?:.*\+)?json$|^(?:x-)?(?:ndjson|jsonlines)$/.test(subtype)) {
    return 'json';
  }
  if (/^(?:.*\+)?xml$/.test(subtype)) {
    return 'xml';
  }
  return type === 'application/x-www-form-urlencoded' ? 'form' : 'text';
}
