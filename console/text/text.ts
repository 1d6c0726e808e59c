import { EN } from './en.ts';

/** All texts of the console in one language. */
export type Texts = typeof EN;

/** By language tag; a language without texts of its own gets English. */
const LANGUAGES: Readonly<Record<string, Texts>> = { en: EN };

/** The texts in the first of the browser's languages that there is. */
export const T: Texts =
  navigator.languages.map((tag) => LANGUAGES[tag.split('-')[0] ?? '']).find((texts) => texts !== undefined) ??
  EN;
