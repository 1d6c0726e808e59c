/** What a body is written in, as far as it matters for putting values into it or finding them in it. */
export type BodyFormat = 'json' | 'form' | 'xml' | 'text';

/**
 * The format that a Content-Type names: `json` for JSON and `+json` (and lines of JSON), `xml` for XML and `+xml`,
 * `form` for `application/x-www-form-urlencoded`, `text` for everything else. Undefined when it names none.
 */
export function bodyFormat(contentType: string | undefined): BodyFormat | undefined {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
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
