import { describe, expect, test } from 'bun:test';
import type { Texts } from '../../forms/messages/en.ts';
import { EN } from '../../forms/messages/en.ts';
import { packTexts } from '../../forms/messages/messages.macro.ts';
import { fillText, pickLocale, textsOf } from '../../forms/messages/messages.ts';

const NAMES = Object.keys(EN) as (keyof Texts)[];
const LOCALES = ['en', 'es', 'fr', 'de', 'ar'] as const;

function places(text: string): string[] {
  return (text.match(/\{\w+\}/g) ?? []).sort();
}

test.each(LOCALES)('%s has every text, with the same places', (locale) => {
  const texts = textsOf(locale);
  expect(NAMES.filter((name) => texts[name].trim() === '')).toEqual([]);
  expect(NAMES.map((name) => places(texts[name]))).toEqual(NAMES.map((name) => places(EN[name])));
});

describe.each(LOCALES)('%s in the page of another', (locale) => {
  const alone = textsOf(locale);
  const framed = textsOf(locale, true);

  test('speaks of a form where it else speaks of a link, and of nothing else differently', () => {
    const differing = NAMES.filter((name) => alone[name] !== framed[name]);
    expect(differing).toEqual(['e_gone', 'e_used', 'e_refused']);
  });

  test('leaves no choice open', () => {
    for (const text of [...Object.values(alone), ...Object.values(framed)]) {
      expect(text).not.toMatch(/[[\]]/);
    }
  });
});

test('an endpoint that is gone, in English', () => {
  expect(textsOf('en').e_gone).toBe('This link has expired. Please ask for a new one.');
  expect(textsOf('en', true).e_gone).toBe('This form has expired. Please reload the page.');
});

test('sentences are translated, not copied', () => {
  for (const locale of LOCALES.slice(1)) {
    const copied = NAMES.filter((name) => EN[name].length > 20 && textsOf(locale)[name] === EN[name]);
    expect(copied).toEqual([]);
  }
});

test('packing loses nothing', () => {
  const { names, texts } = packTexts();
  expect(names.split('|')).toEqual(NAMES);
  expect(texts.en.split('|')).toEqual(Object.values(EN));
});

test.each([
  [['de-AT'], 'de'],
  [['pt', 'fr-CA', 'en'], 'fr'],
  [['AR_EG'], 'ar'],
  [[null, undefined, 'es'], 'es'],
  [['ja'], 'en'],
  [['constructor'], 'en'],
  [[], 'en'],
] as const)('%p speaks %s', (wanted, locale) => {
  expect(pickLocale(wanted)).toBe(locale);
});

test('places are filled in, once', () => {
  expect(fillText('{n} of {list}', { n: 3, list: '{n}' })).toBe('3 of {n}');
});
