/** Every text that people read, in five languages. `{…}` is filled in. */

import type { Texts } from './en.ts';
import { packTexts } from './messages.macro.ts' with { type: 'macro' };

export type { Texts } from './en.ts';

/** The languages that forms speak. */
export type Locale = 'en' | 'es' | 'fr' | 'de' | 'ar';

const PACKED = packTexts();
const SEPARATOR = '|';

/** The texts of a language. Of `[link/form]` the second is for a form in another page, which is nobody's link. */
export function textsOf(locale: Locale, framed = false): Texts {
  const texts = PACKED.texts[locale].replace(/\[(.+?)\/(.+?)\]/g, framed ? '$2' : '$1').split(SEPARATOR);
  const pairs = PACKED.names.split(SEPARATOR).map((name, at) => [name, texts[at] ?? '']);
  // The names are those of the English texts, which are what the type is made of.
  return Object.fromEntries(pairs) as Texts;
}

/** The first language of a list (`de-AT`, `fr`) that forms speak, or English. */
export function pickLocale(wanted: readonly (string | null | undefined)[]): Locale {
  for (const tag of wanted) {
    const language = tag?.toLowerCase().split(/[-_]/)[0] ?? '';
    if (isLocale(language)) {
      return language;
    }
  }
  return 'en';
}

function isLocale(language: string): language is Locale {
  return Object.hasOwn(PACKED.texts, language);
}

/** The text with its places filled in. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}
