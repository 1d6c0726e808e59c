import { type JsonValue, quoteJson, stringifyJson } from '../json/json.ts';
import { plainText, type TemplateEscape } from './render.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** No escaping: the plain text of each value. */
export const plainEscape: TemplateEscape = { insert: plainText };

/**
 * Escaping for templates of JSON, for one rendering. It follows the text that goes out, so that it knows for each
 * tag whether it stands inside a string literal. Inside, the value's plain text becomes escaped characters of
 * that string; outside, the value becomes a JSON value of its own (a missing one null). A value can end neither
 * the literal nor the structure around it, wherever the tag stands, even right after a backslash.
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
    // An open backslash would swallow the first escape and let a quote of the value through: complete it.
    const completion = afterBackslash ? '\\' : '';
    afterBackslash = false;
    return completion + characters;
  };
  return { insert, pass };
}
