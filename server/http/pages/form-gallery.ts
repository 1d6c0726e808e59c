import { Type } from '@sinclair/typebox';
import { scriptJson } from '../../domain/form/page.ts';
import type { HostedForm } from '../../services/form/form.ts';
import type { HttpParts } from '../plugins/http-parts.ts';
import { compileQuery } from '../plugins/input.ts';
import { FormType } from '../schema/capture.ts';
import { FORM_LOCALES } from '../schema/form.ts';
import type { Page } from './pages.ts';

function literal<const Literals extends readonly string[]>(list: Literals, byDefault?: Literals[number]) {
  return Type.Unsafe<Literals[number]>(
    Type.Union(
      list.map((each) => Type.Literal(each)),
      byDefault === undefined ? {} : { default: byDefault },
    ),
  );
}
function flag() {
  return Type.Boolean({ default: false });
}

const TYPES = FormType.anyOf.map((type) => type.const);
const STYLES = ['vault', 'modern'] as const;
const MODES = ['light', 'dark', 'auto'] as const;

/** No text of the path gets into the page: every value is one of a fixed list. */
const PreviewLook = Type.Object({
  form_type: literal(TYPES, 'pcd'),
  style: literal(STYLES, 'vault'),
  color_mode: literal(MODES, 'auto'),
  display_mode: literal(['standalone', 'embedded'], 'standalone'),
  locale: Type.Optional(literal(FORM_LOCALES)),
  force_keypad: flag(),
  hide_card: flag(),
  highlight_fields: flag(),
  disable_luhn: flag(),
  strip_spaces: flag(),
});

const decodeLook = compileQuery(PreviewLook);

const OWN_FIELDS = [
  { name: 'number', label: 'Membership number', required: true },
  { name: 'full_name', label: 'Full name', required: true },
  { name: 'note', label: 'Note' },
];

const PREVIEW = '/forms/preview';

/**
 * A look is in the path, in the syntax of a query: `/forms/preview/form_type=ach&style=modern`. The query itself belongs
 * to the form, which stores all of its parameters.
 */
function previewOf(url: string): Pick<HostedForm, 'form_type' | 'settings'> {
  const { origin, pathname } = new URL(url);
  // The decoder returns exactly what the schema describes.
  const { form_type, style, ...settings } = decodeLook(
    `${origin}/?${pathname.slice(PREVIEW.length + 1)}`,
  ) as typeof PreviewLook.static;
  const own = form_type === 'custom' ? { additional_fields: OWN_FIELDS } : {};
  return { form_type, settings: { ...settings, ...own, theme: { style } } };
}

const STYLE = `
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; }
form { display: flex; flex-wrap: wrap; gap: 1rem; align-items: end; }
label { display: grid; gap: .25rem; min-width: 0; }
input, select, button { box-sizing: border-box; font: inherit; max-width: 100%; padding: .4rem .6rem; }
#frames { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); margin-top: 1.5rem; }
figure { margin: 0; }
figcaption { padding: .25rem 0; }
iframe { border: 1px solid #8888; border-radius: .5rem; box-sizing: border-box; height: 34rem; width: 100%; }
`;

/** Each frame is created again: a form reads its URL only once, when it is loaded. */
const SCRIPT = `
const frames = document.getElementById('frames');
const { elements } = document.querySelector('form');
const show = () => {
  const fragment = new URLSearchParams();
  for (const name of ['unique_id', 'secret', 'token', 'reference']) {
    if (elements[name].value !== '') fragment.set(name, elements[name].value);
  }
  frames.replaceChildren(...LOOKS.map(({ form_type, style, color_mode }) => {
    const look = new URLSearchParams({ form_type, style, color_mode });
    if (elements.locale.value !== '') look.set('locale', elements.locale.value);
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts allow-forms');
    frame.allow = 'clipboard-write';
    frame.referrerPolicy = 'no-referrer';
    frame.loading = 'lazy';
    frame.title = [form_type, style, color_mode].join(', ');
    frame.src = '${PREVIEW}/' + look + (fragment.size > 0 ? '#' + fragment : '');
    const caption = document.createElement('figcaption');
    caption.textContent = frame.title;
    const figure = document.createElement('figure');
    figure.append(caption, frame);
    return figure;
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

function galleryPage(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Hosted forms</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<h1>Hosted forms</h1>
<p>Every type, style and colour mode. With the id and the secret of a capture or retrieval endpoint the forms work. See the <a href="/docs">reference</a>.</p>
<form>
<label>unique_id <input name="unique_id" autocomplete="off"></label>
<label>secret <input name="secret" type="password" autocomplete="off"></label>
<label>token <input name="token" autocomplete="off"></label>
<label>reference <input name="reference" autocomplete="off"></label>
<label>locale <select name="locale"><option value="">browser</option>${FORM_LOCALES.map((locale) => `<option>${locale}</option>`).join('')}</select></label>
<button>Show</button>
</form>
<div id="frames"></div>
<noscript>This page needs JavaScript.</noscript>
<script nonce="${nonce}">const LOOKS = ${scriptJson(LOOKS)};${SCRIPT}</script>
</body>
</html>
`;
}

function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Pages to preview forms: only in staging, and never on the host for forms. */
export function formGalleryPages({ formPages }: Pick<HttpParts, 'formPages'>): readonly Page[] {
  return formPages.gallery
    ? [
        {
          path: '/forms',
          respond: () => {
            const nonce = formPages.newNonce();
            const headers = {
              'Content-Type': 'text/html; charset=utf-8',
              'Content-Security-Policy': policyOf(nonce),
              'Cache-Control': 'no-store',
            };
            return new Response(galleryPage(nonce), { headers });
          },
        },
        ...[PREVIEW, `${PREVIEW}/:look`].map((path) => ({
          path,
          respond: ({ url }: Request) => {
            const { html, headers } = formPages.render(previewOf(url), {
              onFormsHost: false,
              testing: false,
            });
            return new Response(html, { headers });
          },
        })),
      ]
    : [];
}
