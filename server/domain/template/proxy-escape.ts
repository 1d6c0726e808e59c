import type { JsonValue } from '../json/json.ts';
import type { BodyFormat } from '../text/media-type.ts';
import { createJsonEscape, plainEscape } from './escape.ts';
import { plainText, type TemplateEscape } from './render.ts';
import { createXmlEscape } from './xml-escape.ts';

/** What `encodeURIComponent` leaves as it is though some parsers give it a meaning. */
const LEFT = /[!'()*~]/g;

/** A text as part of a URL's path or query, or of a form body: everything but letters, digits, `-`, `.`, `_` encoded. */
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
