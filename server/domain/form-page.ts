import type { FormTypeName, PageConfig, PageVisit, ShownFormSettings } from '../schema/form.ts';
import { decodeFormText } from './form-code.ts';
import { parseFormLink } from './form-link.ts';
import { toPageSettings } from './form-settings.ts';

/** A script of ours that a page loads. */
export interface PageScript {
  readonly src: string;
  readonly integrity: string;
}

/** All that a form page is made of. */
export interface FormPageParts {
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
  /** What the policy of the page lets scripts and styles be known by. */
  readonly nonce: string;
  readonly script: PageScript;
  /** Where the form posts to and reads from, without `/v1`. */
  readonly api: string;
  readonly testing: boolean;
  readonly title?: string | undefined;
  readonly visit?: PageVisit | undefined;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as it may stand between tags and in a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** A value as JSON that cannot end the element that it stands in. */
export const scriptJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

/** In strings and patterns of a script, where such text belongs, the backslash changes nothing. */
const insideScript = (code: string): string =>
  code.replaceAll(/<(?=\/script)/gi, '<\\').replaceAll('<!--', '<\\!--');

const insideStyle = (code: string): string => code.replaceAll(/<(?=\/style)/gi, '<\\');

const attribute = (name: string, value: string): string => ` ${name}="${escapeHtml(value)}"`;

const integrityOf = (integrity: string | undefined): string =>
  integrity === undefined ? '' : `${attribute('integrity', integrity)} crossorigin="anonymous"`;

/** The elements of an owner's own code and links; each nothing when there is none. */
function createOwnElements(nonce: string) {
  const named = attribute('nonce', nonce);
  const script = (code: string): string => `<script${named}>${insideScript(code)}</script>\n`;
  const linked = (links: readonly string[] | undefined, write: (href: string, rest: string) => string) =>
    (links ?? [])
      .map(parseFormLink)
      .filter((link) => link !== undefined)
      .map(({ href, integrity }) => write(href, `${integrityOf(integrity)}${named}`))
      .join('');
  const decoded = (code: string | undefined, write: (text: string) => string): string => {
    const text = code === undefined ? undefined : decodeFormText(code);
    return text === undefined ? '' : write(text);
  };
  return {
    sheets: (links: ShownFormSettings['css_links']) =>
      linked(links, (href, rest) => `<link rel="stylesheet"${attribute('href', href)}${rest}>\n`),
    scripts: (links: ShownFormSettings['js_links']) =>
      linked(links, (src, rest) => `<script${attribute('src', src)}${rest}></script>\n`),
    style: (code: string | undefined) =>
      decoded(code, (text) => `<style${named}>${insideStyle(text)}</style>\n`),
    script: (code: string | undefined) => decoded(code, script),
    // One element each: a fault in one must not take the other away. A line break ends a last comment.
    callback: (name: 'success' | 'error', code: string | undefined) =>
      decoded(code, (text) =>
        script(`(window.vaultCallbacks??={}).${name}=(\n${text.replace(/[\s;]+$/, '')}\n);`),
      ),
  };
}

const configOf = ({ form_type, api, testing, title, settings, visit }: FormPageParts): PageConfig => ({
  form_type,
  api,
  testing,
  ...(title === undefined ? {} : { title }),
  settings: toPageSettings(settings),
  ...(visit === undefined ? {} : { visit }),
});

/**
 * The page of a form as HTML. Everything in it that anybody has chosen is escaped for where it stands; the owner's
 * own code is not changed but for what would end its element. The service's script comes before anything of the
 * owner's, and takes the secret out of the address before anybody else can read it.
 */
export function renderFormPage(parts: FormPageParts): string {
  const { settings, nonce, script, title } = parts;
  const { locale = 'en', theme, color_mode = 'auto' } = settings;
  const own = createOwnElements(nonce);
  const looks = [
    attribute('lang', locale),
    attribute('dir', locale === 'ar' ? 'rtl' : 'ltr'),
    attribute('data-style', theme?.style ?? 'vault'),
    attribute('data-mode', color_mode),
  ].join('');
  return `<!doctype html>
<html${looks}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title ?? 'Secure form')}</title>
<script type="application/json" id="vault-form">${scriptJson(configOf(parts))}</script>
<script${attribute('src', script.src)}${integrityOf(script.integrity)}${attribute('nonce', nonce)}></script>
${own.sheets(settings.css_links)}${own.style(settings.embedded_css)}</head>
<body>
<main id="vault-form-root"></main>
<noscript>This form needs JavaScript.</noscript>
${own.callback('success', settings.success_callback)}${own.callback('error', settings.error_callback)}${own.scripts(settings.js_links)}${own.script(settings.embedded_js)}</body>
</html>
`;
}
