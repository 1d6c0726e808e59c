import { inlineOf } from './inline.ts';
import type { FormTypeName, PageConfig, PageVisit, ShownFormSettings } from './schema.ts';
import { parseFormLink, toPageSettings } from './settings.ts';

/** The content of a form page. */
export interface FormPage {
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
  /** The script of the service. */
  readonly script: { readonly src: string; readonly integrity: string };
  /** The policy of the sources of files (`filePolicy`). */
  readonly files: string;
  /** The base URL that the form sends requests to, without `/v1`. */
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

/** Escapes a text for element content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** A value as JSON that cannot end the script element that contains it. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/** An attribute with an escaped value. */
function attribute(name: string, value: string): string {
  return ` ${name}="${escapeHtml(value)}"`;
}

function integrityOf(integrity: string | undefined): string {
  return integrity === undefined ? '' : `${attribute('integrity', integrity)} crossorigin="anonymous"`;
}

/** The elements of the valid links. */
function linked(
  links: readonly string[] | undefined,
  write: (address: string, rest: string) => string,
): string {
  return (links ?? [])
    .map(parseFormLink)
    .filter((link) => link !== undefined)
    .map(({ href, integrity }) => write(href, integrityOf(integrity)))
    .join('');
}

function sheets({ css_links }: ShownFormSettings): string {
  return linked(css_links, (href, rest) => `<link rel="stylesheet"${attribute('href', href)}${rest}>\n`);
}

function scripts({ js_links }: ShownFormSettings): string {
  return linked(js_links, (src, rest) => `<script${attribute('src', src)}${rest}></script>\n`);
}

function element(name: 'script' | 'style', content: string | undefined): string {
  return content === undefined ? '' : `<${name}>${content}</${name}>\n`;
}

/** The configuration that the script of the page reads. */
function configOf({ form_type, api, testing, title, settings, visit }: FormPage): PageConfig {
  return {
    form_type,
    api,
    testing,
    ...(title === undefined ? {} : { title }),
    settings: toPageSettings(settings),
    ...(visit === undefined ? {} : { visit }),
  };
}

/**
 * The HTML of a form page. All values are escaped for their position; the owner's own code is unchanged, except for
 * text that would end its element. The script of the service is loaded before the owner's code, and removes the
 * secret from the address before other code can read it.
 */
export function renderFormPage(page: FormPage): string {
  const { settings, script, files, title } = page;
  const { locale = 'en', theme, color_mode = 'light' } = settings;
  const own = inlineOf(settings);
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
<meta http-equiv="Content-Security-Policy"${attribute('content', files)}>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title ?? 'Secure form')}</title>
<script type="application/json" id="vault-form">${scriptJson(configOf(page))}</script>
<script${attribute('src', script.src)}${integrityOf(script.integrity)}></script>
${sheets(settings)}${element('style', own.style)}</head>
<body>
<main id="vault-form-root"></main>
<noscript>This form needs JavaScript.</noscript>
${own.callbacks.map((code) => element('script', code)).join('')}${scripts(settings)}${element('script', own.script)}</body>
</html>
`;
}
