import type { FormTypeName, PageConfig, PageVisit, ShownFormSettings } from '../../http/schema/form.ts';
import { inlineOf } from './inline.ts';
import { parseFormLink } from './link.ts';
import { toPageSettings } from './settings.ts';

/** A script of ours that a page loads. */
export interface PageScript {
  readonly src: string;
  readonly integrity: string;
}

/** All that a form page is made of. */
export interface FormPageParts {
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
  readonly script: PageScript;
  /** Where files may come from (`filePolicy`). */
  readonly files: string;
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
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** A value as JSON that cannot end the element that it stands in. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

function attribute(name: string, value: string): string {
  return ` ${name}="${escapeHtml(value)}"`;
}

function integrityOf(integrity: string | undefined): string {
  return integrity === undefined ? '' : `${attribute('integrity', integrity)} crossorigin="anonymous"`;
}

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

function configOf({ form_type, api, testing, title, settings, visit }: FormPageParts): PageConfig {
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
 * The page of a form as HTML. Everything in it that anybody has chosen is escaped for where it stands; the owner's
 * own code is not changed but for what would end its element. The service's script comes before anything of the
 * owner's, and takes the secret out of the address before anybody else can read it.
 */
export function renderFormPage(parts: FormPageParts): string {
  const { settings, script, files, title } = parts;
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
<script type="application/json" id="vault-form">${scriptJson(configOf(parts))}</script>
<script${attribute('src', script.src)}${integrityOf(script.integrity)}></script>
${sheets(settings)}${element('style', own.style)}</head>
<body>
<main id="vault-form-root"></main>
<noscript>This form needs JavaScript.</noscript>
${own.callbacks.map((code) => element('script', code)).join('')}${scripts(settings)}${element('script', own.script)}</body>
</html>
`;
}
