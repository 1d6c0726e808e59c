import { Type } from '@sinclair/typebox';
import { compileQuery } from '../../http/decode.ts';
import { BASE_STYLE, htmlPage, pagePolicy } from '../../http/pages/html.ts';
import type { Page } from '../../http/pages/pages.ts';
import type { FormContent } from '../forms.ts';
import { scriptJson } from '../html.ts';
import { FORM_LOCALES, FormType, literals } from '../schema.ts';
import type { FormPages } from './render.ts';

const FLAG = Type.Boolean({ default: false });
const TYPES = FormType.anyOf.map((type) => type.const);
const STYLES = ['vault', 'modern'] as const;
const MODES = ['light', 'dark', 'auto'] as const;

/** No text of the path gets into the page: every value is one of a fixed list. */
const PreviewLook = Type.Object({
  form_type: literals(TYPES, { default: 'pcd' }),
  style: literals(STYLES, { default: 'vault' }),
  color_mode: literals(MODES, { default: 'auto' }),
  display_mode: literals(['standalone', 'embedded'], { default: 'standalone' }),
  locale: Type.Optional(literals(FORM_LOCALES)),
  force_keypad: FLAG,
  hide_card: FLAG,
  highlight_fields: FLAG,
  disable_luhn: FLAG,
  strip_spaces: FLAG,
});

const decodeLook = compileQuery(PreviewLook);

const OWN_FIELDS: NonNullable<FormContent['settings']['additional_fields']> = [
  { name: 'number', label: 'Membership number', required: true },
  { name: 'full_name', label: 'Full name', required: true },
  { name: 'country', label: 'Country', type: 'country' },
  { name: 'note', label: 'Note' },
  { name: 'terms', label: 'I agree to the terms', type: 'checkbox', required: true },
];

const PREVIEW = '/forms/preview';

/** Reads a look from the path, as in `/forms/preview/form_type=ach&style=modern`: the query belongs to the form. */
function previewOf(url: string): FormContent {
  const { origin, pathname } = new URL(url);
  // The decoder returns exactly what the schema describes.
  const { form_type, style, ...settings } = decodeLook(
    `${origin}/?${pathname.slice(PREVIEW.length + 1)}`,
  ) as typeof PreviewLook.static;
  const own = form_type === 'custom' ? { additional_fields: OWN_FIELDS } : {};
  return { form_type, settings: { ...settings, ...own, theme: { style } } };
}

const STYLE = `${BASE_STYLE}body { font-size: 15px; line-height: 24px; }
header, main { margin: 0 auto; max-width: 80rem; padding: 1rem; }
h1 { font-size: 26px; line-height: 1.3; margin: 0; }
main { padding-top: 0; }
h2 { font-size: 18px; margin: 2rem 0 .5rem; }
a { color: var(--link); }
p { margin: .5rem 0 1rem; max-width: 70ch; }
form { display: flex; flex-wrap: wrap; gap: 1rem; align-items: end; }
label { display: grid; flex: 1 1 11rem; gap: .25rem; min-width: 0; }
input, select, button { background: var(--back); border: 1px solid var(--edge); border-radius: 8px; color: inherit; font: inherit; min-height: 44px; min-width: 0; padding: .3rem .7rem; }
.masked { -webkit-text-security: disc; }
button { background: var(--link); border-color: var(--link); color: light-dark(#fff, #0b1a26); cursor: pointer; }
.frames { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
figure { border: 1px solid var(--line); border-radius: 12px; margin: 0; overflow: hidden; }
figcaption { color: var(--soft); padding: .4rem .8rem; border-bottom: 1px solid var(--line); }
iframe { border: 0; color-scheme: normal; display: block; height: min(34rem, 80vh); width: 100%; }
`;

