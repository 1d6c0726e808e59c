/** The attributes of `<vault-card-form>` and the options that they stand for. */
import type { FormOptions } from '../base/options.ts';

const TEXTS = {
  url: 'url',
  form: 'form',
  'base-url': 'baseUrl',
  token: 'token',
  reference: 'reference',
  title: 'title',
  locale: 'locale',
  label: 'label',
} as const satisfies Readonly<Record<string, keyof FormOptions>>;

const SWITCHES = {
  testing: 'testing',
  'forms-host': 'formsHost',
} as const satisfies Readonly<Record<string, keyof FormOptions>>;

/** The attributes that make another form when they change. */
export const FORM_ATTRIBUTES: readonly string[] = [
  ...Object.keys(TEXTS),
  ...Object.keys(SWITCHES),
  'extra-data',
];

const OF_EVERY_ELEMENT = /^(?:id|class|style|slot|hidden|title|lang|dir|(?:data|aria)-.*)$/;

/** A warning for developers about unknown and missing attributes, or undefined. */
export function adviceFor(names: readonly string[], missing: readonly string[]): string | undefined {
  const unknown = names.filter(
    (name) => name !== 'secret' && !FORM_ATTRIBUTES.includes(name) && !OF_EVERY_ELEMENT.test(name),
  );
  const parts = [
    unknown.length > 0 && `does not know: ${unknown.join(', ')}`,
    missing.length > 0 && `shows nothing without: ${missing.join(', ')}`,
  ].filter((part) => part !== false);
  return parts.length > 0 ? `<vault-card-form> ${parts.join('; ')}.` : undefined;
}

/**
 * The options in an element's attributes, all but the secret. A switch is on when it is there, unless it says
 * `false`; extra data is written as in a query, `order=7&shop=main`.
 */
export function optionsOf(read: (name: string) => string | null): Omit<FormOptions, 'secret'> {
  const texts = Object.entries(TEXTS).map(([name, option]) => [option, read(name) ?? '']);
  const switches = Object.entries(SWITCHES).map(([name, option]) => [
    option,
    !['false', null].includes(read(name)),
  ]);
  const extra = [...new URLSearchParams(read('extra-data') ?? '')];
  return {
    ...Object.fromEntries([...texts, ...switches]),
    ...(extra.length > 0 && { extraData: Object.fromEntries(extra) }),
  };
}
