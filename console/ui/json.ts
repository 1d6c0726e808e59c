import { T } from '../text/text.ts';

/** The value of a JSON text that a person typed. Throws an error in words for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(T.notJson);
  }
}