/** Each frame is created again: a form reads its URL only once, when it is loaded. */
const SCRIPT = `
const frames = document.getElementById('frames');
const frameOf = ({ form_type, style, color_mode }, fragment) => {
  const look = new URLSearchParams({ form_type, style, color_mode });
  if (elements.locale.value !== '') look.set('locale', elements.locale.value);
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts allow-forms');
  frame.allow = 'clipboard-write';
  frame.referrerPolicy = 'no-referrer';
  frame.loading = 'lazy';
  frame.title = [TYPES[form_type], STYLES[style], MODES[color_mode]].join(', ');
  frame.src = '${PREVIEW}/' + look + '#' + fragment;
  const caption = document.createElement('figcaption');
  caption.textContent = [STYLES[style], MODES[color_mode]].join(', ');
  const figure = document.createElement('figure');
  figure.append(caption, frame);
  return figure;
};
const { elements } = document.querySelector('form');
const show = () => {
  const fragment = new URLSearchParams({ preview: 'true' });
  for (const name of ['unique_id', 'secret', 'token', 'reference']) {
    if (elements[name].value !== '') fragment.set(name, elements[name].value);
  }
  frames.replaceChildren(...Object.entries(TYPES).flatMap(([type, name]) => {
    const heading = document.createElement('h2');
    heading.textContent = name;
    const grid = document.createElement('div');
    grid.className = 'frames';
    grid.append(...LOOKS.filter(({ form_type }) => form_type === type).map((look) => frameOf(look, fragment)));
    return [heading, grid];
  }));
};
window.addEventListener('message', ({ source, data }) => {
  const frame = [...frames.querySelectorAll('iframe')].find(({ contentWindow }) => contentWindow === source);
  if (frame && data?.type === 'vault.height' && data.height > 0) {
    frame.style.height = Math.min(data.height, 2000) + 'px';
  }
});
document.querySelector('form').addEventListener('submit', (event) => {
  event.preventDefault();
  show();
});
show();
`;

const LOOKS = TYPES.flatMap((form_type) =>
  STYLES.flatMap((style) => MODES.map((color_mode) => ({ form_type, style, color_mode }))),
);

const TYPE_NAMES = { pcd: 'Payment cards', ach: 'Bank accounts', custom: 'Own fields' } satisfies Record<
  (typeof TYPES)[number],
  string
>;
const STYLE_NAMES = { vault: 'Vault style', modern: 'Modern style' };
const MODE_NAMES = { light: 'light', dark: 'dark', auto: 'as the system' };

/** The name of a language in that language. */
function languageOf(locale: string): string {
  return new Intl.DisplayNames(locale, { type: 'language' }).of(locale) ?? locale;
}

function galleryPage(nonce: string): string {
  return htmlPage(
    'Hosted forms',
    `<style nonce="${nonce}">${STYLE}</style>`,
    `<header>
<h1>Hosted forms</h1>
<p>Every type, style and colour mode. With the id and the secret of a capture or retrieval endpoint the forms work. The <a href="/guide/forms">guide</a> tells how to put one into your page, the <a href="/docs">reference</a> has all settings.</p>
<form>
<label>Endpoint id <input name="unique_id" autocomplete="off"></label>
<label>Secret <input name="secret" class="masked" autocomplete="off" autocapitalize="off" spellcheck="false"></label>
<label>Token to show <input name="token" autocomplete="off"></label>
<label>Reference <input name="reference" autocomplete="off"></label>
<label>Language <select name="locale"><option value="">of the browser</option>${FORM_LOCALES.map((locale) => `<option value="${locale}">${languageOf(locale)}</option>`).join('')}</select></label>
<button>Show</button>
</form>
</header>
<main id="frames"></main>
<noscript>This page needs JavaScript.</noscript>
<script nonce="${nonce}">const LOOKS = ${scriptJson(LOOKS)}; const TYPES = ${scriptJson(TYPE_NAMES)}, STYLES = ${scriptJson(STYLE_NAMES)}, MODES = ${scriptJson(MODE_NAMES)};${SCRIPT}</script>`,
  );
}

/** Pages to preview forms: only in staging, and never on the host for forms. */
export function formGalleryPages(formPages: FormPages): readonly Page[] {
  return formPages.options.gallery
    ? [
        {
          path: '/forms',
          respond: () => {
            const nonce = formPages.options.newNonce();
            const policy = pagePolicy({
              'script-src': `'nonce-${nonce}'`,
              'style-src': `'nonce-${nonce}'`,
              'img-src': 'data:',
              'frame-src': "'self'",
            });
            const headers = {
              'Content-Type': 'text/html; charset=utf-8',
              'Content-Security-Policy': policy,
              'Cache-Control': 'no-store',
            };
            return new Response(galleryPage(nonce), { headers });
          },
        },
        ...[PREVIEW, `${PREVIEW}/:look`].map((path) => ({
          path,
          respond: ({ url }: Request) => {
            const { html, headers } = formPages.render(previewOf(url));
            return new Response(html, { headers });
          },
        })),
      ]
    : [];
}
