import type { JsonValue } from '../json/json.ts';
import type { BodyFormat } from '../text/media-type.ts';
import { createJsonEscape, plainEscape } from './escape.ts';
import { plainText, type TemplateEscape } from './render.ts';
import { createXmlEscape } from './xml-escape.ts';

/** Characters that `encodeURIComponent` keeps although some parsers give them a meaning. */
const LEFT = /[!'()*~]/g;

/**
 * Encodes a text for the path or query of a URL, or for a form body: everything but letters, digits, `-`, `.`, `_`
 * (RFC 3986).
 */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    LEFT,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Percent-encoding of each value, for URLs and form bodies. */
export const percentEscape: TemplateEscape = {
  insert: (value: JsonValue | undefined) => percentEncode(plainText(value)),
};

/** The escaping for a body of this format, for one rendering. */
export function createBodyEscape(format: BodyFormat): TemplateEscape {
  switch (format) {
    case 'json':
      return createJsonEscape();
    case 'form':
      return percentEscape;
    case 'xml':
      return createXmlEscape();
    case 'text':
      return plainEscape;
  }
}
