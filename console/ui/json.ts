import { T } from '../app/text.ts';

/** The value of a typed JSON text. Throws an error for people if the text is invalid. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(T.notJson);
  }
}
