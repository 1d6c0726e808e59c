import { createHash } from 'node:crypto';
import type { FormTypeName, PageConfig, PageVisit, ShownFormSettings } from './schema.ts';
import { decodeFormText, parseFormLink, toPageSettings } from './settings.ts';

export interface FormPage {
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
  readonly script: { readonly src: string; readonly integrity: string };
  /** The policy of the sources of files (`filePolicy`). */
  readonly files: string;
  /** The origin that the form sends requests to. */
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

/** Writes a value as JSON that cannot end the script element that contains it. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

function attribute(name: string, value: string): string {
  return ` ${name}="${escapeHtml(value)}"`;
}

function integrityOf(integrity: string | undefined): string {
  return integrity === undefined ? '' : `${attribute('integrity', integrity)} crossorigin="anonymous"`;
}

function linked(links: readonly string[] = [], write: (address: string, rest: string) => string): string {
  return links
    .map(parseFormLink)
    .filter((link) => link !== undefined)
    .map(({ href, integrity }) => write(href, integrityOf(integrity)))
    .join('');
}

function element(name: 'script' | 'style', content: string | undefined): string {
  return content === undefined ? '' : `<${name}>${content}</${name}>\n`;
}

/** The text as an HTML parser reads it, so that its hash is equal. */
function parsed(code: string): string {
  return code.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');
}

/** Escapes the end of a script element. In strings and patterns, where such text occurs, the backslash changes nothing. */
function insideScript(code: string): string {
  return code.replaceAll(/<(?=\/script)/gi, '<\\').replaceAll('<!--', '\\x3c!--');
}

/** The decoded text, undefined if it is empty. */
function decoded(code: string | undefined): string | undefined {
  const text = code === undefined ? undefined : decodeFormText(code);
  return text === undefined || text.trim() === '' ? undefined : parsed(text);
}

const DROPPED = new Set([' ', '\t', '\n', '\f', ';']);

/** Removes blanks and semicolons at the end in one pass; a pattern would take quadratic time. */
function withoutEnd(code: string): string {
  let end = code.length;
  while (end > 0 && DROPPED.has(code.charAt(end - 1))) {
    end -= 1;
  }
  return code.slice(0, end);
}

/** A script that stores the owner's function under a name that the page calls. The line break ends a trailing comment. */
function callbackOf(name: 'success' | 'error', code: string | undefined): string[] {
  const text = decoded(code);
  return text === undefined
    ? []
    : [insideScript(`(window.vaultCallbacks??={}).${name}=(\n${withoutEnd(text)}\n);`)];
}

/** Decodes the owner's code for the page, in the form that the parser reads and the policy hashes. */
export function inlineOf(settings: ShownFormSettings) {
  const style = decoded(settings.embedded_css);
  const script = decoded(settings.embedded_js);
  return {
    // Without the end of a style element.
    style: style?.replaceAll(/<(?=\/style)/gi, '<\\'),
    callbacks: [
      ...callbackOf('success', settings.success_callback),
      ...callbackOf('error', settings.error_callback),
    ],
    script: script && insideScript(script),
  };
}

/** The hash of an element's content for the policy (CSP level 3). No script of the page can then add another element. */
export function hashSource(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

/**
 * A script that runs where the form's script did not load, before anybody types: it clears the address, shows and reports
 * that there is no form, and names the setting for developers.
 */
export const NOT_LOADED = `if (document.getElementById('vault-form')) {
try { history.replaceState(null, '', location.pathname); } catch {}
document.getElementById('vault-form-root').textContent = 'This form could not be loaded.';
console.error('The script of this form did not load from ' + new URL(document.querySelector('script[src]').src).origin + ': VAULT_PUBLIC_URL of the vault, or VAULT_FORMS_URL, must be the URL that browsers use, here ' + location.origin + '.');
if (parent !== window) parent.postMessage({ type: 'vault.error', status: 0, code: 'form_unavailable' }, '*');
}`;

/**
 * The HTML of a form page. All values are escaped for their position; the owner's own code is unchanged, except for
 * text that would end its element. The script of the service is loaded before the owner's code, and removes the
 * secret from the address before other code can read it.
 */
export function renderFormPage(page: FormPage): string {
  const { form_type, settings, script, files, api, testing, title, visit } = page;
  const { locale = 'en', theme, color_mode = 'light', css_links, js_links } = settings;
  const sheets = linked(
    css_links,
    (href, rest) => `<link rel="stylesheet"${attribute('href', href)}${rest}>\n`,
  );
  const scripts = linked(js_links, (src, rest) => `<script${attribute('src', src)}${rest}></script>\n`);
  const config: PageConfig = { form_type, api, testing, title, settings: toPageSettings(settings), visit };
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
<script type="application/json" id="vault-form">${scriptJson(config)}</script>
<script${attribute('src', script.src)}${integrityOf(script.integrity)}></script>
${sheets}${element('style', own.style)}</head>
<body>
<main id="vault-form-root"></main>
<noscript>This form needs JavaScript.</noscript>
${element('script', NOT_LOADED)}${own.callbacks.map((code) => element('script', code)).join('')}${scripts}${element('script', own.script)}</body>
</html>
`;
}
