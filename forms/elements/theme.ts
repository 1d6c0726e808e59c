/** The style of a field from the page around: few properties with harmless values, none that could hide or cover it. */
import { isColor } from '../base/color.ts';
import { parse } from '../base/config.ts';

/** A colour without transparency: `#rgb`, `#rrggbb`, `rgb(1, 2, 3)` or a name. */
const COLOUR =
  /^(?:#(?:[\da-f]{3}|[\da-f]{6})|rgb\(\d{1,3}, ?\d{1,3}, ?\d{1,3}\)|(?!transparent$|inherit$|initial$|unset$|revert$|currentcolor$)[a-z]{3,24})$/i;
const FONTS = /^[\w -]{1,40}(?:, ?[\w -]{1,40}){0,7}$/;

function pixels(least: number, most: number): (value: string) => boolean {
  return (value) => {
    const [, number = ''] = /^(\d{1,3}(?:\.\d{1,2})?)px$/.exec(value) ?? [];
    return number !== '' && Number(number) >= least && Number(number) <= most;
  };
}

function matching(pattern: RegExp): (value: string) => boolean {
  return (value) => pattern.test(value);
}

interface Property {
  readonly rule: 'input' | 'input::placeholder' | 'input[aria-invalid="true"]';
  readonly css: string;
  readonly fits: (value: string) => boolean;
}

function colour(value: string): boolean {
  return COLOUR.test(value) && isColor(value);
}

/** Each member of a theme. */
const PROPERTIES = {
  color: { rule: 'input', css: 'color', fits: colour },
  backgroundColor: { rule: 'input', css: 'background-color', fits: colour },
  caretColor: { rule: 'input', css: 'caret-color', fits: colour },
  fontFamily: { rule: 'input', css: 'font-family', fits: matching(FONTS) },
  fontSize: { rule: 'input', css: 'font-size', fits: pixels(10, 40) },
  fontWeight: { rule: 'input', css: 'font-weight', fits: matching(/^(?:normal|bold|[1-9]00)$/) },
  letterSpacing: { rule: 'input', css: 'letter-spacing', fits: pixels(0, 6) },
  lineHeight: { rule: 'input', css: 'line-height', fits: pixels(12, 80) },
  padding: { rule: 'input', css: 'padding', fits: pixels(0, 32) },
  textAlign: { rule: 'input', css: 'text-align', fits: matching(/^(?:start|end|left|right|center)$/) },
  placeholderColor: { rule: 'input::placeholder', css: 'color', fits: colour },
  errorColor: { rule: 'input[aria-invalid="true"]', css: 'color', fits: colour },
} as const satisfies Readonly<Record<string, Property>>;

/** The style of a field, such as `{ color: '#222', fontSize: '16px' }`. */
export type ElementTheme = { readonly [Name in keyof typeof PROPERTIES]?: string | undefined };

/** The theme in a JSON text. Throws a TypeError for any other text. */
export function parseTheme(text: string): Readonly<Record<string, unknown>> {
  const theme = parse(text);
  if (typeof theme !== 'object' || theme === null || Array.isArray(theme)) {
    throw new TypeError('The attribute "theme" must be a JSON object, such as {"color":"#222"}.');
  }
  return { ...theme };
}

function isName(name: string): name is keyof typeof PROPERTIES {
  return Object.hasOwn(PROPERTIES, name);
}

/** The first member of a theme that is not allowed, or undefined. */
export function wrongIn(theme: Readonly<Record<string, unknown>>): string | undefined {
  return Object.entries(theme).find(
    ([name, value]) =>
      value !== undefined && !(isName(name) && typeof value === 'string' && PROPERTIES[name].fits(value)),
  )?.[0];
}

/** The rules of a theme. Members that are not allowed are left out. */
export function cssOf(theme: Readonly<Record<string, unknown>>): string {
  return Object.entries(theme)
    .filter(([name, value]) => value !== undefined && wrongIn({ [name]: value }) === undefined)
    .map(([name, value]) => {
      const { rule, css } = PROPERTIES[name as keyof typeof PROPERTIES];
      return `${rule} { ${css}: ${String(value)} }`;
    })
    .join('\n');
}
