/** All texts for people, in five languages. `{…}` are placeholders. */

import type { Texts } from './en.ts';
import { packTexts } from './messages.macro.ts' with { type: 'macro' };

/** The languages of forms. */
export type Locale = 'en' | 'es' | 'fr' | 'de' | 'ar';

const PACKED = packTexts();
const SEPARATOR = '|';

/** The texts of a language. Of `[link/form]` the second is used if the form is inside another page. */
export function textsOf(locale: Locale, framed = false): Texts {
  const texts = PACKED.texts[locale].replace(/\[(.+?)\/(.+?)\]/g, framed ? '$2' : '$1').split(SEPARATOR);
  const pairs = PACKED.names.split(SEPARATOR).map((name, at) => [name, texts[at] ?? '']);
  // The names are those of the English texts, which are what the type is made of.
  return Object.fromEntries(pairs) as Texts;
}

/** The first available language of a list (`de-AT`, `fr`), or English. */
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

/** The text with values in place of its placeholders. */
export function fillText(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}
