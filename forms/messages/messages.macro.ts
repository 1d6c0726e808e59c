/** All texts, packed, so that the script contains their names only once. Macros run when the script is built. */
import { AR } from './ar.ts';
import { DE } from './de.ts';
import { EN, type Texts } from './en.ts';
import { ES } from './es.ts';
import { FR } from './fr.ts';

const SEPARATOR = '|';

/** The names of the texts, and the texts of each language in the same order, separated by `|`. */
export interface PackedTexts {
  readonly names: string;
  readonly texts: Readonly<Record<'en' | 'es' | 'fr' | 'de' | 'ar', string>>;
}

/** Packs the texts; throws if one contains the separator. */
export function packTexts(): PackedTexts {
  const names = Object.keys(EN) as (keyof Texts)[];
  const pack = (texts: Texts): string => {
    const list = names.map((name) => texts[name]);
    if (list.some((text) => text.includes(SEPARATOR))) {
      throw new Error('A text holds the character that is put between texts.');
    }
    return list.join(SEPARATOR);
  };
  return {
    names: names.join(SEPARATOR),
    texts: { en: pack(EN), es: pack(ES), fr: pack(FR), de: pack(DE), ar: pack(AR) },
  };
}
