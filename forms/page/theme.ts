/** The appearance of a form: base style, colours of the owner, light or dark, and the direction of the language. */

import type { PageConfig } from '../../server/form/schema.ts';
import { advise } from '../base/advise.ts';
import { COLORS, isColor, readableOn } from '../base/color.ts';
import type { Locale } from '../messages/messages.ts';
import { pageStyles } from '../styles/styles.macro.ts' with { type: 'macro' };

/** Colours with text on them, and the property of the text's colour. */
const READ_ON = { primary_color: '--vf-on-primary', card_primary_color: '--vf-on-card' } as const;

/**
 * Adds the styles before all others of the page, so that the owner's have precedence. The policy allows them by their
 * hash.
 */
function addStyles(): void {
  const style = document.createElement('style');
  style.textContent = pageStyles();
  document.head.prepend(style);
}

/** Lets the browser resolve a colour of any notation to `rgb()`. */
function resolve(element: HTMLElement, color: string): string {
  element.style.color = color;
  const rgb = getComputedStyle(element).color;
  element.style.removeProperty('color');
  return rgb;
}

/** Applies the theme to the page. With `auto` it follows the system's colour scheme while the page is open. */
export function applyTheme(form: HTMLElement, config: PageConfig, locale: Locale): void {
  const { theme, color_mode, display_mode } = config.settings;
  addStyles();
  const root = document.documentElement;
  root.lang = locale;
  root.dir = locale === 'ar' ? 'rtl' : 'ltr';
  root.dataset['style'] = theme.style;
  root.dataset['display'] = display_mode;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  // CSS selects the scheme by this attribute.
  const follow = (): void => {
    root.dataset['scheme'] =
      color_mode === 'dark' || (color_mode === 'auto' && dark.matches) ? 'dark' : 'light';
  };
  follow();
  dark.addEventListener('change', follow);
  for (const [name, property] of Object.entries(COLORS) as [keyof typeof COLORS, string][]) {
    const color = theme[name];
    if (color !== undefined && !isColor(color)) {
      advise(`The form's theme.${name} is no colour that this browser knows.`);
    } else if (color !== undefined) {
      form.style.setProperty(property, color);
      if (name in READ_ON) {
        const property = READ_ON[name as keyof typeof READ_ON];
        form.style.setProperty(property, readableOn(resolve(form, color)));
      }
    }
  }
}
