import { type JsonValue, quoteJson, stringifyJson } from '../json/json.ts';
import { plainText, type TemplateEscape } from './render.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** No escaping: the plain text of each value. */
export const plainEscape: TemplateEscape = { insert: plainText };

/**
 * Escaping for JSON templates, for one rendering. It follows the output, so that it knows for each tag whether it is
 * inside a string literal. Inside, the plain text of the value becomes escaped characters of that string; outside,
 * the value becomes a JSON value (null if it is missing). A value can end neither the literal nor the surrounding
 * structure, at any position, even directly after a backslash.
 */
export function createJsonEscape(): TemplateEscape {
  let inString = false;
  let afterBackslash = false;

  const pass = (text: string): void => {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (!inString) {
        inString = unit === QUOTE;
      } else if (afterBackslash) {
        afterBackslash = false;
      } else if (unit === BACKSLASH) {
        afterBackslash = true;
      } else {
        inString = unit !== QUOTE;
      }
    }
  };
  const insert = (value: JsonValue | undefined): string => {
    if (!inString) {
      return stringifyJson(value ?? null);
    }
    const characters = quoteJson(plainText(value)).slice(1, -1);
    // An open backslash would consume the first escape and expose a quote of the value: complete it.
    const completion = afterBackslash ? '\\' : '';
    afterBackslash = false;
    return completion + characters;
  };
  return { insert, pass };
}
