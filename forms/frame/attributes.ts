/** The attributes of `<vault-card-form>` and the options that they stand for, and advice about those of any element. */
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
  networks: 'networks',
} as const satisfies Readonly<Record<string, keyof FormOptions>>;

/** The attributes that make another form when they change. */
export const FORM_ATTRIBUTES: readonly string[] = [
  ...Object.keys(TEXTS),
  ...Object.keys(SWITCHES),
  'extra-data',
];

/** Attributes that any element may have, and those of frameworks, whose names no option has. */
const OF_EVERY_ELEMENT =
  /^(?:id|class|style|slot|part|hidden|title|lang|dir|role|tabindex|inert|translate|nonce|(?:data|aria)-.*|on.+|_.*|.*[^\w-].*)$/;

/** The attributes of an element, and what they lack. */
export interface AttributeState {
  readonly names: readonly string[];
  readonly known: readonly string[];
  /** Attributes without which nothing is shown. */
  readonly missing: readonly string[];
  /** Attributes of a group whose options another element has given. */
  readonly unused?: readonly string[];
}

/** A warning about attributes without effect and missing ones, or undefined. */
export function adviceFor(
  tag: string,
  { names, known, missing, unused = [] }: AttributeState,
): string | undefined {
  const unknown = names.filter((name) => !known.includes(name) && !OF_EVERY_ELEMENT.test(name));
  const parts = [
    unknown.length > 0 && `does not know: ${unknown.join(', ')}`,
    missing.length > 0 && `shows nothing without: ${missing.join(', ')}`,
    unused.length > 0 &&
      `does not use, because another element of its group has the secret: ${unused.join(', ')}`,
  ].filter((part) => part !== false);
  return parts.length > 0 ? `<${tag}> ${parts.join('; ')}.` : undefined;
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
